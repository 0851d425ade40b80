// Package store keeps everything the topic server must not lose on one pebble
// database: scheme entries, messages, producers' sequence numbers, partition
// bounds and consumers' offsets. FORMAT.md draws the keys and the values.
//
// It knows nothing of gRPC or of YDB's rules. Rules live in Ops, which the
// caller writes: an Op is handed to Submit, the committer calls Apply in queue
// order, and Done when everything the op wrote is on disk.
//
// # Goroutines
//
// The committer takes whatever has queued, lets each op write into one batch
// and hands the batch to pebble. The finisher waits for the sync of one batch
// after the other and reports to the ops. While one batch is being synced the
// next one is being built, so a slow disk makes batches larger and not the
// queue longer. Both are joined by Close.
//
// # Invariants
//
//   - Apply calls never overlap and happen in the order of Submit. State that
//     only Apply touches needs no lock.
//   - Done calls never overlap and happen in the order of Apply.
//   - Done(nil) means synced: a crash after it cannot take the op back.
//   - After a failed sync nothing is acknowledged any more, Failed is closed
//     and the process has to stop; what the disk holds is known only after
//     reopening.
//   - The queue is bounded by count and by bytes.
package store
