package consumer

import (
	"context"
)

// Consumer holds the shared consumers of all queues in use by this process.
type Consumer struct{}

// Queue returns the shared consumer of a queue, opening it on first use. A Spec
// with other settings updates them; one with another incarnation ends the old.
func (c *Consumer) Queue(_ Spec) *Queue { panic("sketch") }

// Drop ends the shared consumer of a deleted queue: waiting receives are
// answered with ErrQueueGone.
func (c *Consumer) Drop(topic, consumer string) { panic("sketch") }

// Wrote notes that the message was acknowledged, so that a receive or count
// that follows sees it. It does not open a queue.
func (c *Consumer) Wrote(topic string, partition, offset int64) { panic("sketch") }

// Queue is the shared consumer of one queue.
type Queue struct{}

// Receive hands out messages. An empty slice is not an error. When ctx ends
// early the messages are given back.
func (q *Queue) Receive(ctx context.Context, r ReceiveRequest) ([]Received, error) { panic("sketch") }

// Delete deletes; one error (or nil) per handle.
func (q *Queue) Delete(ctx context.Context, handles []string) []error { panic("sketch") }

// ChangeVisibility changes visibilities; one error (or nil) per change.
func (q *Queue) ChangeVisibility(ctx context.Context, changes []VisibilityChange) []error { panic("sketch") }

// Purge removes every message written before the call.
func (q *Queue) Purge(ctx context.Context) error { panic("sketch") }

// Counts tells the approximate numbers of messages.
func (q *Queue) Counts(ctx context.Context) (Counts, error) { panic("sketch") }

// Claim asks the deduplication window of a FIFO queue for each id (with its
// group). It waits for earlier sends of the same id that are under way. Every
// claim that is not a duplicate must be settled. On error nothing is claimed.
func (q *Queue) Claim(ctx context.Context, ids []DeduplicationID) ([]Claim, error) { panic("sketch") }

// Settle ends claims: written[i] says what became of claims[i]; duplicates are
// skipped.
func (q *Queue) Settle(claims []Claim, written []Written) { panic("sketch") }

// PrivateDeduplication tells whether messages must hide their deduplication id
// from the server's own deduplication: the scope is the group, or the queue was
// purged within the window.
func (q *Queue) PrivateDeduplication() bool { panic("sketch") }

// DeduplicationID is the id of one FIFO send and its group.
type DeduplicationID struct {
	ID    string
	Group string
}
