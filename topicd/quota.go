package topicd

import (
	"context"
	"sync"
	"time"
)

// quota is the write quota of a partition: a bucket of bytes that fills at the
// write speed up to the burst. A request passes while anything is left and may
// overdraw, so that one larger than the burst passes too; the next ones wait.
type quota struct {
	mu    sync.Mutex
	level float64 // bytes; below 0 = overdrawn
	at    time.Time
}

// take takes n bytes and returns how long their write must wait.
func (q *quota) take(now time.Time, n, speed, burst int64) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.at.IsZero() {
		q.level = float64(burst)
	} else {
		q.level = min(float64(burst), q.level+now.Sub(q.at).Seconds()*float64(speed))
	}
	q.at = now
	var wait time.Duration
	if q.level < 0 {
		wait = time.Duration(-q.level / float64(speed) * float64(time.Second))
	}
	q.level -= float64(n)
	return wait
}

// throttle holds a request of n bytes until the partition's quota lets it
// pass, and returns how long that took.
func (s *writeSession) throttle(ctx context.Context, n int64) (time.Duration, error) {
	if !s.topic.srv.opts.EnforceQuota {
		return 0, nil
	}
	cfg := s.topic.config.Load()
	wait := s.part.quota.take(time.Now(), n, cfg.WriteSpeed, cfg.WriteBurst)
	if wait <= 0 {
		return 0, nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return wait, nil
	case <-s.ending:
		return 0, context.Canceled
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
