package worker

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// attempts is how often a settlement is tried at least; each has the SDK's own
	// repetitions inside.
	attempts = 5
	// settleMost bounds how long a settlement is tried while its lease lasts.
	settleMost = time.Minute
)

// process has d handled and settled.
func (w *Worker) process(ctx, handling context.Context, d *delivery) {
	var o Outcome // of a handler that does not return: Unfinished
	// Deferred, so that it is done also when the handler ends its goroutine.
	defer w.settled(ctx, d)
	defer func() { w.settle(ctx, d, o) }()
	defer w.returned(ctx, d)
	o = w.handle(handling, d)
}

// handle calls the handler. A panic is its own fault, not the Worker's.
func (w *Worker) handle(ctx context.Context, d *delivery) (o Outcome) {
	defer func() {
		if fault := recover(); fault != nil {
			w.metrics.panics.Inc()
			w.log.LogAttrs(ctx, slog.LevelError, "a handler has panicked", slog.String("message_id", d.message.ID),
				slog.String("panic", fmt.Sprint(fault)), slog.String("stack", string(debug.Stack())))
			o = Unfinished()
		}
	}()
	return w.opts.Handler(ctx, d.message)
}

// settle does what the handler has decided.
func (w *Worker) settle(ctx context.Context, d *delivery, o Outcome) {
	w.release(d)
	w.mu.Lock()
	lost := d.lost
	w.mu.Unlock()
	w.metrics.settled(o.kind)
	// While the lease lasts nobody else gets the message: an outage is sat out.
	until := time.Now().Add(settleMost)
	if d.end.Before(until) {
		until = d.end
	}
	if o.kind == kindAck || o.kind == kindDrop && !w.leave(ctx, d) {
		if err := w.repeat(ctx, until, func() error { return w.deletes.do(ctx, d.handle, 0) }); err != nil {
			w.failed(ctx, d, o, err)
			w.breakGroup(ctx, d)
		}
		return
	}
	// Those behind d first: once d is visible, it and they may be received.
	w.breakGroup(ctx, d)
	if o.kind == kindUnfinished || lost {
		return
	}
	cut := false
	err := w.repeat(ctx, until, func() (err error) {
		if o.kind != kindRetryAfter {
			return w.visible.do(ctx, d.handle, 0)
		}
		_, cut, err = w.hide(ctx, d, o.after, time.Time{})
		return err
	})
	if err != nil {
		w.failed(ctx, d, o, err)
	}
	if cut {
		w.log.LogAttrs(ctx, slog.LevelWarn, "a retry is cut to what remains of 12 hours after the receive",
			slog.String("message_id", d.message.ID), slog.Time("received", d.message.Received), slog.Duration("asked_for", o.after))
	}
}

// leave tells whether d, which is dropped, is left to the redrive policy.
func (w *Worker) leave(ctx context.Context, d *delivery) bool {
	count := d.message.ReceiveCount
	q := w.state.Load()
	last := q.lastReceive(count, d.queue)
	switch {
	case last:
		w.log.LogAttrs(ctx, slog.LevelInfo, "a dropped message is left to the dead-letter queue",
			slog.String("message_id", d.message.ID), slog.Int("receive_count", count))
	case q.beyond(count):
		w.log.LogAttrs(ctx, slog.LevelWarn, "a dropped message is deleted, since its queue does not move it to the dead-letter queue",
			slog.String("message_id", d.message.ID), slog.Int("receive_count", count), slog.Int("max_receive_count", q.maxReceives))
	}
	return last
}

// failed notes a settlement that did not come about. The message comes back when
// its lease ends.
func (w *Worker) failed(ctx context.Context, d *delivery, o Outcome, err error) {
	w.metrics.failed.Inc()
	w.log.LogAttrs(ctx, slog.LevelWarn, "a message could not be settled", slog.String("message_id", d.message.ID),
		slog.String("outcome", o.String()), slog.Any("error", err))
}

// repeat makes a call until it succeeds or is refused, or was tried often enough
// and the time is over.
func (w *Worker) repeat(ctx context.Context, until time.Time, call func() error) error {
	var pause backoff
	for try := 1; ; try++ {
		err := call()
		if err == nil || final(err) || try >= attempts && !time.Now().Before(until) || pause.wait(ctx) != nil {
			return err
		}
	}
}

// breakGroup gives back what is behind d in its group.
func (w *Worker) breakGroup(ctx context.Context, d *delivery) {
	w.mu.Lock()
	followers := w.followersLocked(d)
	w.mu.Unlock()
	w.giveBack(ctx, followers)
}

// giveBack makes messages visible that no handler has seen. One that cannot be
// given back comes by itself when its lease ends.
func (w *Worker) giveBack(ctx context.Context, list []*delivery) {
	var calls sync.WaitGroup
	for _, d := range list {
		calls.Go(func() {
			w.release(d)
			w.metrics.givenBack.Inc()
			if err := w.repeat(ctx, time.Time{}, func() error { return w.visible.do(ctx, d.handle, 0) }); err != nil {
				w.log.LogAttrs(ctx, slog.LevelWarn, "a message could not be given back",
					slog.String("message_id", d.message.ID), slog.Any("error", err))
			}
		})
	}
	calls.Wait()
}
