//go:build race

package consumer_test

// Under the race detector the simulation runs on one processor: the timers of a
// synctest bubble share one context of the detector, and two of them running at a
// time crash it (Go 1.26). It takes ten times as long.
const (
	simProcessors   = 1
	simSeedsDefault = 6
)
