package consumer

import (
	"context"

	"sqsgate/consumer/lease"
)

// look is a question to a shard, asked between two steps.
type look struct {
	ask  func(*tenure)
	ok   bool          // it was asked
	done chan struct{} // closed behind ask, or when no tenure is there to be asked
}

func (t *tenure) look(l *look) {
	l.ask(t)
	l.ok = true
	close(l.done)
}

// look posts a question; false when the shard has ended.
func (s *shard) look(ask func(*tenure)) (*look, bool) {
	l := &look{ask: ask, done: make(chan struct{})}
	return l, s.post(event{kind: eventLook, look: l})
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
	type found struct {
		counts lease.Counts
		cursor int64
	}
	answers := make([]found, len(shards))
	looks := make([]*look, len(shards))
	for i, s := range shards {
		var posted bool
		looks[i], posted = s.look(func(t *tenure) { answers[i] = found{t.machine.Counts(), t.machine.Cursor()} })
		if !posted {
			return Counts{}, ErrUnavailable
		}
	}
	partitions, err := q.describe(ctx)
	if err != nil {
		return Counts{}, ErrUnavailable
	}
	var sum Counts
	for i, l := range looks {
		select {
		case <-l.done:
		case <-ctx.Done():
			return Counts{}, ErrUnavailable
		}
		if !l.ok {
			return Counts{}, ErrUnavailable
		}
		c := &answers[i]
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
