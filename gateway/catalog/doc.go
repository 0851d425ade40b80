// Package catalog knows which queues exist, with their attributes and tags.
//
// The catalogue is a log: the one-partition topic catalog below the state root.
// Every gateway tails it and folds its records into the same state (state.go, a
// pure fold; FORMAT.md describes the records). Whoever wants a change appends a
// record and waits until that record has come back: of several records that
// exclude each other the first in log order wins, and everybody sees the same
// winner. Topics follow the log: a queue's topic is made after its record has
// won, with the attributes of the record, and dropped after its delete record.
// Both can be finished by any gateway when the first one dies half way.
//
// Topics that others made become queues when they have the consumer: the refresh
// walk and Get append a record for them.
//
// Run has four goroutines: the tail, which alone changes the state; the appender,
// which owns the write session; the refresh walk; the writer of snapshots. mu
// guards the state, the appender has a mutex of its own, and neither is held over
// I/O; the lock per name is, and only spares work.
package catalog
