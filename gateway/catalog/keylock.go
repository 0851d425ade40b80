package catalog

import (
	"context"
	"sync"
)

// keyLock is a mutex per queue name. It only spares work: many callers that miss
// the same name ask the server once. Who wins is decided by the log.
type keyLock struct {
	mu   sync.Mutex
	held map[string]*keyHolder
}

type keyHolder struct {
	token chan struct{}
	users int
}

// lock returns the function that unlocks, or the error of ctx.
func (l *keyLock) lock(ctx context.Context, key string) (func(), error) {
	l.mu.Lock()
	h := l.held[key]
	if h == nil {
		h = &keyHolder{token: make(chan struct{}, 1)}
		l.held[key] = h
	}
	h.users++
	l.mu.Unlock()
	select {
	case h.token <- struct{}{}:
		return func() { <-h.token; l.leave(key, h) }, nil
	case <-ctx.Done():
		l.leave(key, h)
		return nil, ctx.Err()
	}
}

func (l *keyLock) leave(key string, h *keyHolder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.users--; h.users == 0 {
		delete(l.held, key)
	}
}
