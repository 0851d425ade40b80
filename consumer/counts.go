package consumer

import (
	"context"

	"sqsgate/consumer/lease"
)

// countCall asks a shard for its counts.
type countCall struct {
	counts lease.Counts
	cursor int64
	ok     bool
	done   chan struct{}
}

func (t *tenure) count(c *countCall) {
	c.counts, c.cursor, c.ok = t.machine.Counts(), t.machine.Cursor(), true
	close(c.done)
}

// Counts tells the numbers of messages, with those that are not loaded yet. What
// this process saw acknowledged is counted. The errors are ErrQueueGone and
// ErrUnavailable.
func (q *Queue) Counts(ctx context.Context) (Counts, error) {
	shards, err := q.ready(ctx)
	if err != nil {
		return Counts{}, err
	}
	awaitLoad(ctx, shards)
	calls := make([]*countCall, len(shards))
	for i, s := range shards {
		calls[i] = &countCall{done: make(chan struct{})}
		if !s.post(event{kind: eventCounts, counts: calls[i]}) {
			return Counts{}, ErrUnavailable
		}
	}
	partitions, err := q.describe(ctx)
	if err != nil {
		return Counts{}, ErrUnavailable
	}
	var sum Counts
	for i, c := range calls {
		select {
		case <-c.done:
		case <-ctx.Done():
			return Counts{}, ErrUnavailable
		}
		if !c.ok {
			return Counts{}, ErrUnavailable
		}
		waiting := max(0, partitions[shards[i].partition].end-c.cursor)
		sum.Visible += int64(c.counts.Visible) + waiting
		sum.InFlight += int64(c.counts.InFlight)
		sum.Delayed += int64(c.counts.Delayed)
	}
	return sum, nil
}

// Purge removes every message written before the call. The errors are
// ErrQueueGone and ErrUnavailable; after an error some partitions may be purged.
func (q *Queue) Purge(ctx context.Context) error {
	shards, err := q.ready(ctx)
	if err != nil {
		return err
	}
	partitions, err := q.describe(ctx)
	if err != nil || !served(partitions, shards) {
		return ErrUnavailable
	}
	q.dedup.purge()
	calls := make([]*call, len(shards))
	for i, s := range shards {
		calls[i] = newCall(lease.Input{Kind: lease.Purge, Upto: partitions[s.partition].end})
		if !s.post(event{kind: eventCall, call: calls[i]}) {
			return ErrUnavailable
		}
	}
	for _, c := range calls {
		if err := c.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// served tells whether every partition that holds messages has its shard.
func served(partitions topology, shards []*shard) bool {
	have := make(map[int64]bool, len(shards))
	for _, s := range shards {
		have[s.partition] = true
	}
	for id, p := range partitions {
		if !have[id] && p.committed < p.end {
			return false
		}
	}
	return true
}
