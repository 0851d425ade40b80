package load

import (
	"context"
	"time"
)

// pacer gives the times at which one of several workers is to begin its
// operations. The workers' times interleave to an even rate of the whole.
type pacer struct {
	next time.Time
	step time.Duration // 0: at once, always
}

// newPacer makes the pacer of a worker for rate operations a second of all
// workers together; a rate of 0 is as fast as possible.
func newPacer(start time.Time, rate float64, worker, workers int) pacer {
	if rate <= 0 {
		return pacer{}
	}
	each := float64(time.Second) / rate
	return pacer{
		next: start.Add(time.Duration(each * float64(worker))),
		step: time.Duration(each * float64(workers)),
	}
}

// due returns when the next operation is to begin: not before now without a
// rate, and in the past when the worker is behind. Lost time is caught up, so
// that a slow server is not given less to do than was asked for.
func (p *pacer) due(now time.Time) time.Time {
	if p.step == 0 {
		return now
	}
	due := p.next
	p.next = due.Add(p.step)
	return due
}

// pause waits until then and tells whether the context still stands.
func pause(ctx context.Context, timer *time.Timer, until time.Time) bool {
	if d := time.Until(until); d > 0 {
		timer.Reset(d)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
