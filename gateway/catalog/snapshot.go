package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

const (
	// maxSnapshotBytes bounds the one message that holds a snapshot.
	maxSnapshotBytes = 32 << 20
	snapshotTimeout  = 30 * time.Second
)

// snapshots writes a snapshot whenever the tail finds one due, until ctx ends.
func (c *Catalog) snapshots(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.trySnap:
		}
		if err := c.snapshot(ctx); err != nil && ctx.Err() == nil {
			c.logger.LogAttrs(ctx, slog.LevelWarn, "catalogue snapshot failed", slog.Any("error", err))
		}
	}
}

// snapshot appends the state and, if no other record came before it, moves the
// start of the log to it. One that comes too late is without effect; the next
// record asks for another.
func (c *Catalog) snapshot(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	c.mu.RLock()
	due := c.behind >= c.opts.SnapshotAfter && c.down == nil
	upto := c.position
	var r record
	if due {
		r = c.state.snapshot(upto)
	}
	c.mu.RUnlock()
	if !due {
		return nil
	}
	data, err := r.encode()
	if err != nil {
		return err
	}
	if len(data) > maxSnapshotBytes {
		c.mu.Lock()
		c.behind = 0 // look again after as many records
		c.mu.Unlock()
		return fmt.Errorf("%d bytes are too large for one record", len(data))
	}
	o, err := c.writeEncoded(ctx, data)
	if err != nil {
		return err
	}
	if o.verdict != applied {
		c.metrics.snapshots.WithLabelValues("outdated").Inc()
		return nil
	}
	c.metrics.snapshots.WithLabelValues("kept").Inc()
	return c.server.commit(ctx, c.log, logConsumer, upto)
}
