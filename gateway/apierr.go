package gateway

import (
	"context"
	"errors"
	"net/http"

	"sqsgate/codec"
	"sqsgate/consumer"
	"sqsgate/gateway/api"
	"sqsgate/gateway/catalog"
	"sqsgate/gateway/sigv4"
	"sqsgate/gateway/wire"
	"sqsgate/partition"
)

const (
	modelled = "com.amazonaws.sqs"        // errors of the service's model
	coral    = "com.amazon.coral.service" // errors of the framework around it
	legacy   = "AWS.SimpleQueueService."  // front of older Query codes
	gone     = "The specified queue does not exist."
	goneWSDL = "The specified queue does not exist for this wsdl version."
)

// faultOf is the table of errors: what a Kind is called in both protocols, its
// status and whose fault it is.
func faultOf(kind api.Kind) wire.Fault {
	sender := func(namespace, shape, code string, status int) wire.Fault {
		return wire.Fault{Namespace: namespace, Shape: shape, Code: code, Status: status, Sender: true}
	}
	switch kind {
	case api.InternalFailure:
	case api.ServiceUnavailable:
		return wire.Fault{Namespace: coral, Shape: "ServiceUnavailableException", Code: "ServiceUnavailable", Status: http.StatusServiceUnavailable}
	case api.RequestThrottled:
		return sender(modelled, "RequestThrottled", "RequestThrottled", http.StatusForbidden)
	case api.UnsupportedOperation:
		return sender(modelled, "UnsupportedOperation", legacy+"UnsupportedOperation", http.StatusBadRequest)
	case api.InvalidAction:
		return sender(coral, "UnknownOperationException", "InvalidAction", http.StatusBadRequest)
	case api.UnknownOperation:
		return sender(coral, "UnknownOperationException", "InvalidAction", http.StatusNotFound)
	case api.InvalidAddress:
		return sender(modelled, "InvalidAddress", "InvalidAddress", http.StatusNotFound)
	case api.Serialization:
		return sender(coral, "SerializationException", "MalformedQueryString", http.StatusBadRequest)
	case api.RequestTooLarge:
		return sender(coral, "RequestEntityTooLargeException", "RequestEntityTooLarge", http.StatusRequestEntityTooLarge)
	case api.MethodNotAllowed:
		return sender(coral, "MethodNotAllowedException", "MethodNotAllowed", http.StatusMethodNotAllowed)
	case api.MissingParameter:
		return sender(coral, "MissingRequiredParameterException", "MissingParameter", http.StatusBadRequest)
	case api.InvalidParameterValue:
		return sender(coral, "InvalidParameterValueException", "InvalidParameterValue", http.StatusBadRequest)
	case api.InvalidMessageContents:
		return sender(modelled, "InvalidMessageContents", "InvalidMessageContents", http.StatusBadRequest)
	case api.InvalidAttributeName:
		return sender(modelled, "InvalidAttributeName", "InvalidAttributeName", http.StatusBadRequest)
	case api.InvalidAttributeValue:
		return sender(modelled, "InvalidAttributeValue", "InvalidAttributeValue", http.StatusBadRequest)
	case api.QueueDoesNotExist:
		return sender(modelled, "QueueDoesNotExist", legacy+"NonExistentQueue", http.StatusBadRequest)
	case api.QueueNameExists:
		return sender(modelled, "QueueNameExists", "QueueAlreadyExists", http.StatusBadRequest)
	case api.QueueDeletedRecently:
		return sender(modelled, "QueueDeletedRecently", legacy+"QueueDeletedRecently", http.StatusBadRequest)
	case api.PurgeQueueInProgress:
		return sender(modelled, "PurgeQueueInProgress", legacy+"PurgeQueueInProgress", http.StatusForbidden)
	case api.OverLimit:
		return sender(modelled, "OverLimit", "OverLimit", http.StatusForbidden)
	case api.ReceiptHandleIsInvalid:
		return sender(modelled, "ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", http.StatusBadRequest)
	case api.MessageNotInflight:
		return sender(modelled, "MessageNotInflight", legacy+"MessageNotInflight", http.StatusBadRequest)
	case api.EmptyBatchRequest:
		return sender(modelled, "EmptyBatchRequest", legacy+"EmptyBatchRequest", http.StatusBadRequest)
	case api.TooManyEntriesInBatchRequest:
		return sender(modelled, "TooManyEntriesInBatchRequest", legacy+"TooManyEntriesInBatchRequest", http.StatusBadRequest)
	case api.BatchEntryIDsNotDistinct:
		return sender(modelled, "BatchEntryIdsNotDistinct", legacy+"BatchEntryIdsNotDistinct", http.StatusBadRequest)
	case api.InvalidBatchEntryID:
		return sender(modelled, "InvalidBatchEntryId", legacy+"InvalidBatchEntryId", http.StatusBadRequest)
	case api.BatchRequestTooLong:
		return sender(modelled, "BatchRequestTooLong", legacy+"BatchRequestTooLong", http.StatusBadRequest)
	case api.ResourceNotFound:
		return sender(modelled, "ResourceNotFoundException", "ResourceNotFoundException", http.StatusNotFound)
	case api.MissingAuthenticationToken:
		return sender(coral, "MissingAuthenticationTokenException", "MissingAuthenticationToken", http.StatusForbidden)
	case api.IncompleteSignature:
		return sender(coral, "IncompleteSignatureException", "IncompleteSignature", http.StatusBadRequest)
	case api.InvalidClientTokenID:
		return sender(coral, "UnrecognizedClientException", "InvalidClientTokenId", http.StatusForbidden)
	case api.SignatureDoesNotMatch:
		return sender(coral, "InvalidSignatureException", "SignatureDoesNotMatch", http.StatusForbidden)
	case api.AccessDenied:
		return sender(coral, "AccessDeniedException", "AccessDenied", http.StatusForbidden)
	}
	return wire.Fault{Namespace: coral, Shape: "InternalFailure", Code: "InternalError", Status: http.StatusInternalServerError}
}

