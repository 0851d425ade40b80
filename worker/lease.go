package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// cutMargin is how much below the bound a visibility stays when SQS has refused
// the exact one: clocks and the way of the call take their time.
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
	message    Message
	handle     string
	asked      time.Time     // when the receive was sent; SQS counts from between
	received   time.Time     // this and when its answer was here
	visibility time.Duration // of the receive and of each renewal

	ended chan struct{} // closed to end the renewals
	kept  chan struct{} // closed when they have ended

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
	end := d.received.Add(d.visibility)
	next := d.received.Add(d.visibility / 2)
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
		if !now.Before(end) {
			w.lose(ctx, d, errExpired)
			return
		}
		if last {
			next = end
			continue
		}
		until, cut, err := w.hide(ctx, d, d.visibility, end)
		switch {
		case err == nil:
			end, next = until, now.Add(d.visibility/2)
		case ctx.Err() != nil:
			return
		case refused(err) && !cut:
			w.lose(ctx, d, err)
			return
		default:
			w.log.LogAttrs(ctx, slog.LevelDebug, "a lease could not be renewed",
				slog.String("message_id", d.message.ID), slog.Any("error", err))
			now = time.Now()
			next = now.Add(max(end.Sub(now)/2, firstPause)) // ever more urgent
		}
		if cut && (err == nil || refused(err)) {
			w.log.LogAttrs(ctx, slog.LevelWarn, "the lease cannot be renewed beyond 12 hours after the receive",
				slog.String("message_id", d.message.ID), slog.Time("received", d.received), slog.Time("lease_ends", end))
			last = true
		}
		if last || next.After(end) {
			next = end
		}
	}
}

// hide makes d invisible for some time from now, cut to what remains of the 12
// hours. It returns when the lease ends then, seen with caution. It makes no
// call that would not bring the end beyond known.
func (w *Worker) hide(ctx context.Context, d *delivery, want time.Duration, known time.Time) (until time.Time, cut bool, err error) {
	now := time.Now()
	seconds := ceilSeconds(want)
	left := floorSeconds(d.received.Add(maxLease).Sub(now))
	if cut = seconds > left; cut {
		seconds = left
	}
	until = now.Add(time.Duration(seconds) * time.Second)
	if !until.After(known) {
		return known, cut, nil
	}
	err = w.visible.do(ctx, d.handle, int32(seconds)) // at most 43200
	if cut && refused(err) {
		seconds = min(seconds, floorSeconds(d.asked.Add(maxLease).Sub(now))) - int64(cutMargin/time.Second)
		if until = now.Add(time.Duration(seconds) * time.Second); seconds > 0 && until.After(known) {
			err = w.visible.do(ctx, d.handle, int32(seconds))
		}
	}
	return until, cut, err
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
