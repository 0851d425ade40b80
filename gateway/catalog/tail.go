package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/codec"
	"sqsgate/internal/logread"
)

const (
	tailCredit    = 8 << 20 // bytes the server may send ahead
	locateTimeout = 5 * time.Second
)

var errRebase = errors.New("the log has been cut behind our position")

// tail folds the log until ctx ends.
func (c *Catalog) tail(ctx context.Context) {
	based := false // position lies where the retained log allows to begin
	for failures := 0; ; failures++ {
		caughtUp, err := c.follow(ctx, &based)
		if ctx.Err() != nil {
			c.setDown(ctx.Err())
			return
		}
		if caughtUp {
			failures = 0
		}
		c.setDown(err)
		c.metrics.reconnects.Inc()
		c.logger.LogAttrs(ctx, slog.LevelWarn, "catalogue log is not being followed",
			slog.Any("error", err), slog.Int("failures", failures))
		if !sleep(ctx, failures) {
			c.setDown(ctx.Err())
			return
		}
	}
}

// follow reads from the position on until something breaks.
func (c *Catalog) follow(ctx context.Context, based *bool) (caughtUp bool, err error) {
	if !*based {
		if err := c.locate(ctx); err != nil {
			return false, err
		}
	}
	position := c.at()
	reader, err := logread.Open(ctx, c.opts.Topics, logread.Request{Path: c.log, Offset: position, Credit: tailCredit})
	if err != nil {
		return false, err
	}
	defer reader.Close()
	start, end := reader.Bounds()
	if start > position {
		if *based {
			// Others have moved the snapshot on while this gateway was away.
			*based = false
			return false, errRebase
		}
		c.logger.LogAttrs(ctx, slog.LevelError, "the beginning of the catalogue log is missing",
			slog.Int64("wanted", position), slog.Int64("first", start))
		c.setPosition(start)
		position = start
	}
	*based = true
	for {
		if !caughtUp && position >= end {
			caughtUp = true
			c.setUp()
		}
		messages, cost, err := reader.Read()
		if err != nil {
			return caughtUp, fmt.Errorf("reading %s at %d: %w", c.log, position, err)
		}
		for i := range messages {
			c.fold(ctx, &messages[i])
			position = messages[i].Offset + 1
		}
		reader.Grant(cost)
	}
}

// locate makes sure that the log exists and sets the position to its snapshot.
func (c *Catalog) locate(ctx context.Context) error {
	// A limit, so that Ready can say what is wrong while the server is away.
	ctx, cancel := context.WithTimeout(ctx, locateTimeout)
	defer cancel()
	if err := c.ensureLog(ctx); err != nil {
		return err
	}
	offset, err := c.server.committed(ctx, c.log, logConsumer)
	if err != nil {
		return err
	}
	c.setPosition(offset)
	return nil
}

// fold applies one message of the log, tells OnChange, and answers its writer if
// that is this gateway.
func (c *Catalog) fold(ctx context.Context, m *logread.Message) {
	c.metrics.records.Inc()
	r, err := decodeRecord(m.Data)
	if m.Codec != codec.Raw && err == nil {
		err = fmt.Errorf("%w: codec %d", errUnknownRecord, m.Codec)
	}
	if err != nil {
		c.metrics.skipped.Inc()
		c.logger.LogAttrs(ctx, slog.LevelError, "catalogue record is skipped",
			slog.Int64("offset", m.Offset), slog.Any("error", err))
		c.setPosition(m.Offset + 1)
		return
	}
	c.mu.Lock()
	o, changes := c.state.apply(m.Offset, &r)
	c.position = m.Offset + 1
	c.behind++
	if r.Op == opSnapshot && o.verdict == applied {
		c.behind = 0
	}
	due := c.behind >= c.opts.SnapshotAfter
	queues := len(c.state.queues)
	c.mu.Unlock()

	c.metrics.queues.Set(float64(queues))
	if c.opts.OnChange != nil {
		for i := range changes {
			c.opts.OnChange(changes[i].queue, changes[i].deleted)
		}
	}
	if m.ProducerID == c.producer {
		c.appender.settle(m.SeqNo, o)
	}
	if due {
		c.askSnapshot()
	}
}

func (c *Catalog) askSnapshot() {
	select {
	case c.trySnap <- struct{}{}:
	default:
	}
}

func (c *Catalog) at() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.position
}

func (c *Catalog) setPosition(offset int64) {
	c.mu.Lock()
	c.position = offset
	c.mu.Unlock()
}

func (c *Catalog) setUp() {
	c.mu.Lock()
	c.down = nil
	c.mu.Unlock()
	c.metrics.ready.Set(1)
	select {
	case <-c.caughtUp:
	default:
		close(c.caughtUp)
	}
	c.askSnapshot()
}

func (c *Catalog) setDown(err error) {
	c.mu.Lock()
	c.down = fmt.Errorf("following the catalogue log: %w", err)
	c.mu.Unlock()
	c.metrics.ready.Set(0)
}

// ensureLog makes the log's topic and its consumer if they are missing. One
// partition for ever: order over all records is what makes it a catalogue. The
// consumer is important, so that nothing behind its offset is removed.
func (c *Catalog) ensureLog(ctx context.Context) error {
	important := &Ydb_Topic.Consumer{Name: logConsumer, Important: true}
	topic, err := c.server.describe(ctx, c.log)
	if err != nil {
		return err
	}
	if topic == nil {
		err := c.server.create(ctx, &Ydb_Topic.CreateTopicRequest{
			Path:                 c.log,
			PartitioningSettings: &Ydb_Topic.PartitioningSettings{MinActivePartitions: 1},
			Consumers:            []*Ydb_Topic.Consumer{important},
		})
		if err != nil {
			return err
		}
		if topic, err = c.server.describe(ctx, c.log); err != nil {
			return err
		}
	}
	if consumerOf(topic, logConsumer) != nil {
		return nil
	}
	return c.alterConsumers(ctx, c.log, important)
}
