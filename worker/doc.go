// Package worker runs a handler over the messages of an SQS queue: one of
// sqsgate, of Amazon or of anything else that the AWS SDK for Go can talk to.
//
// A Worker receives, calls Options.Handler for each message and settles the
// message by the Outcome the handler returns:
//
//	Ack         deletes the message
//	Retry       makes it visible at once
//	RetryAfter  makes it visible after a while, at most 12 hours after the receive
//	Drop        deletes it, but at its last allowed receive in a queue with a
//	            redrive policy makes it visible, so that the next receive moves it
//	            to the dead-letter queue (see Drop)
//	Unfinished  does nothing; the message comes back when its lease ends
//
// A handler that panics counts as Unfinished: its message comes back, but not
// before its lease has ended, so that a fault which lasts does not spin.
//
// # Leases
//
// The visibility timeout of a message that is here, in a handler or waiting for
// one, is renewed when half of it has passed. SQS ends every lease 12 hours after
// the receive. When a lease is lost, because it has ended or because SQS refuses
// to renew it, the handler's context is cancelled with the cause ErrLeaseLost.
// To delete such a message, as Ack and Drop do, is still tried: a standard queue may
// accept it.
//
// # Order
//
// Messages of a standard queue are handled side by side, up to
// Options.Concurrency. In a FIFO queue this holds for message groups: of one
// group, one message at a time, in order. The next is handled only when SQS has
// confirmed that the one before is deleted. If that one is to come back instead,
// or its lease was lost, or its delete failed for good, then all later ones of its
// group that are here are given back unhandled: SQS delivers none of them before
// it. A delete that fails without SQS having seen it makes the message come again
// although it was handled, as everywhere in SQS, and before its successors.
//
// Every receive counts, handled or not. So that no message runs out of its
// allowed receives unhandled, a Worker takes from a queue with a redrive policy
// only what it can start at once, and from a FIFO queue of that kind one message
// at a time; otherwise it takes up to ten and keeps some ready
// (Options.Prefetch).
//
// # Outages
//
// Receives and attributes are asked for again until SQS answers. A settlement is
// tried as long as the lease lasts, at most for a minute, and five times at least;
// then the message comes back, handled or not.
//
// # Stopping
//
// When its context ends, Run breaks off its receives, gives back what no handler
// has begun, lets the handlers that run finish for Options.StopTimeout, then cancels
// them, and settles as they say. A handler that ignores this too is left behind
// with its message, which comes back; Run then returns ErrAbandoned. A Worker that
// dies without all that loses nothing: what it held comes back when the leases
// end. So does what SQS may have answered to a receive that was broken off; that
// of a standard queue sqsgate makes visible at once.
//
// # Inside
//
// Run owns all goroutines: receivers, one that refreshes the queue's attributes,
// 2-16 for each of the two batchers, one per message that keeps its lease, one
// per running handler. One mutex guards what is here (dispatch.go) and is never
// held over a call. Invariants: of a group only the first that is here is in a
// handler; a lease is not renewed any more when its message is being settled.
package worker
