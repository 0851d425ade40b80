// Package logwrite opens write sessions to one partition of a topic.
//
// The lanes, the journal, the catalogue and the dead-letter mover write through
// them, each in its own way; opening a session, and reading the status inside its
// answers, is the same for all. The package starts no goroutine and keeps nothing.
package logwrite
