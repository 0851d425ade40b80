package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// cutMargin is how much below the bound a visibility stays when SQS has refused
// the exact one, beside the time the refusal took.
const cutMargin = 2 * time.Second

var errExpired = errors.New("it has ended")

// stage is where a delivery is. It only grows.
type stage int

const (
	waiting stage = iota // for a handler, or behind others of its group
	running              // in a handler, or being settled
	gone
)

// delivery is one received message until it is settled.
type delivery struct {
	message  Message
	handle   string
	asked    time.Time  // when the receive was sent; SQS counts from between
	received time.Time  // this and when its answer was here
	queue    queueState // as it was known when the receive was sent

	ended chan struct{} // closed to end the renewals
	kept  chan struct{} // closed when they have ended
	end   time.Time     // of the lease; keep's until kept is closed

	// Guarded by Worker.mu.
	stage    stage
	group    *group                  // nil on standard queues
	broken   bool                    // its followers were given back
	lost     bool                    // so is the lease
	released bool                    // ended is closed
	cancel   context.CancelCauseFunc // of the handler; nil before
}

// keep renews the lease of d until it is released or lost.
func (w *Worker) keep(ctx context.Context, d *delivery) {
	defer close(d.kept)
	visibility := d.queue.visibility
	d.end = d.received.Add(visibility)
	next := d.received.Add(visibility / 2)
	for last := false; ; {
		timer := time.NewTimer(time.Until(next))
		select {
		case <-d.ended:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		now := time.Now()
		if !now.Before(d.end) {
			w.lose(ctx, d, errExpired)
			return
		}
		if last {
			next = d.end
			continue
		}
		until, cut, err := w.renew(ctx, d)
		switch {
		case err == nil:
			d.end, next = until, now.Add(visibility/2)
		case ctx.Err() != nil:
			return
		case refused(err):
			w.lose(ctx, d, err)
			return
		default:
			w.log.LogAttrs(ctx, slog.LevelDebug, "a lease could not be renewed",
				slog.String("message_id", d.message.ID), slog.Any("error", err))
			now = time.Now()
			next = now.Add(max(d.end.Sub(now)/2, firstPause)) // ever more urgent
		}
		if cut && err == nil {
			w.log.LogAttrs(ctx, slog.LevelWarn, "the lease cannot be renewed beyond 12 hours after the receive",
				slog.String("message_id", d.message.ID), slog.Time("received", d.received), slog.Time("lease_ends", d.end))
			last = true
		}
		if last || next.After(d.end) {
			next = d.end
		}
	}
}

// renew makes one renewal. What is not answered when the lease ends has come to
// nothing: a standard queue accepts a renewal that is too late, without effect.
func (w *Worker) renew(ctx context.Context, d *delivery) (until time.Time, cut bool, err error) {
	ctx, cancel := context.WithDeadline(ctx, d.end)
	defer cancel()
	return w.hide(ctx, d, d.queue.visibility, d.end)
}

// hide makes d invisible for some time from now, cut to what remains of the 12
// hours. It returns when the lease ends then, seen with caution. It makes no
// call that would not bring the end beyond known.
func (w *Worker) hide(ctx context.Context, d *delivery, want time.Duration, known time.Time) (until time.Time, cut bool, err error) {
	now := time.Now()
	seconds := ceilSeconds(want)
	if left := floorSeconds(d.received.Add(maxLease).Sub(now)); seconds > left {
		seconds, cut = left, true
	}
	until = now.Add(time.Duration(seconds) * time.Second)
	if !until.After(known) {
		return known, cut, nil
	}
	err = w.visible.do(ctx, d.handle, int32(seconds)) // at most 43200
	if !refused(err) {
		return until, cut, err
	}
	// SQS has counted from before the answer to the receive was here, up to when it
	// got this call.
	sent := now
	now = time.Now()
	safe := floorSeconds(d.asked.Add(maxLease - cutMargin - now.Sub(sent)).Sub(now))
	if seconds <= safe || safe == 0 {
		return until, cut, err // the bound is not why, or nothing is left
	}
	until = now.Add(time.Duration(safe) * time.Second)
	if !until.After(known) {
		return known, true, nil
	}
	return until, true, w.visible.do(ctx, d.handle, int32(safe))
}

// ceilSeconds is d in seconds, rounded up.
func ceilSeconds(d time.Duration) int64 {
	seconds := int64(d / time.Second)
	if d%time.Second > 0 {
		seconds++
	}
	return seconds
}

// floorSeconds is d in whole seconds, not below 0.
func floorSeconds(d time.Duration) int64 { return int64(max(d, 0) / time.Second) }

// release ends the renewals of d and waits for the one under way, so that it
// cannot undo what comes after it.
func (w *Worker) release(d *delivery) {
	w.mu.Lock()
	if !d.released {
		d.released = true
		close(d.ended)
	}
	w.mu.Unlock()
	<-d.kept
}

// lose ends what is done with a message that is no longer ours.
func (w *Worker) lose(ctx context.Context, d *delivery, why error) {
	w.mu.Lock()
	before := d.stage
	followers := w.loseLocked(ctx, d)
	w.mu.Unlock()
	if before == gone {
		return
	}
	w.metrics.lost.Inc()
	w.log.LogAttrs(ctx, slog.LevelWarn, "the lease of a message is lost", slog.String("message_id", d.message.ID),
		slog.Bool("in_handler", before == running), slog.Any("error", why))
	w.giveBack(ctx, followers)
}

func (w *Worker) loseLocked(ctx context.Context, d *delivery) (followers []*delivery) {
	switch d.stage {
	case gone:
		return nil
	case running:
		d.lost = true
		d.cancel(ErrLeaseLost)
		return w.followersLocked(d)
	case waiting:
	}
	d.lost = true
	followers = w.followersLocked(d)
	w.removeLocked(ctx, d)
	return followers
}
