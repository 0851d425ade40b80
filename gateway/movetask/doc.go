// Package movetask moves the messages of dead-letter queues, as asked for by
// StartMessageMoveTask.
//
// The tasks are records of the catalogue, so they survive a restart. A task has
// one owner, the Runner that moves its messages and reports at least every second;
// one whose reports stop coming loses it to the next Runner that notices. decide
// (round.go) is the pure rule of what follows a round of moving; Runner is the
// shell around it.
//
// Run is one goroutine that looks for tasks, and one per task at work, of which
// the catalogue allows 100. mu guards the set of those and is not held over I/O.
package movetask
