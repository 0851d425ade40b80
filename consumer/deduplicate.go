package consumer

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"sync"
	"time"

	"sqsgate/consumer/lease"
	"sqsgate/internal/logread"
)

// deduplicationCapacity bounds the ids a queue remembers for its sends: 5 minutes
// of 3,300 sends a second, over all partitions.
const deduplicationCapacity = 1_000_000

// DeduplicationID is the id of one FIFO send and its group.
type DeduplicationID struct {
	ID    string
	Group string
}

// deduplicator is the deduplication window of one FIFO queue, for sends. It holds
// what the log says of the last five minutes, and the sends under way.
type deduplicator struct {
	mu       sync.Mutex
	index    *lease.Index
	underWay map[lease.Hash]chan struct{} // closed when the send is settled
	purged   int64                        // time of the last purge, ms
	capacity int
}

func newDeduplicator(capacity int) *deduplicator {
	return &deduplicator{
		capacity: capacity,
		index:    lease.NewIndex(deduplicationWindow.Milliseconds(), capacity),
		underWay: make(map[lease.Hash]chan struct{}),
	}
}

// add notes a message of the log.
func (d *deduplicator) add(key lease.Hash, at, partition, offset int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, _, known := d.index.Lookup(key, at); !known {
		d.index.Add(key, at, partition, offset)
	}
}

func (d *deduplicator) purge() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.index.Clear()
	d.purged = time.Now().UnixMilli()
}

// purgedBefore notes a purge of an earlier owner, at ms at the latest.
func (d *deduplicator) purgedBefore(at int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.purged = max(d.purged, at)
}

// deduplicationKey is what equals for duplicates: the id, with the group where
// the scope is the group. The zero Hash means that there is no id.
func (q *Queue) deduplicationKey(id DeduplicationID) lease.Hash {
	if id.ID == "" {
		return lease.Hash{}
	}
	var stack [2*128 + binary.MaxVarintLen64]byte // as long as AWS allows both to be
	b := append(binary.AppendUvarint(stack[:0], uint64(len(id.ID))), id.ID...)
	if q.settings.Load().DeduplicationPerGroup {
		b = append(b, id.Group...)
	}
	return md5.Sum(b)
}

// PrivateDeduplication tells whether messages must hide their deduplication id
// from the server's own deduplication, which knows ids alone: the scope is the
// group, or the queue was purged within the window.
func (q *Queue) PrivateDeduplication() bool {
	if q.settings.Load().DeduplicationPerGroup {
		return true
	}
	q.dedup.mu.Lock()
	defer q.dedup.mu.Unlock()
	return time.Now().UnixMilli()-q.dedup.purged < 2*deduplicationWindow.Milliseconds()
}

// Claim asks the deduplication window of a FIFO queue for each id (with its
// group); the ids of one call differ. It waits for earlier sends of the same id
// that are under way. Every claim that is not a duplicate must be settled. On error
// nothing is claimed: ErrQueueGone, ErrUnavailable, or ErrThrottled when the window
// is full, so that no id is ever forgotten.
func (q *Queue) Claim(ctx context.Context, ids []DeduplicationID) ([]Claim, error) {
	if _, err := q.ready(ctx); err != nil {
		return nil, err
	}
	claims := make([]Claim, len(ids))
	for i, id := range ids {
		claim, err := q.claim(ctx, q.deduplicationKey(id))
		if err != nil {
			q.release(claims[:i])
			return nil, err
		}
		claims[i] = claim
	}
	return claims, nil
}

// release ends claims whose messages were not sent.
func (q *Queue) release(claims []Claim) {
	written := make([]Written, len(claims))
	for i := range written {
		written[i].Err = ErrUnavailable
	}
	q.Settle(claims, written)
}

func (q *Queue) claim(ctx context.Context, key lease.Hash) (Claim, error) {
	for {
		claim, other, err := q.dedup.begin(key, time.Now().UnixMilli())
		if other == nil {
			return claim, err
		}
		select {
		case <-other:
		case <-ctx.Done():
			return Claim{}, ErrUnavailable
		}
	}
}

