package movetask

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sqsgate/gateway/catalog"
)

// reportTimeout bounds one report, which is tried again.
const reportTimeout = 10 * time.Second

// work moves the messages of a task until it is over, ctx ends, or the task turns
// out to be somebody else's.
func (r *Runner) work(ctx context.Context, t catalog.Task, pausing <-chan struct{}) {
	log := r.logger.With(slog.String("task", t.ID), slog.String("source", t.Source), slog.String("destination", t.Destination))
	if t.Owner != r.owner {
		var ok bool
		if t, ok = r.report(ctx, log, t, catalog.Progress{Status: catalog.TaskRunning, Moved: t.Moved, Was: t.Owner}); !ok {
			return
		}
		log.LogAttrs(ctx, slog.LevelInfo, "move task is taken over")
	}
	moved, reported, failures := t.Moved, time.Now(), 0
	for {
		// A cancellation may have come through another gateway.
		now, active := r.find(t)
		if !active {
			return
		}
		did := round{cancelled: now.Status == catalog.TaskCancelling}
		began := time.Now()
		if !did.cancelled {
			did.moved, did.err = r.mover.Move(ctx, t.Source, t.Destination, batch(t.Rate))
		}
		if ctx.Err() != nil {
			return
		}
		moved += int64(did.moved)
		r.metrics.moved.Add(float64(did.moved))
		if failures++; did.err == nil {
			failures = 0
		} else {
			log.LogAttrs(ctx, slog.LevelWarn, "moving messages failed", slog.Any("error", did.err), slog.Int("failures", failures))
		}
		did.failures, did.took, did.age = failures, time.Since(began), time.Since(time.UnixMilli(t.Started))
		next := decide(t.Rate, did)
		if next.status.Active() {
			if time.Since(reported) >= reportEvery-next.pause {
				if _, ok := r.report(ctx, log, t, catalog.Progress{Status: next.status, Moved: moved}); !ok {
					return
				}
				reported = time.Now()
			}
			if !pause(ctx, next.pause, pausing) {
				return
			}
			continue
		}
		if _, ok := r.report(ctx, log, t, catalog.Progress{Status: next.status, Moved: moved, Reason: next.reason}); ok {
			log.LogAttrs(ctx, slog.LevelInfo, "move task is over", slog.String("status", string(next.status)),
				slog.Int64("moved", moved), slog.String("reason", next.reason))
		}
		return
	}
}

// find returns the task as the catalogue has it, if it is active and still ours.
func (r *Runner) find(t catalog.Task) (catalog.Task, bool) {
	for _, now := range r.catalog.Tasks(t.Source) {
		if now.ID == t.ID {
			return now, now.Status.Active() && now.Owner == r.owner
		}
	}
	return catalog.Task{}, false
}

// report repeats a report until it is recorded. false = ctx has ended, or the
// task is over or another's.
func (r *Runner) report(ctx context.Context, log *slog.Logger, t catalog.Task, p catalog.Progress) (catalog.Task, bool) {
	p.Owner = r.owner
	for wait := firstBackoff; ; wait = min(2*wait, lastBackoff) {
		once, cancel := context.WithTimeout(ctx, reportTimeout)
		now, err := r.catalog.ReportTask(once, t, p)
		cancel()
		switch {
		case err == nil:
			return now, true
		case errors.Is(err, catalog.ErrNotFound):
			log.LogAttrs(ctx, slog.LevelInfo, "move task was ended or taken over by another gateway, or its queue is gone")
			return catalog.Task{}, false
		case ctx.Err() != nil:
			return catalog.Task{}, false
		}
		log.LogAttrs(ctx, slog.LevelWarn, "reporting a move task failed", slog.Any("error", err))
		if !pause(ctx, wait, nil) {
			return catalog.Task{}, false
		}
	}
}

// pause waits; false = ctx has ended.
func pause(ctx context.Context, d time.Duration, cut <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-cut:
	}
	return true
}
