package api

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
)

const (
	maxMoveRate  = 500
	maxTasksList = 10

	sourceGoneText      = "The resource that you specified for the SourceArn parameter doesn't exist."
	destinationGoneText = "The resource that you specified for the DestinationArn parameter doesn't exist."
)

// The errors of move tasks that have no value in their texts.
var (
	ErrTaskSourceGone      = &Error{Kind: ResourceNotFound, Message: sourceGoneText}
	ErrTaskDestinationGone = &Error{Kind: ResourceNotFound, Message: destinationGoneText}
	ErrTaskSourceNoDLQ     = &Error{Kind: InvalidParameterValue, Message: "Source queue must be configured as a Dead Letter Queue."}
	ErrTaskToItself        = &Error{Kind: InvalidParameterValue, Message: "Source queue arn and destination queue arn cannot be the same."}
	ErrTaskQueueType       = &Error{Kind: InvalidParameterValue, Message: "Source queue and destination queue must be of the same type."}
	ErrTaskActive          = &Error{Kind: InvalidParameterValue, Message: "There is already a task running. Only one active task is allowed for a source queue arn at a given time."}
	ErrTaskHandle          = &Error{Kind: InvalidParameterValue, Message: "Value for parameter TaskHandle is invalid."}
	ErrTaskGone            = &Error{Kind: ResourceNotFound, Message: "Task does not exist."}
)

// CheckStartMoveTask checks the parameters of a StartMessageMoveTask.
func CheckStartMoveTask(r *StartMoveTaskRequest) error {
	if r.SourceARN == "" {
		return Missing("SourceArn")
	}
	if r.Rate.Set && (r.Rate.Value < 1 || r.Rate.Value > maxMoveRate) {
		return InvalidValue("MaxNumberOfMessagesPerSecond", strconv.FormatInt(r.Rate.Value, 10), "Must be between 1 and 500, if provided.")
	}
	return nil
}

// CheckListMoveTasks checks the parameters of a ListMessageMoveTasks and returns
// how many tasks it wants.
func CheckListMoveTasks(r *ListMoveTasksRequest) (int, error) {
	if r.SourceARN == "" {
		return 0, Missing("SourceArn")
	}
	if r.MaxResults.Set && (r.MaxResults.Value < 1 || r.MaxResults.Value > maxTasksList) {
		return 0, InvalidValue("MaxResults", strconv.FormatInt(r.MaxResults.Value, 10), "Must be between 1 and 10, if provided.")
	}
	return int(r.MaxResults.Or(1)), nil
}

// TaskHandle is what a task handle holds.
type TaskHandle struct {
	TaskID    string `json:"taskId"`
	SourceARN string `json:"sourceArn"`
}

// String is the handle in AWS's form: base64 of JSON.
func (h TaskHandle) String() string {
	b, err := json.Marshal(h)
	if err != nil {
		panic("api: two strings have no JSON: " + err.Error())
	}
	return base64.StdEncoding.EncodeToString(b)
}

// ParseTaskHandle reads a handle, or fails with ErrTaskHandle.
func ParseTaskHandle(handle string) (TaskHandle, error) {
	if handle == "" {
		return TaskHandle{}, Missing("TaskHandle")
	}
	var h TaskHandle
	b, err := base64.StdEncoding.DecodeString(handle)
	if err != nil || json.Unmarshal(b, &h) != nil || h.TaskID == "" || h.SourceARN == "" {
		return TaskHandle{}, ErrTaskHandle
	}
	return h, nil
}
