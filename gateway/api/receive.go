package api

import (
	"strconv"
	"strings"
)

// CheckReceive checks the numbers and ids of a ReceiveMessage.
func CheckReceive(r *ReceiveMessageRequest, fifo bool) error {
	if r.Max.Set && (r.Max.Value < 1 || r.Max.Value > MaxReceive) {
		return InvalidValue("MaxNumberOfMessages", strconv.FormatInt(r.Max.Value, 10), "Must be between 1 and 10, if provided.")
	}
	if r.Wait.Set && (r.Wait.Value < 0 || r.Wait.Value > MaxWaitSeconds) {
		return InvalidValue("WaitTimeSeconds", strconv.FormatInt(r.Wait.Value, 10), "Must be >= 0 and <= 20, if provided.")
	}
	if r.Visibility.Set {
		if err := CheckVisibility(r.Visibility.Value); err != nil {
			return err
		}
	}
	// Some clients send an attempt id to every queue; it has no meaning on
	// standard ones.
	if fifo && r.AttemptID.Set && !validID(r.AttemptID.Value) {
		return invalidID("ReceiveRequestAttemptId", r.AttemptID.Value)
	}
	return nil
}

// CheckVisibility checks a VisibilityTimeout in seconds.
func CheckVisibility(seconds int64) error {
	if seconds < 0 || seconds > MaxVisibilitySeconds {
		return InvalidValue("VisibilityTimeout", strconv.FormatInt(seconds, 10), "Must be between 0 and 43200, if provided.")
	}
	return nil
}

// SystemAttributes is the set of attributes a ReceiveMessage asked for.
type SystemAttributes uint16

// The system attributes of a received message.
const (
	SenderID SystemAttributes = 1 << iota
	SentTimestamp
	ApproximateReceiveCount
	ApproximateFirstReceiveTimestamp
	SequenceNumber
	MessageDeduplicationID
	MessageGroupID
	AWSTraceHeader
	DeadLetterQueueSourceArn
	allSystem = 1<<iota - 1
)

// SelectSystem returns the union of what the lists name. Names that mean
// nothing select nothing.
func SelectSystem(lists ...[]string) SystemAttributes {
	var s SystemAttributes
	for _, names := range lists {
		for _, name := range names {
			switch name {
			case "All":
				return allSystem
			case "SenderId":
				s |= SenderID
			case "SentTimestamp":
				s |= SentTimestamp
			case "ApproximateReceiveCount":
				s |= ApproximateReceiveCount
			case "ApproximateFirstReceiveTimestamp":
				s |= ApproximateFirstReceiveTimestamp
			case "SequenceNumber":
				s |= SequenceNumber
			case "MessageDeduplicationId":
				s |= MessageDeduplicationID
			case "MessageGroupId":
				s |= MessageGroupID
			case TraceHeader:
				s |= AWSTraceHeader
			case "DeadLetterQueueSourceArn":
				s |= DeadLetterQueueSourceArn
			}
		}
	}
	return s
}

// SelectsAttribute tells whether MessageAttributeNames selects the attribute:
// All, *, .*, its name, or a prefix that ends in .*. Illegal names match
// nothing and are no error.
func SelectsAttribute(names []string, attribute string) bool {
	for _, name := range names {
		if name == "All" || name == "*" || name == attribute {
			return true
		}
		if prefix, ok := strings.CutSuffix(name, ".*"); ok && strings.HasPrefix(attribute, prefix) {
			return true
		}
	}
	return false
}

// InvalidHandle is the error of a receipt handle that is none.
func InvalidHandle(handle string) error {
	return Errorf(ReceiptHandleIsInvalid, `The input receipt handle "%s" is not a valid receipt handle.`, clip(handle))
}

// TotalVisibility is the error of a change that would hide a message for more
// than 12 hours after its receive.
func TotalVisibility(seconds int64) error {
	return InvalidValue("VisibilityTimeout", strconv.FormatInt(seconds, 10), "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]")
}
