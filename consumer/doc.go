// Package consumer is the shared consumer: it hands out single messages of a
// topic with leases, as SQS does, and remembers them durably.
//
// It is the shell of package lease: it owns goroutines, clocks and streams and
// knows no rule of a queue. It knows nothing of HTTP or of SQS attributes either.
//
// # Main types
//
// Consumer holds the queues in use. A Queue (queue.go) has one read session
// (session.go), which is its claim to partitions and the way to commit offsets; it
// reads no data. A partition that the session is given has a shard (shard.go). So
// has a child of a split partition of ours that the server has not handed out yet:
// it is adopted, under the claim to its parent (topology.go).
//
// Each attempt of a shard to serve is a tenure (tenure.go, handle.go): fence and
// replay of the journal, a lease.Machine made of that, then a loop that takes events
// from the mailbox (mailbox.go), steps the machine and appends what changed to the
// journal. Any failure of the journal ends the tenure, and the next one begins with
// a fence; nothing is ever rolled back. Messages come from the feed (feed.go), which
// reads as much as the machine wants; their bodies are kept while the process's
// budget lasts and read again after that (bodies.go, scan.go).
//
// # A call
//
// A call (call.go) is one request to a shard: a receive (receive.go), deletes and
// visibility changes (settle.go), a purge (counts.go) or moves (deadletter.go). The
// shard steps the machine through it and puts it into the batch pending; with the
// next append pending becomes sealed, and when that append is acknowledged its calls
// are answered. What changes nothing is answered at once. A caller that leaves
// marks its call abandoned; what was leased for it is given back.
//
// Long polls wait in one list of the queue (waits.go), in arrival order; a shard with
// messages takes them from there.
//
// # FIFO queues
//
// The window of deduplication ids is the queue's, in memory (deduplicate.go): a send
// claims its id, and the shards load what the log says of the last five minutes. A
// child partition holds the groups that its ancestors still have (family.go), and
// inherits what is needed to judge by their logs which messages are duplicates
// (estate.go).
//
// # Goroutines
//
//   - Queue: run, until stop. Forget has one that stops the queue, Close one for each.
//   - session: sender, lookout and the watch for the stop; one for each shard, and
//     one for each partition that is being given back or taken again.
//   - tenure: the feed; the journal's receiver; the mover while there are moves; at most
//     4 that read bodies again, and those that wait for their turn; one for a trim.
//
// A session joins its shards, a shard its tenure's tasks, stop the session, and
// Close everything.
//
// # Locks
//
// Consumer.mu, then Queue.mu, then the mailbox's, the feed's, the mover's, the
// outbox's, the waitList's, the deduplicator's and the trims', below which no other
// is taken. None is held over I/O. The fields of a tenure belong to its shard's
// goroutine; what others look at without asking (serving, cursor, hasReady, written)
// is atomic.
//
// # Invariants
//
//   - Nothing is answered to a client before the journal append that holds it is
//     acknowledged, in journal order. One append is under way per shard.
//   - A message that moves is written to its target after its move is durable in the
//     journal, under that move's number, and leaves the queue after the write. It comes
//     back only when it is not in the target (absent.go).
//   - What is told to a child partition of its parent's groups is durable.
//   - Which messages are duplicates follows from the logs of a partition and its
//     ancestors, and from what their journals said when the partition began.
//   - The committed offset is one that a durable state implies; a child's is committed
//     only in a session of its own, after its parent's.
//   - The journal is trimmed only below the snapshots of all partitions that share it,
//     except those that are finished and served no more.
//   - The clock of a machine never runs back, not behind an earlier owner's either.
package consumer
