package api

import "fmt"

// Kind classifies an error by the name AWS has for it.
type Kind uint8

// The kinds of errors. Their codes and statuses are in gateway/apierr.go.
const (
	InternalFailure Kind = iota // the zero Kind, so that a forgotten one is a server error
	ServiceUnavailable
	RequestThrottled
	UnsupportedOperation
	InvalidAction
	UnknownOperation
	InvalidAddress
	Serialization
	RequestTooLarge
	MethodNotAllowed
	MissingParameter
	InvalidParameterValue
	InvalidMessageContents
	InvalidAttributeName
	InvalidAttributeValue
	QueueDoesNotExist
	QueueNameExists
	QueueDeletedRecently
	PurgeQueueInProgress
	OverLimit
	ReceiptHandleIsInvalid
	MessageNotInflight
	EmptyBatchRequest
	TooManyEntriesInBatchRequest
	BatchEntryIDsNotDistinct
	InvalidBatchEntryID
	BatchRequestTooLong
	ResourceNotFound
	MissingAuthenticationToken
	IncompleteSignature
	InvalidClientTokenID
	SignatureDoesNotMatch
	AccessDenied
	kinds // the number of kinds
)

// Kinds is the number of kinds: every Kind is below it.
const Kinds = int(kinds)

// Error is an error as the client sees it. Message is sent to the client.
type Error struct {
	Kind    Kind
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf makes an Error with a formatted message.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Missing is the error of an absent required parameter.
func Missing(parameter string) *Error {
	return Errorf(MissingParameter, "The request must contain the parameter %s.", parameter)
}

// InvalidValue is the error of a parameter whose value is refused. The reason
// carries its own full stop.
func InvalidValue(parameter, value, reason string) *Error {
	return Errorf(InvalidParameterValue, "Value %s for parameter %s is invalid. Reason: %s", clip(value), parameter, reason)
}

// maxEcho bounds how much of a refused value an error repeats, in bytes. It is
// above every value that is valid, and above AWS's 1024 of a receipt handle.
const maxEcho = 4096

func clip(value string) string {
	if len(value) > maxEcho {
		return value[:maxEcho] + "..."
	}
	return value
}
