// Package logread reads one partition of a topic from a given offset, without a
// consumer.
//
// The shared consumer feeds its shards with it, the journal replays with it, and
// bodies that are no longer in memory are read again with it. A Reader is one
// StreamRead session with one goroutine, which tells the server of grants and is
// joined by Close. Grant and Close may be called while another goroutine is in
// Read.
package logread
