// Package topicd is an embedded, durable server of the YDB Topic API. Clients
// of a YDB cluster (ydb-go-sdk, the CLI, other SDKs) work on it unchanged, and
// what a cluster refuses it refuses as well. SKIPPED.md lists what is missing.
//
// It is not a database: no queries, no transactions, one node.
//
// # Main types
//
// Server owns everything and implements the gRPC services, one file per call
// (rpc_*.go). The scheme tree (tree.go) maps paths to directories and topics.
// A topic has partitions; a partition has a write side, run by the store's
// committer, and a read side: bounds, a tail of recent messages, committed
// offsets and the sessions to wake. A group (balance.go) shares a topic's
// partitions among the read sessions of one consumer.
//
// # A write
//
// The session's receiver checks a request and queues a writeOp. The committer
// calls Apply in queue order: it drops what the producer has written before,
// gives offsets and adds to the batch. Once the batch is synced, Done makes the
// messages visible to readers and puts the answer into the session's outbox.
// Taking over a producer id is an openOp in the same queue, which is why its
// answer comes after all earlier writes and why no later write of the old
// session gets through.
//
// # A split
//
// A write that finds its partition too busy asks for it. splitOp stores the new
// configuration; from its Apply on the parent takes no writes, and its Done shows
// the children before those refused are answered. Readers of the parent are told
// of its end once they have read it; balance.go gives the children to the
// parent's reader, or to anybody when the parent is committed to its end.
//
// # Goroutines
//
// Each stream has its handler, which alone sends, and a receiver. Both are
// counted in Server.handlers and joined by Close, as are unary calls. So are
// the two that split partitions (scale in split.go) and remove old messages
// (retain in retention.go). The store has its own two.
//
// # Locks, outer to inner
//
// tree.gate (a channel: one scheme change at a time), group.mu, partition.mu,
// readSession.mu. Write-side state has partition.wmu, under which no other lock
// is taken. No lock is held over a sync or a send.
package topicd
