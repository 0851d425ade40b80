// Package partition writes to the partitions of topics.
//
// Map (pure) says which partition a MessageGroupId belongs to. Pool keeps a
// writer per active partition; a writer owns lanes, raw write sessions with
// their own producer ids; throttle.go holds the token buckets of FIFO
// partitions. The package knows nothing of queues and receives.
package partition
