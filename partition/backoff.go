package partition

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	backoffFirst = 10 * time.Millisecond
	backoffLast  = time.Second
)

// backoff is the pause between tries; it doubles from backoffFirst to
// backoffLast. The zero value is ready.
type backoff struct{ next time.Duration }

func (b *backoff) reset() { b.next = 0 }

// pause waits between half of and the whole pause, or until ctx or stop ends.
func (b *backoff) pause(ctx context.Context, stop <-chan struct{}) {
	b.next = min(max(2*b.next, backoffFirst), backoffLast)
	timer := time.NewTimer(b.next/2 + rand.N(b.next/2))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-stop:
	}
}
