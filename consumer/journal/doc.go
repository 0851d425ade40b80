// Package journal is the durable record of a partition's leases, deletes and
// visibility changes.
//
// It lives in a topic of its own. Each data partition writes with its own
// producer id, and its sequence numbers carry an epoch: Open first appends an
// Epoch record, which fences every earlier owner, then replays what was written
// up to that record. Append adds records; what they hold may be answered to
// clients once Acked says so. There is no repair: after any error the owner
// closes the Log, opens it again and replays.
//
// The bytes are drawn in FORMAT.md. A Log starts one goroutine, which Close joins.
package journal
