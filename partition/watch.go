package partition

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/internal/ydbstatus"
)

const describeTimeout = 10 * time.Second

// description is one describe call that several callers may wait for.
type description struct {
	done   chan struct{}
	cancel context.CancelFunc
	m      *Map
	err    error
}

// fetch returns the map, describing the topic until that works or ctx ends.
func (t *topic) fetch(ctx context.Context) (*Map, error) {
	t.used.Store(time.Now().UnixNano())
	t.mu.RLock()
	m, dead := t.current, t.dead
	t.mu.RUnlock()
	if dead != nil {
		return nil, dead
	}
	if m != nil {
		return m, nil
	}
	var b backoff
	for {
		m, err := t.refresh(ctx, nil)
		if err == nil || errors.Is(err, errEvicted) || errors.Is(err, ErrTopicGone) {
			return m, err
		}
		if ctx.Err() != nil || t.pool.aborted() {
			return nil, fmt.Errorf("describing %s: %w", t.path, ErrUnavailable)
		}
		if kind := classify(err); kind == failureBad || kind == failureFatal {
			return nil, err
		}
		b.pause(ctx, t.pool.abort)
	}
}

// renew has a map that has aged fetched again, without waiting for it. Splits
// are noticed by writing; partitions added by hand only this way.
func (t *topic) renew(seen *Map) {
	t.mu.RLock()
	old := time.Since(t.fetched) > t.pool.opts.MapAge && t.pending == nil && t.current == seen
	t.mu.RUnlock()
	if old {
		_, _, _ = t.describe(seen) // the outcome shows in the map
	}
}

// refresh returns a map other than seen, describing the topic once if needed.
// It may return an equal map when nothing has changed.
func (t *topic) refresh(ctx context.Context, seen *Map) (*Map, error) {
	d, m, err := t.describe(seen)
	if d == nil {
		return m, err
	}
	select {
	case <-d.done:
		return d.m, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// describe starts a describe call or joins the one under way. It returns the
// known map instead when that is not the one seen.
func (t *topic) describe(seen *Map) (*description, *Map, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.dead != nil:
		return nil, nil, t.dead
	case t.current != seen:
		return nil, t.current, nil
	case t.pending != nil:
		return t.pending, nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), describeTimeout)
	d := &description{done: make(chan struct{}), cancel: cancel}
	t.pending = d
	t.pool.wg.Add(1)
	go t.runDescribe(ctx, d)
	return d, nil, nil
}

func (t *topic) runDescribe(ctx context.Context, d *description) {
	defer t.pool.wg.Done()
	defer d.cancel()
	if t.pool.aborted() {
		d.cancel()
	}
	m, ends, err := t.ask(ctx)
	gone := err != nil && classify(err) == failureGone
	if gone {
		err = fmt.Errorf("%w: %w", ErrTopicGone, err)
		t.end(err)
	}
	t.mu.Lock()
	if t.dead == nil && err == nil {
		t.ends = ends
		t.install(m)
	}
	if t.dead != nil {
		m, err = nil, t.dead
	}
	t.pending = nil
	t.mu.Unlock()
	if err != nil && !gone {
		t.pool.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "describe failed",
			slog.String("topic", t.path), slog.Any("error", err))
	}
	d.m, d.err = m, err
	close(d.done)
}

// ask describes the topic, with the end offset of each partition.
func (t *topic) ask(ctx context.Context) (*Map, map[int64]int64, error) {
	response, err := t.pool.topics.DescribeTopic(ctx, &Ydb_Topic.DescribeTopicRequest{Path: t.path, IncludeStats: true})
	result := &Ydb_Topic.DescribeTopicResult{}
	if err := ydbstatus.Operation(response.GetOperation(), err, result); err != nil {
		return nil, nil, fmt.Errorf("describing %s: %w", t.path, err)
	}
	ends := make(map[int64]int64, len(result.GetPartitions()))
	infos := make([]Info, 0, len(result.GetPartitions()))
	for _, p := range result.GetPartitions() {
		ends[p.GetPartitionId()] = p.GetPartitionStats().GetPartitionOffsets().GetEnd()
		infos = append(infos, Info{
			ID:       p.GetPartitionId(),
			Active:   p.GetActive(),
			From:     p.GetKeyRange().GetFromBound(),
			To:       p.GetKeyRange().GetToBound(),
			Parents:  p.GetParentPartitionIds(),
			Children: p.GetChildPartitionIds(),
		})
	}
	m, err := NewMap(infos)
	if err != nil {
		return nil, nil, fmt.Errorf("describing %s: %w", t.path, err)
	}
	return m, ends, nil
}

// install makes m the map and retires the writers of partitions that are not
// active in it. The caller holds mu.
func (t *topic) install(m *Map) {
	t.current, t.fetched = m, time.Now()
	for id, w := range t.writers {
		info, known := m.Info(id)
		if known && info.Active {
			continue
		}
		delete(t.writers, id)
		t.retire(w, known)
	}
}
