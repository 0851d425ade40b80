// Package lease is the state machine of one partition of a queue: which
// messages are waiting, delayed, leased or gone, and who waits for them.
//
// Step takes one Input at a time and returns Effects; the shell carries them
// out. The package does no I/O, starts no goroutine and reads no clock: time
// comes in as milliseconds since the Unix epoch, identities as numbers.
package lease
