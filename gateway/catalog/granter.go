package catalog

import (
	"context"
	"sync/atomic"

	"sqsgate/internal/logread"
)

// granter gives the server the credit back that messages have used. It sends from
// a goroutine of its own, because the tail must never wait in a send: a server
// that is itself in a send, of the reason why it ends the session, would wait for
// the tail to receive it.
type granter struct {
	spent atomic.Int64
	wake  chan struct{}
	done  chan struct{}
}

// newGranter starts the goroutine. It ends with ctx; wait joins it.
func newGranter(ctx context.Context, reader *logread.Reader) *granter {
	g := &granter{wake: make(chan struct{}, 1), done: make(chan struct{})}
	go g.run(ctx, reader)
	return g
}

func (g *granter) run(ctx context.Context, reader *logread.Reader) {
	defer close(g.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.wake:
		}
		bytes := g.spent.Swap(0)
		if bytes == 0 {
			continue // granted together with an earlier message
		}
		if reader.Grant(bytes) != nil {
			return // the session has ended; the tail gets the reason from Read
		}
	}
}

func (g *granter) add(cost int64) {
	g.spent.Add(cost)
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *granter) wait() { <-g.done }
