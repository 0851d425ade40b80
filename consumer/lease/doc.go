// Package lease is the state machine of one partition of a queue: which
// messages are waiting, delayed, leased or gone.
//
// Step takes one Input at a time and returns Effects; the shell carries them
// out. No input waits: the shell keeps the long polls and looks at Ready. The package does no I/O, starts no goroutine and reads no clock: time
// comes in as milliseconds since the Unix epoch, identities as numbers. It knows
// no bodies, handles or names. A Machine is not safe for concurrent use.
//
// # Rules
//
// One rule decides what a receive may hand out: a message is deliverable when it
// is visible (not leased, delayed or moving) and, on FIFO queues, no earlier
// message of its group is invisible. A message on its way to the dead-letter
// queue has left its group. On FIFO queues the messages without a group form
// one. The scripts in testdata tell the rules one by one.
//
// An answer ends before the message that would make it larger than Config.MaxBytes,
// and one that alone is larger leaves the queue instead (size.go).
//
// A FIFO receive with an attempt id can be repeated (attempt.go). A FIFO group
// can be held back until a parent partition has none of it left (hold.go). A
// standard queue is fair among the groups of its messages (tenant.go).
//
// # State
//
//	base ......... commit offset ............. cursor ...................
//	      gone          |    window (records)    |    ahead (journal)
//
// Between the commit offset and the cursor each message that is not gone has a
// 24-byte record in a chunk of 64; a chunk without messages does not exist.
// Deadlines, receive counts and receive times are in a 48-byte node, which only
// messages have that are invisible or were received. A node is in at most one
// list: a slot of the timing wheel, or the requeue ring of a standard queue.
// FIFO groups are lists through the records; those whose first message is
// visible are in the ready list, unless they are held. On a standard queue the
// same links make the lane of a tenant, where the messages wait that were met
// while it was noisy. Beyond the cursor, after a restart, there is only what the
// journal tells. Every operation is O(1) in the messages loaded, but Purge,
// Snapshot, Hold, Release and a changed FIFO delay, which walk over them or their
// groups. A receive may park more messages than it hands out, each once.
//
// # Durability
//
// Each step's Ops are its durable part. Restore, Apply of the ops since, Replayed
// and Load of the log from Cursor on make a machine that clients cannot tell
// from the first, but for the order in which a standard queue hands out what
// came back. Delays, groups, retention and deduplication are not journaled, since
// the log determines them; a duplicate's removal is, because the ids that prove
// it are forgotten in time. With it the log determines the rest: what was loaded
// before the restart and is not known as a duplicate was the first of its id. What
// a partition knows of those it was split from (elder.go) is journaled for the
// same reason.
// What is held, and that the log has ended, must be told again.
//
// # Invariants
//
//   - CommitOffset never falls, and nothing below it is ever handed out.
//   - A message is handed out again only at or after the deadline in force.
//   - Receive counts grow by one a hand-out, up to 4095.
//   - Of an attempt that is known, every message is leased by it.
//   - At most eighteen tenants are noisy, and what they have parked is visible.
//   - Time never goes back: a Step with an earlier now happens at the latest one.
//   - Move sequences are consecutive and announced in order.
package lease