// begin claims an id for a send. While another send of the id is under way it
// claims nothing and returns what is closed when that one is settled.
func (d *deduplicator) begin(key lease.Hash, now int64) (claim Claim, other <-chan struct{}, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if partition, offset, known := d.index.Lookup(key, now); known {
		return Claim{Duplicate: true, Partition: partition, Offset: offset}, nil, nil
	}
	if other := d.underWay[key]; other != nil {
		return Claim{}, other, nil
	}
	if d.full() {
		if d.index.Purge(now); d.full() {
			return Claim{}, nil, ErrThrottled
		}
	}
	d.underWay[key] = make(chan struct{})
	return Claim{key: key}, nil, nil
}

// full tells whether the window could not take the ids under way. d.mu is held.
func (d *deduplicator) full() bool { return d.index.Len()+len(d.underWay) >= d.capacity }

// Settle ends claims: written[i] says what became of claims[i]; duplicates are
// skipped. A message that may not be stored stays unknown: when it is in the log
// after all, the shard notes it as it loads it.
func (q *Queue) Settle(claims []Claim, written []Written) {
	d := q.dedup
	now := time.Now().UnixMilli()
	d.mu.Lock()
	for i, c := range claims {
		if c.Duplicate {
			continue
		}
		if w := written[i]; w.Err == nil && w.Offset >= 0 {
			d.index.Add(c.key, now, w.Partition, w.Offset)
		}
		if done := d.underWay[c.key]; done != nil {
			close(done)
			delete(d.underWay, c.key)
		}
	}
	d.mu.Unlock()
	for i, c := range claims {
		if w := written[i]; !c.Duplicate && w.Err == nil && w.Offset >= 0 {
			q.wrote(w.Partition, w.Offset)
		}
	}
}

// loadDeduplication reads what the log says of the last five minutes, and of the
// five minutes before the first message to be loaded.
func (t *tenure) loadDeduplication(ctx context.Context) error {
	partitions, err := t.s.q.describe(ctx)
	if err != nil {
		return err
	}
	end, cursor := partitions[t.s.partition].end, t.machine.Cursor()
	window := deduplicationWindow.Milliseconds()
	recent := t.now() - window
	since := recent
	first, waiting := int64(0), false // when the first message to be loaded was written
	if cursor < end {
		m, ok, err := t.source.at(ctx, cursor)
		if err != nil {
			return err
		}
		first, waiting = m.WriteTime, ok
	}
	before := since
	if waiting {
		before = min(since, first-window)
	}
	purged := t.machine.PurgeMark() // a purge forgets the ids
	if err := t.notePurge(ctx, purged, end); err != nil {
		return err
	}
	if err := t.loadElders(ctx, partitions, before); err != nil || end == 0 {
		return err
	}
	note := func(m *logread.Message) {
		key := t.deduplicationKey(m)
		if key == (lease.Hash{}) || m.Offset < purged {
			return
		}
		if m.Offset < cursor && !t.machine.Seen(key, m.WriteTime, m.Offset) {
			return
		}
		if m.WriteTime > recent {
			t.s.q.dedup.add(key, m.WriteTime, t.s.partition, m.Offset)
		}
	}
	switch {
	case waiting && first < since && cursor > 0:
		// What lies between, all that waits, would tell nothing.
		if err := t.source.since(ctx, millis(before), cursor, note); err != nil {
			return err
		}
	case waiting && first >= since:
		since = before
	}
	return t.source.since(ctx, millis(since), end, note)
}

// notePurge finds out how long ago the partition or one before it was purged, at
// least: the server may still know the ids.
func (t *tenure) notePurge(ctx context.Context, mark, end int64) error {
	for _, e := range t.machine.Elders() {
		if e.Purged > 0 {
			t.s.q.dedup.purgedBefore(t.now())
		}
	}
	if mark == 0 {
		return nil
	}
	at := t.now()
	if mark < end {
		m, ok, err := t.source.at(ctx, mark)
		if err != nil {
			return err
		}
		if ok {
			at = min(at, m.WriteTime)
		}
	}
	t.s.q.dedup.purgedBefore(at)
	return nil
}
