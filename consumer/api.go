package consumer

import (
	"errors"
	"time"

	"sqsgate/codec"
)

// The errors of a Queue's methods. Those of batches come one per entry.
var (
	// ErrHandle: the receipt handle was not made by this server, or for another
	// queue.
	ErrHandle = errors.New("receipt handle is not valid")
	// ErrExpired: FIFO queues; the lease of the handle has ended.
	ErrExpired = errors.New("receipt handle has expired")
	// ErrGone: the message of a visibility change is not there any more.
	ErrGone = errors.New("message does not exist")
	// ErrTooLong: the visibility would end more than 12 hours after the receive.
	ErrTooLong = errors.New("total visibility timeout is beyond 12 hours")
	// ErrOverLimit: as many messages are in flight as the queue allows.
	ErrOverLimit = errors.New("too many messages in flight")
	// ErrThrottled: a FIFO send; the deduplication window holds as many ids as it
	// can.
	ErrThrottled = errors.New("too many deduplication ids within five minutes")
	// ErrUnavailable: the state could not be made durable or the topic not be
	// reached. The outcome is unknown; the caller may try again.
	ErrUnavailable = errors.New("queue is not available")
	// ErrQueueGone: the topic or its consumer does not exist (any more).
	ErrQueueGone = errors.New("queue does not exist")
)

// Spec names one queue: a consumer of a topic, in one incarnation.
type Spec struct {
	Topic       string // absolute path
	Consumer    string
	Incarnation uint64
	FIFO        bool
	// TopicCreated tells the topic from a later one at the same path (topicid.Of):
	// the state of the one is not used for the other. "" = not known.
	TopicCreated string
	Settings     Settings
}

// Settings are the attributes of a queue that the shared consumer obeys.
type Settings struct {
	Delay           time.Duration // DelaySeconds
	Retention       time.Duration // MessageRetentionPeriod
	MaxReceiveCount int           // of the redrive policy, 0 = none
	// DeadLetterTopic and DeadLetterConsumer name the dead-letter queue: the
	// absolute path of its topic, and its consumer.
	DeadLetterTopic    string
	DeadLetterConsumer string
	// DeadLetterTarget is TargetOf that queue. Moves that have begun go there, though
	// the policy changes. 0: they go wherever the policy says by then.
	DeadLetterTarget uint64
	SourceARN        string // this queue's ARN, noted on messages it moves
	// DeduplicationPerGroup is DeduplicationScope messageGroup.
	DeduplicationPerGroup bool
}

// ReceiveRequest asks for messages.
type ReceiveRequest struct {
	Max        int           // 1-10
	Visibility time.Duration // of these messages
	Wait       time.Duration // how long to wait for the first one; 0 = not at all
	AttemptID  string        // ReceiveRequestAttemptId, FIFO queues only
	// Gone returns a channel that is closed when nobody wants the answer any more;
	// nil is never. It ends a wait as the context does.
	Gone func() <-chan struct{}
}

// Received is one message handed out, not yet decoded.
type Received struct {
	Handle        string
	Partition     int64
	Offset        int64
	Written       time.Time // when the log accepted it
	FirstReceived time.Time
	ReceiveCount  int // in this queue, this one included
	Record        codec.Record
}

// VisibilityChange is one entry of ChangeVisibility.
type VisibilityChange struct {
	Handle  string
	Timeout time.Duration
}

// Counts are the approximate numbers of messages of a queue.
type Counts struct {
	Visible  int64
	InFlight int64
	Delayed  int64
}

// Claim is the answer of the deduplication window for one FIFO send.
type Claim struct {
	// Duplicate: the message was sent before, as Partition and Offset. Otherwise
	// the caller must send it and report to Settle.
	Duplicate bool
	Partition int64
	Offset    int64

	key [16]byte
}

// Written is where a claimed message ended; Err tells that it may not be stored.
type Written struct {
	Partition int64
	Offset    int64
	Err       error
}
