// Package load puts a load on one queue and measures it.
//
// A run has as many workers as connections. A worker is a goroutine with a
// connection of its own that does one operation after the other: as fast as it
// can, or by a schedule that does not wait for slow answers (pacer), in which
// case latency counts from the time an operation was due. What is sent and
// received goes through a ledger, which finds what was lost, doubled or out of
// order.
//
// A run passes through three phases: warm-up and measurement, which differ only
// in what is counted (window), and the settling of scenarios that receive,
// where the rest of the messages is fetched for the ledger. Run joins every
// goroutine before it returns. The only locks are those of the meters, one per
// worker, which the live line reads.
package load
