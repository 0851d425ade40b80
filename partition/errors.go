package partition

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"sqsgate/internal/logread"
	"sqsgate/internal/logwrite"
	"sqsgate/internal/ydbstatus"
)

var (
	// ErrThrottled says that the FIFO partition's rate is used up. The message
	// was not written.
	ErrThrottled = errors.New("partition rate exceeded")
	// ErrOverloaded says that the partition's queue is full. The message was not
	// written.
	ErrOverloaded = errors.New("partition queue is full")
	// ErrUnavailable says that the caller's time ran out, or the pool was
	// stopped, before an answer came. The message may or may not be written.
	ErrUnavailable = errors.New("no answer from the partition in time")
	// ErrTopicGone says that the topic does not exist.
	ErrTopicGone = errors.New("topic does not exist")
)

var (
	// errEvicted marks a topic state that the sweeper dropped; callers fetch a
	// new one.
	errEvicted = errors.New("topic state evicted")
	// errProtocol is an answer that does not fit what was sent.
	errProtocol = errors.New("answer out of order")
)

// failure is what a broken call or stream means for its messages.
type failure int

const (
	failureRetry      failure = iota // try again after a pause
	failureOverloaded                // perhaps the partition is inactive
	failureGone                      // the topic or the partition is missing
	failureBad                       // a message or the session was refused
	failureFatal                     // trying again cannot help
)

// repeatable reports whether a read that failed with err may work later.
func repeatable(err error) bool {
	kind := classify(err)
	return kind != failureBad && kind != failureFatal
}

func classify(err error) failure {
	var answer *ydbstatus.Error
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, errProtocol), errors.Is(err, logwrite.ErrNoInit), errors.Is(err, ErrMap), errors.Is(err, logread.ErrStopped),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return failureRetry
	case ydbstatus.Is(err, Ydb.StatusIds_OVERLOADED):
		return failureOverloaded
	case ydbstatus.Missing(err):
		return failureGone
	case errors.As(err, &answer) && answer.Code == Ydb.StatusIds_BAD_REQUEST:
		// A takeover is reported as a bad request. No one else has our producer
		// ids, so it can only be the ghost of a session of our own.
		if strings.Contains(answer.Issues, "killed by another session") {
			return failureRetry
		}
		return failureBad
	case ydbstatus.Retryable(err):
		return failureRetry
	}
	return failureFatal
}
