package topicd

import (
	"context"
	"sync"
)

// gate bounds bytes in flight. It lets an acquirer in while less than max is
// taken, so one message larger than max still passes.
type gate struct {
	max int64

	mu    sync.Mutex
	taken int64
	wait  chan struct{} // closed when there is room; nil while nobody waits
}

func newGate(maxBytes int64) *gate { return &gate{max: maxBytes} }

func (g *gate) acquire(ctx context.Context, stop <-chan struct{}, n int64) error {
	for {
		g.mu.Lock()
		if g.taken < g.max {
			g.taken += n
			g.mu.Unlock()
			return nil
		}
		if g.wait == nil {
			g.wait = make(chan struct{})
		}
		wait := g.wait
		g.mu.Unlock()
		select {
		case <-wait:
		case <-stop:
			return context.Canceled
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (g *gate) release(n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taken -= n
	if g.wait != nil && g.taken < g.max {
		close(g.wait)
		g.wait = nil
	}
}
