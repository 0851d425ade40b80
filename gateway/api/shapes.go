package api

// Int is an optional integer of a request.
type Int struct {
	Value int64
	Set   bool
}

// Or returns the value, or def when none was given.
func (i Int) Or(def int64) int64 {
	if i.Set {
		return i.Value
	}
	return def
}

// Text is an optional string of a request: absent and empty are not the same.
type Text struct {
	Value string
	Set   bool
}

// Attribute is a message attribute (user or system) as the request gave it.
// Value is StringValue, or the decoded BinaryValue. It may share the request's
// memory.
type Attribute struct {
	Name      string
	DataType  string
	Value     []byte
	HasString bool
	HasBinary bool
	// HasList: a StringListValues or BinaryListValues was given, which SQS
	// reserves and refuses.
	HasList bool
}

// SendEntry is one message to send: an entry of a batch or the whole of a
// SendMessage, whose ID is empty. Body may share the request's memory.
type SendEntry struct {
	ID               string
	Body             []byte
	Delay            Int // seconds
	Attributes       []Attribute
	SystemAttributes []Attribute
	DeduplicationID  Text
	GroupID          Text
}

// SendMessageRequest is the request of SendMessage.
type SendMessageRequest struct {
	QueueURL string
	SendEntry
}

// SendMessageBatchRequest is the request of SendMessageBatch.
type SendMessageBatchRequest struct {
	QueueURL string
	Entries  []SendEntry
}

// SendResult is the result of SendMessage, or one of a batch.
type SendResult struct {
	ID                  string
	MessageID           string
	BodyMD5             string
	AttributesMD5       string
	SystemAttributesMD5 string
	SequenceNumber      string
}

// BatchError is a failed entry of a batch. Code is the Query code.
type BatchError struct {
	ID          string
	Code        string
	Message     string
	SenderFault bool
}

// SendMessageBatchResult is the result of SendMessageBatch.
type SendMessageBatchResult struct {
	Successful []SendResult
	Failed     []BatchError
}

// ReceiveMessageRequest is the request of ReceiveMessage.
type ReceiveMessageRequest struct {
	QueueURL              string
	AttributeNames        []string
	SystemAttributeNames  []string
	MessageAttributeNames []string
	Max                   Int
	Visibility            Int // seconds
	Wait                  Int // seconds
	AttemptID             Text
}

// Pair is a named value, in the order it is answered.
type Pair struct {
	Name  string
	Value string
}

// ReceivedAttribute is a message attribute as it is answered.
type ReceivedAttribute struct {
	Name     string
	DataType string
	Value    []byte
	Binary   bool
}

// ReceivedMessage is one message of a ReceiveMessageResult.
type ReceivedMessage struct {
	MessageID         string
	ReceiptHandle     string
	BodyMD5           string
	Body              []byte
	Attributes        []Pair
	AttributesMD5     string
	MessageAttributes []ReceivedAttribute
}

// ReceiveMessageResult is the result of ReceiveMessage.
type ReceiveMessageResult struct {
	Messages []ReceivedMessage
}

// DeleteMessageRequest is the request of DeleteMessage.
type DeleteMessageRequest struct {
	QueueURL      string
	ReceiptHandle string
}

// HandleEntry is an entry of DeleteMessageBatch or ChangeMessageVisibilityBatch;
// Visibility (seconds) is used by the second only.
type HandleEntry struct {
	ID            string
	ReceiptHandle string
	Visibility    Int
}

// HandleBatchRequest is the request of DeleteMessageBatch and of
// ChangeMessageVisibilityBatch.
type HandleBatchRequest struct {
	QueueURL string
	Entries  []HandleEntry
}

// BatchResult is the result of the batches that answer ids alone.
type BatchResult struct {
	Successful []string
	Failed     []BatchError
}

// ChangeMessageVisibilityRequest is the request of ChangeMessageVisibility.
type ChangeMessageVisibilityRequest struct {
	QueueURL      string
	ReceiptHandle string
	Visibility    Int // seconds
}

