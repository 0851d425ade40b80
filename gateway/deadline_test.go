package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Whenever a request comes, its context ends within the timeout and not much
// before, and many requests need few timers.
func TestDeadlinesAreSharedAndKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const timeout = 10 * time.Second
		d := deadlines{timeout: timeout}
		contexts := map[context.Context]bool{}
		for range 1000 {
			began := time.Now()
			ctx := d.context()
			contexts[ctx] = true
			end, ok := ctx.Deadline()
			if left := end.Sub(began); !ok || left > timeout || left < timeout-timeout/deadlineShare {
				t.Fatalf("a request has %v of %v", left, timeout)
			}
			if ctx.Err() != nil {
				t.Fatal("a context had ended when it was given out")
			}
			<-time.After(time.Millisecond)
		}
		if n := len(contexts); n > 10 {
			t.Errorf("%d contexts in a second, want 7", n)
		}
		last := d.context()
		began := time.Now()
		<-last.Done()
		if took := time.Since(began); took > timeout || took < timeout-timeout/deadlineShare {
			t.Errorf("the context ended after %v", took)
		}
		if ctx := d.context(); ctx.Err() != nil {
			t.Error("an ended context was given out after a pause")
		}
	})
}
