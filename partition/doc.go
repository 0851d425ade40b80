// Package partition writes to the partitions of topics.
//
// Map (map.go, hash.go, pure) says which partition a MessageGroupId belongs to.
// Pool keeps a writer per active partition; a writer owns lanes. A lane is one
// raw StreamWrite session with its own producer id and seqnos, so that a resend
// after a lost stream cannot write twice. The package knows nothing of queues,
// deduplication and receives.
//
// # Order
//
// A group hashes to one partition and to one lane of it. Messages leave a lane
// in the order they entered it, and one that is being retried holds back what
// is behind it. When a partition splits, a lane first learns the outcome of
// what it had on the wire and then hands the rest, in order, to the children;
// until that moment new messages of its groups still queue behind it.
//
// # Goroutines
//
// A lane with work runs one goroutine that sends and one that receives; both
// end when the lane has idled. A describe call runs in its own goroutine. The
// pool has one sweeper. Close joins them all.
//
// # Locks
//
// Pool.mu, then topic.mu, then lane.mu; none is held over I/O. topic.mu is held
// shared while messages are placed on lanes and alone while the map changes or
// a lane hands over, which makes the hand-over atomic for every group.
//
// # Ownership of bytes
//
// Record.Data and metadata values go to the server as they are, in process
// without a copy. They must not change after Write was called. A protobuf
// message is never changed once it has been sent.
package partition
