// Package consumer is the shared consumer: it hands out single messages of a
// topic with leases, as SQS does, and remembers them durably.
//
// Consumer holds the queues that are in use. A Queue has one read session; each
// partition the session is given is served by a shard: one goroutine that owns a
// lease.Machine, the pure state of the partition's messages, and a journal.Log,
// the durable record of it. Nothing is answered before the journal append that
// holds it is acknowledged.
package consumer
