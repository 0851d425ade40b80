package worker

import "time"

// Outcome is what a handler wants to become of its message. The zero Outcome is
// Unfinished.
type Outcome struct {
	kind  kind
	after time.Duration
}

type kind int

const (
	kindUnfinished kind = iota
	kindAck
	kindRetry
	kindRetryAfter
	kindDrop
)

func (k kind) String() string {
	switch k {
	case kindUnfinished:
	case kindAck:
		return "ack"
	case kindRetry:
		return "retry"
	case kindRetryAfter:
		return "retry_after"
	case kindDrop:
		return "drop"
	}
	return "unfinished"
}

// String names the outcome, with its delay if it has one.
func (o Outcome) String() string {
	if o.kind == kindRetryAfter {
		return o.kind.String() + " " + o.after.String()
	}
	return o.kind.String()
}

// Ack says that the message is done: it is deleted.
func Ack() Outcome { return Outcome{kind: kindAck} }

// Retry gives the message back: it is visible at once (visibility timeout 0).
func Retry() Outcome { return Outcome{kind: kindRetry} }

// RetryAfter gives the message back after d, rounded up to whole seconds. SQS
// hides no message for longer than 12 hours after its receive, so d is cut to
// what remains of them, which is logged. A d of zero or less is Retry.
func RetryAfter(d time.Duration) Outcome {
	if d <= 0 {
		return Retry()
	}
	return Outcome{kind: kindRetryAfter, after: d}
}

// Drop says that no further try will help. The message is deleted; but if the
// queue has a redrive policy and this was the message's last allowed receive
// (ApproximateReceiveCount has reached maxReceiveCount), it is made visible, and
// the next receive moves it to the dead-letter queue. With a maxReceiveCount of 1
// this holds for every message; otherwise Retry is the way there.
//
// A message that was received although its count was above maxReceiveCount is
// deleted, with a warning: the queue does not move it. Its dead-letter queue may be
// gone; or it lies in a dead-letter queue with a policy of its own, where the count
// goes on from the source and does not tell the last receive. A policy that was
// changed is seen after Options.Refresh at the latest.
func Drop() Outcome { return Outcome{kind: kindDrop} }

// Unfinished says that the handler has come to no end. SQS is not told anything:
// the lease ends by itself and the message comes back.
func Unfinished() Outcome { return Outcome{kind: kindUnfinished} }
