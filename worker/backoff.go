package worker

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 10 * time.Second
)

// backoff makes pauses that double, up to 10 s, with a random part so that many
// Workers do not come back together. The zero backoff starts at 100 ms.
type backoff struct{ next time.Duration }

// wait pauses, or returns the error of ctx.
func (b *backoff) wait(ctx context.Context) error {
	if b.next == 0 {
		b.next = firstPause
	}
	pause := b.next/2 + rand.N(b.next/2)
	b.next = min(2*b.next, maxPause)
	return sleep(ctx, pause)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