// CreateQueueRequest is the request of CreateQueue.
type CreateQueueRequest struct {
	QueueName  string
	Attributes map[string]string
	Tags       map[string]string
}

// GetQueueURLRequest is the request of GetQueueUrl.
type GetQueueURLRequest struct {
	QueueName string
	// OwnerAccount is accepted and ignored: all queues belong to one account.
	OwnerAccount string
}

// QueueURLResult is the result of CreateQueue and GetQueueUrl.
type QueueURLResult struct {
	QueueURL string
}

// ListQueuesRequest is the request of ListQueues.
type ListQueuesRequest struct {
	Prefix     string
	NextToken  string
	MaxResults Int
}

// ListQueuesResult is the result of ListQueues.
type ListQueuesResult struct {
	QueueURLs []string
	NextToken string
}

// QueueRequest is the request of the actions that take a queue and nothing
// else: DeleteQueue, PurgeQueue, ListQueueTags.
type QueueRequest struct {
	QueueURL string
}

// GetQueueAttributesRequest is the request of GetQueueAttributes.
type GetQueueAttributesRequest struct {
	QueueURL string
	Names    []string
}

// AttributesResult is the result of GetQueueAttributes.
type AttributesResult struct {
	Attributes []Pair
}

// SetQueueAttributesRequest is the request of SetQueueAttributes.
type SetQueueAttributesRequest struct {
	QueueURL   string
	Attributes map[string]string
}

// ListSourcesRequest is the request of ListDeadLetterSourceQueues.
type ListSourcesRequest struct {
	QueueURL   string
	NextToken  string
	MaxResults Int
}

// ListSourcesResult is the result of ListDeadLetterSourceQueues.
type ListSourcesResult struct {
	QueueURLs []string
	NextToken string
}

// AddPermissionRequest is the request of AddPermission.
type AddPermissionRequest struct {
	QueueURL string
	Label    string
	Accounts []string
	Actions  []string
}

// RemovePermissionRequest is the request of RemovePermission.
type RemovePermissionRequest struct {
	QueueURL string
	Label    string
}

// StartMoveTaskRequest is the request of StartMessageMoveTask.
type StartMoveTaskRequest struct {
	SourceARN      string
	DestinationARN string
	Rate           Int // messages a second
}

// StartMoveTaskResult is the result of StartMessageMoveTask.
type StartMoveTaskResult struct {
	TaskHandle string
}

// CancelMoveTaskRequest is the request of CancelMessageMoveTask.
type CancelMoveTaskRequest struct {
	TaskHandle string
}

// CancelMoveTaskResult is the result of CancelMessageMoveTask.
type CancelMoveTaskResult struct {
	Moved int64
}

// ListMoveTasksRequest is the request of ListMessageMoveTasks.
type ListMoveTasksRequest struct {
	SourceARN  string
	MaxResults Int
}

// MoveTask is one task of a ListMoveTasksResult. Empty and zero optional members
// are left out; the two counts are not optional.
type MoveTask struct {
	TaskHandle     string
	Status         string
	SourceARN      string
	DestinationARN string
	Rate           int64 // messages a second, 0 = none was given
	Moved          int64
	ToMove         int64
	FailureReason  string
	Started        int64 // epoch milliseconds
}

// ListMoveTasksResult is the result of ListMessageMoveTasks.
type ListMoveTasksResult struct {
	Tasks []MoveTask
}

// TagQueueRequest is the request of TagQueue.
type TagQueueRequest struct {
	QueueURL string
	Tags     map[string]string
}

// UntagQueueRequest is the request of UntagQueue.
type UntagQueueRequest struct {
	QueueURL string
	Keys     []string
}

// TagsResult is the result of ListQueueTags.
type TagsResult struct {
	Tags []Pair
}

// Nothing is the result of the actions that answer nothing.
type Nothing struct{}