// outward turns any error into the one the client is shown. What is not known
// becomes an InternalFailure without its cause.
func outward(err error) *api.Error {
	var known *api.Error
	var unsigned *sigv4.Error
	var shared *catalog.SharedConsumerError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &unsigned):
		return signatureError(unsigned)
	case errors.As(err, &shared):
		return api.Errorf(api.UnsupportedOperation, "The consumer %s of the topic %s is a shared consumer, which YDB itself serves: its messages cannot be had from here. "+
			"Choose another consumer, by the queue name TOPIC@CONSUMER, or with the gateway's --consumer for all queues.", shared.Consumer, shared.Topic)
	case errors.Is(err, catalog.ErrNotFound), errors.Is(err, consumer.ErrQueueGone), errors.Is(err, partition.ErrTopicGone):
		return &api.Error{Kind: api.QueueDoesNotExist, Message: gone}
	case errors.Is(err, partition.ErrThrottled):
		return api.Errorf(api.RequestThrottled, "Too many messages are being sent to this message group's partition. Try again later.")
	case errors.Is(err, partition.ErrOverloaded):
		return api.Errorf(api.ServiceUnavailable, "The queue is overloaded. Try again later.")
	case errors.Is(err, consumer.ErrThrottled):
		return api.Errorf(api.RequestThrottled, "The queue remembers as many deduplication ids as it can. Try again later.")
	case errors.Is(err, consumer.ErrOverLimit):
		return api.Errorf(api.OverLimit, "Too many messages are in flight for this queue.")
	case errors.Is(err, codec.ErrMetadataTooLarge):
		return api.Errorf(api.InvalidParameterValue, "One or more parameters are invalid. Reason: The ids and system attributes of the message are too long together.")
	case errors.Is(err, catalog.ErrRefused):
		return api.Errorf(api.InvalidParameterValue, "The topic server refuses these settings, or something else than a queue has this name.")
	case errors.Is(err, catalog.ErrInvalidName):
		return api.Errorf(api.InvalidParameterValue, "Invalid queue name.")
	case errors.Is(err, catalog.ErrUnavailable), errors.Is(err, consumer.ErrUnavailable), errors.Is(err, partition.ErrUnavailable),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return api.Errorf(api.ServiceUnavailable, "The queue is not available at present. Try again later.")
	}
	return api.Errorf(api.InternalFailure, "The request processing has failed because of an unknown error.")
}

// fault is what the client of a format sees of e.
func fault(e *api.Error, format wire.Format) wire.Fault {
	f := faultOf(e.Kind)
	f.Message = e.Message
	if e.Kind == api.QueueDoesNotExist && format != wire.JSON && e.Message == gone {
		f.Message = goneWSDL
	}
	return f
}

// handleError is the error of a receipt handle, given the consumer's.
func handleError(err error, handle string, visibility int64) error {
	switch {
	case errors.Is(err, consumer.ErrHandle):
		return api.InvalidHandle(handle)
	case errors.Is(err, consumer.ErrExpired):
		return api.InvalidValue("ReceiptHandle", handle, "The receipt handle has expired.")
	case errors.Is(err, consumer.ErrGone):
		return api.InvalidValue("ReceiptHandle", handle, "Message does not exist or is not available for visibility timeout change.")
	case errors.Is(err, consumer.ErrTooLong):
		return api.TotalVisibility(visibility)
	}
	return err
}

// entryError is handleError for an entry of a batch. Recorded at AWS: a message
// that is gone has another code and text there than in the single action.
func entryError(err error, handle string, visibility int64) error {
	if errors.Is(err, consumer.ErrGone) {
		return api.Errorf(api.ReceiptHandleIsInvalid, "Message does not exist or is not available for visibility timeout change")
	}
	return handleError(err, handle, visibility)
}

// batchError is the failed entry of a batch.
func batchError(id string, err error) api.BatchError {
	e := outward(err)
	f := faultOf(e.Kind)
	return api.BatchError{ID: id, Code: f.Code, Message: e.Message, SenderFault: f.Sender}
}

// ofQueue tells whether an entry of a batch failed because of the queue: it cannot
// be served at present, or does not exist.
func ofQueue(err error) bool {
	kind := outward(err).Kind
	return kind == api.ServiceUnavailable || kind == api.QueueDoesNotExist
}
