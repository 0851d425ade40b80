package load

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestPacersInterleave(t *testing.T) {
	start := time.Unix(100, 0)
	const workers, rate = 4, 100.0
	var all []time.Duration
	for i := range workers {
		p := newPacer(start, rate, i, workers)
		for range 25 {
			all = append(all, p.due(start).Sub(start))
		}
	}
	slices.Sort(all)
	for i, at := range all {
		if want := time.Duration(i) * 10 * time.Millisecond; at != want {
			t.Fatalf("operation %d of all workers is due at %s, want %s", i, at, want)
		}
	}
}

func TestPacerCatchesUp(t *testing.T) {
	start := time.Unix(100, 0)
	p := newPacer(start, 10, 0, 1)
	late := start.Add(time.Second)
	var due []time.Duration
	for range 3 {
		due = append(due, p.due(late).Sub(start))
	}
	if want := []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond}; !slices.Equal(due, want) {
		t.Errorf("due at %v, want %v: a late worker does not skip operations", due, want)
	}
}

func TestPacerWithoutRate(t *testing.T) {
	p := newPacer(time.Unix(100, 0), 0, 3, 4)
	now := time.Unix(200, 0)
	if got := p.due(now); !got.Equal(now) {
		t.Errorf("due at %v, want now", got)
	}
}

func newTestWorker() *worker {
	w := &worker{meter: newMeter(), timer: time.NewTimer(time.Hour)}
	w.timer.Stop()
	return w
}

// A slow answer delays no later one than it has to, and its wait is counted
// from when the late ones were due.
func TestWorkKeepsTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var begun, late []time.Duration
		slow := []time.Duration{0, 250 * time.Millisecond, 0, 0, 0}
		newTestWorker().work(t.Context(), newPacer(start, 10, 0, 1), start.Add(time.Hour), func(due time.Time) bool {
			begun = append(begun, time.Since(start))
			late = append(late, time.Since(due))
			time.Sleep(slow[len(begun)-1]) //nolint:forbidigo // virtual time
			return len(begun) < len(slow)
		})
		ms := time.Millisecond
		if want := []time.Duration{0, 100 * ms, 350 * ms, 350 * ms, 400 * ms}; !slices.Equal(begun, want) {
			t.Errorf("begun at %v, want %v", begun, want)
		}
		if want := []time.Duration{0, 0, 150 * ms, 50 * ms, 0}; !slices.Equal(late, want) {
			t.Errorf("late by %v, want %v", late, want)
		}
	})
}

func TestWorkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, n := time.Now(), 0
		newTestWorker().work(t.Context(), newPacer(start, 10, 0, 1), start.Add(time.Second), func(time.Time) bool {
			n++
			return true
		})
		if n != 10 {
			t.Errorf("%d operations in a second at 10 a second", n)
		}

		ctx, cancel := context.WithCancel(t.Context())
		stop := time.AfterFunc(250*time.Millisecond, cancel)
		defer stop.Stop()
		n, start = 0, time.Now()
		newTestWorker().work(ctx, newPacer(start, 10, 0, 1), start.Add(time.Hour), func(time.Time) bool {
			n++
			return true
		})
		if took := time.Since(start); n != 3 || took != 250*time.Millisecond {
			t.Errorf("%d operations, %s; want 3 in 250ms", n, took)
		}
	})
}

// A server that refuses connections is not asked in a tight loop.
func TestWorkBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, n := time.Now(), 0
		w := newTestWorker()
		w.work(t.Context(), pacer{}, start.Add(10*time.Second), func(time.Time) bool {
			n++
			w.failed(callSend, context.DeadlineExceeded, time.Now())
			return true
		})
		if n < 10 || n > 20 {
			t.Errorf("%d attempts in 10 s", n)
		}
	})
}
