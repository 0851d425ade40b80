package worker

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

var (
	// ErrLeaseLost is the cause of a handler's context that ends because the
	// message is no longer leased to this Worker; somebody else may have it.
	ErrLeaseLost = errors.New("the lease of the message is lost")
	// ErrStopping is the cause of a handler's context that ends because the Worker
	// stops and StopTimeout has passed.
	ErrStopping = errors.New("the worker is stopping")
	// ErrAbandoned is returned by Run when handlers did not return although their
	// context had ended.
	ErrAbandoned = errors.New("handlers were left behind")
	// ErrClosed is returned by Run after Close, and by a second Run.
	ErrClosed = errors.New("the worker is closed or runs already")
)

// entryError is why one entry of a batch failed. A Sender's fault stays one when
// the call is repeated.
type entryError struct {
	code, text string
	sender     bool
}

func (e *entryError) Error() string { return fmt.Sprintf("%s: %s", e.code, e.text) }

// ErrorCode makes the SDK's classification work on entries.
func (e *entryError) ErrorCode() string { return e.code }

func failedEntry(f types.BatchResultErrorEntry) *entryError {
	return &entryError{code: aws.ToString(f.Code), text: aws.ToString(f.Message), sender: f.SenderFault}
}

// refused tells whether SQS has understood the call and will not do it: the
// receipt handle is not valid any more, the message is gone or not in flight.
func refused(err error) bool {
	var e *entryError
	if !errors.As(err, &e) {
		return false
	}
	switch e.code { // not every server sets SenderFault
	case "ReceiptHandleIsInvalid", "InvalidParameterValue", "MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight":
		return true
	}
	return e.sender && !throttled(err)
}

// final tells whether to repeat the call is in vain.
func final(err error) bool {
	if refused(err) {
		return true
	}
	var answer interface{ HTTPStatusCode() int }
	if !errors.As(err, &answer) || throttled(err) {
		return false
	}
	switch status := answer.HTTPStatusCode(); status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests: // also of a proxy, without a code of SQS
		return false
	default:
		return status >= http.StatusBadRequest && status < http.StatusInternalServerError
	}
}

func throttled(err error) bool {
	var limit *types.OverLimit
	if errors.As(err, &limit) {
		return true
	}
	var coded interface{ ErrorCode() string }
	if !errors.As(err, &coded) {
		return false
	}
	_, ok := retry.DefaultThrottleErrorCodes[coded.ErrorCode()]
	return ok
}

func queueGone(err error) bool {
	var gone *types.QueueDoesNotExist
	return errors.As(err, &gone)
}
