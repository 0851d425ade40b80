package partition

import (
	"context"
	"time"
)

// throttle takes a token of its partition for every message. It waits for the
// tokens that come within ThrottleWait; messages whose token comes later get
// ErrThrottled, and so do all later ones of the same partition and call, which
// keeps the order of a group.
func (t *topic) throttle(ctx context.Context, c *call) {
	now := time.Now()
	limit := max(t.pool.opts.ThrottleWait, 0)
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(min(limit, deadline.Sub(now)), 0)
	}
	var wait time.Duration
	for i := range c.items {
		w := t.limited(&c.items[i])
		if w == nil {
			continue // placing it will say why
		}
		r := w.limiter.ReserveN(now, 1)
		delay := r.DelayFrom(now)
		if delay > limit {
			r.CancelAt(now)
			c.items[i].finish(Result{Err: ErrThrottled})
			continue
		}
		wait = max(wait, delay)
	}
	if wait == 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// limited returns the writer whose rate a message counts against.
func (t *topic) limited(item *pending) *writer {
	for range 2 {
		t.mu.RLock()
		if t.dead != nil {
			t.mu.RUnlock()
			return nil
		}
		var w *writer
		var id int64
		if item.grouped {
			w, _, id = t.route(item.key)
		} else {
			id = t.current.Active()[0]
			w = t.writers[id]
		}
		t.mu.RUnlock()
		if w != nil {
			return w
		}
		t.open(id)
	}
	return nil
}
