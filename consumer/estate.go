package consumer

import (
	"context"
	"errors"
	"fmt"

	"sqsgate/consumer/journal"
	"sqsgate/consumer/lease"
	"sqsgate/internal/logread"
)

// A FIFO partition that came from a split inherits what its ancestors know of
// their deduplication ids, beside what their logs tell: how far they were purged,
// and which of their messages were duplicates. It asks when its first tenure
// begins, and has it in its own journal before anything else. While the parent is
// not finished the child is served where the parent is, once all of that is loaded;
// of one that is finished the journal knows everything, and is kept until
// every child has its own. So what a partition takes for a duplicate does not depend
// on who reads it, or when.

// heir is a child that asks what it inherits.
type heir struct {
	estate []lease.Elder
	known  bool
	done   chan struct{} // closed with the answer; unknown when the tenure ended
}

// inherit tells the machine of a partition's first tenure about its ancestors, and
// that of a later one about their purges.
func (t *tenure) inherit(ctx context.Context) error {
	q := t.s.q
	if !q.spec.FIFO {
		return nil
	}
	if t.machine.Inherited() {
		return t.hearPurges(ctx)
	}
	estate, err := q.estates(ctx, t.s.partition)
	if err != nil || len(estate) == 0 {
		return err
	}
	for i := range estate {
		e := &estate[i]
		end := q.end(e.Partition)
		if end == 0 {
			continue
		}
		m, ok, err := q.source(e.Partition).at(ctx, end-1)
		if err != nil {
			return fmt.Errorf("reading the last message of partition %d: %w", e.Partition, err)
		}
		if ok {
			e.Last = m.WriteTime
		}
	}
	t.input(t.now(), lease.Input{Kind: lease.Inherit, Elders: estate})
	return nil
}

// hearPurges tells the machine of purges of its elders that an earlier tenure was
// told of and could not journal any more.
func (t *tenure) hearPurges(ctx context.Context) error {
	q, now := t.s.q, t.now()
	waiting := t.machine.Cursor() < q.end(t.s.partition)
	for _, e := range t.machine.Elders() {
		if !waiting && e.Last+deduplicationWindow.Milliseconds() <= now {
			continue // its ids matter to nothing that is still to come
		}
		upto, err := q.purgeMark(ctx, e.Partition)
		if err != nil {
			return err
		}
		t.input(now, lease.Input{Kind: lease.Forget, Partition: e.Partition, Upto: upto})
	}
	return nil
}

// purgeMark tells up to where a partition is purged, as far as that can be known. It
// waits for a shard that is being opened.
func (q *Queue) purgeMark(ctx context.Context, partition int64) (int64, error) {
	for {
		q.mu.Lock()
		upto, known := q.purged[partition]
		finished, sh, changed := q.partitions[partition].finished(), q.shards[partition], q.changed
		q.mu.Unlock()
		switch {
		case known:
			return upto, nil
		case finished:
			m, err := q.look(ctx, partition)
			if errors.Is(err, journal.ErrDamaged) {
				return 0, nil // its beginning may have been trimmed
			}
			if err != nil {
				return 0, err
			}
			return m.PurgeMark(), nil
		case sh == nil, errors.Is(sh.broken(), journal.ErrDamaged):
			return 0, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// notePurge remembers up to where a partition is durably purged.
func (q *Queue) notePurge(partition, upto int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.purged[partition] = max(q.purged[partition], upto)
	q.notify()
}

// look makes the machine of a partition from its journal, for looking at.
func (q *Queue) look(ctx context.Context, partition int64) (*lease.Machine, error) {
	replay, _, err := journal.Look(ctx, q.c.opts.Topics, q.journalTopic, partition%q.journalPartitions, q.journalKey(partition))
	if err != nil {
		return nil, err
	}
	m := lease.New(q.config())
	return m, replayInto(m, replay)
}

// estates is what a partition inherits of all its ancestors.
func (q *Queue) estates(ctx context.Context, partition int64) ([]lease.Elder, error) {
	q.mu.Lock()
	var parents []int64
	for _, p := range q.partitions[partition].parents {
		if _, known := q.partitions[p]; known {
			parents = append(parents, p)
		}
	}
	q.mu.Unlock()
	var all []lease.Elder
	for _, p := range parents {
		estate, err := q.estate(ctx, p)
		if err != nil {
			return nil, err
		}
		all = append(all, estate...)
	}
	return all, nil
}

// estate is what the children of a partition inherit: from its shard, or from its
// journal when nobody can change that any more.
func (q *Queue) estate(ctx context.Context, partition int64) ([]lease.Elder, error) {
	q.mu.Lock()
	placed, sh := q.partitions[partition], q.shards[partition]
	q.mu.Unlock()
	if sh != nil && !placed.finished() {
		return sh.estate(ctx)
	}
	m, err := q.look(ctx, partition)
	if err != nil {
		return nil, err
	}
	var estate []lease.Elder
	if !m.Inherited() { // it had no messages, and nobody served it
		if estate, err = q.estates(ctx, partition); err != nil {
			return nil, err
		}
	}
	return append(estate, m.Estate(partition)...), nil
}

// estate asks the shard what its children inherit. It waits until everything is
// loaded.
func (s *shard) estate(ctx context.Context) ([]lease.Elder, error) {
	h := &heir{done: make(chan struct{})}
	if !s.post(event{kind: eventHeirAsks, heir: h}) {
		return nil, ErrUnavailable
	}
	select {
	case <-h.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !h.known {
		return nil, fmt.Errorf("%w: the parent partition %d is not served", ErrUnavailable, s.partition)
	}
	return h.estate, nil
}

// answerHeir tells a child what it inherits, when that is durable and complete.
func (t *tenure) answerHeir(h *heir) {
	if !t.ended {
		t.heirs = append(t.heirs, h)
		return
	}
	h.estate = t.machine.Estate(t.s.partition)
	t.pending.heirs = append(t.pending.heirs, h)
}

// tellPurge tells the descendants of a purge that is durable. Those that have not
// inherited yet will learn of it then, and those whose tenure ends, with the next.
func (t *tenure) tellPurge(upto int64) {
	if !t.s.q.spec.FIFO {
		return
	}
	t.s.q.notePurge(t.s.partition, upto)
	for _, child := range t.s.q.descendants(t.s.partition) {
		child.post(event{kind: eventElderPurged, elder: t.s.partition, offset: upto})
	}
}

// loadElders notes the deduplication ids of the ancestors' messages that were
// written at or after since, ms. They are read from the log, whoever served them.
func (t *tenure) loadElders(ctx context.Context, partitions topology, since int64) error {
	q := t.s.q
	recent := t.now() - deduplicationWindow.Milliseconds()
	for _, e := range t.machine.Elders() {
		end := partitions[e.Partition].end
		if end == 0 || e.Last < since || e.Purged >= end {
			continue
		}
		err := q.source(e.Partition).since(ctx, millis(since), end, func(m *logread.Message) {
			key := t.deduplicationKey(m)
			if t.machine.SeenElder(e.Partition, key, m.WriteTime, m.Offset) && m.WriteTime > recent {
				q.dedup.add(key, m.WriteTime, e.Partition, m.Offset)
			}
		})
		if err != nil {
			return fmt.Errorf("reading deduplication ids of partition %d: %w", e.Partition, err)
		}
	}
	return nil
}
