//go:build e2e

package e2e

import (
	"testing"
	"time"
)

// eventually waits until done, asking every few milliseconds. It fails the test
// after timeout.
func eventually(t testing.TB, timeout time.Duration, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(timeout); ; <-tick.C {
		if done() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", timeout, what)
		}
	}
}

// pass lets time go by: a visibility timeout or a delay, whose end is what is
// tested. Whoever waits for an event uses eventually.
func pass(t testing.TB, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal("the test has ended")
	}
}
