package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// deadlineShare is the part of the timeout for which requests share a context.
const deadlineShare = 64

// deadlines hands out contexts that end at most timeout from now, and at least
// 63/64 of that. Requests that come at about the same time share one: a context
// with a timer for each of them is a tenth of all a small request allocates.
//
// They do not end when a client leaves. Who sends or deletes a message has its
// outcome settled all the same, and a receive looks whether its client is there
// before it answers.
type deadlines struct {
	timeout time.Duration
	current atomic.Pointer[deadline]
	mu      sync.Mutex // of who makes the next one
}

// deadline is one context and the time from which on it is too old to be shared.
type deadline struct {
	done   context.Context
	cancel context.CancelFunc // never called: who has the context may use it to its end
	stale  time.Time
}

// context returns a context for work that begins now.
func (d *deadlines) context() context.Context {
	now := time.Now()
	if c := d.current.Load(); c != nil && now.Before(c.stale) {
		return c.done
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.current.Load(); c != nil && now.Before(c.stale) {
		return c.done
	}
	next := &deadline{stale: now.Add(d.timeout / deadlineShare)}
	next.done, next.cancel = context.WithDeadline(context.Background(), now.Add(d.timeout))
	d.current.Store(next)
	return next.done
}
