package consumer

import (
	"context"
	"sync"
	"time"

	"sqsgate/consumer/journal"
)

const (
	snapshotRecords  = 256
	snapshotBytes    = 1 << 20
	snapshotInterval = 5 * time.Minute
	// recordBytes and opBytes are what a record and an op take, about.
	recordBytes = 64
	opBytes     = 8
	// maxLag is how many records of others may follow the snapshot of a partition
	// before it gets another, though nothing has changed: as long as the old one is
	// needed, nothing behind it is trimmed.
	maxLag = 1024
)

// snapshotPolicy says when a shard's journal gets a snapshot: after 256 records,
// if they take as much as the last snapshot, so that a large one is not written
// for every few changes; after as many bytes as make replay slow; when the last one
// is old; and at the end. Times are ms since the epoch.
type snapshotPolicy struct {
	records int
	bytes   int64
	last    int64 // size of the last snapshot, bytes
	at      int64 // when it was taken
	forced  bool
	lags    bool
}

func (p *snapshotPolicy) begin(replay journal.Replay, now int64) {
	p.records, p.bytes, p.last, p.at = replay.Records, replay.Bytes, int64(len(replay.Snapshot)), now
}

func (p *snapshotPolicy) force() { p.forced = true }

// lag notes that so many records of others follow the last snapshot. A large one is
// not written again for a few of them.
func (p *snapshotPolicy) lag(records int64) {
	p.lags = p.lags || records > maxLag && records*recordBytes >= p.last
}

// take notes that a record with so many ops is about to be appended (none for
// 0) and tells whether a snapshot belongs behind it.
func (p *snapshotPolicy) take(now int64, ops int) bool {
	if ops > 0 {
		p.records++
		p.bytes += recordBytes + opBytes*int64(ops)
	}
	if p.lags {
		return true
	}
	if p.records == 0 {
		return false // nothing changed since the last one
	}
	return p.forced || p.records >= snapshotRecords && p.bytes >= p.last ||
		p.bytes >= max(snapshotBytes, 4*p.last) || now-p.at >= snapshotInterval.Milliseconds()
}

func (p *snapshotPolicy) taken(size, now int64) {
	*p = snapshotPolicy{last: size, at: now}
}

// due tells when a snapshot will be due because of its age.
func (p *snapshotPolicy) due() (int64, bool) {
	return p.at + snapshotInterval.Milliseconds(), p.records > 0
}

// commitProgress follows how far a partition is finished: in the append under
// way, durably, and as told to the server.
type commitProgress struct {
	session               int64 // partition session that sent counts in
	sealed, durable, sent int64
	since                 int64 // when durable went ahead of sent, ms
}

func (c *commitProgress) acked(now int64) {
	if c.durable <= c.sent {
		c.since = now
	}
	c.durable = max(c.durable, c.sealed)
}

func (c *commitProgress) due() (int64, bool) {
	return c.since + commitDelay.Milliseconds(), c.durable > c.sent && c.session != noSession
}

// take returns the range to commit now, if any.
func (c *commitProgress) take(now int64, force bool) (from, to int64, ok bool) {
	at, behind := c.due()
	if !behind || !force && now < at && c.durable-c.sent < commitBatch {
		return 0, 0, false
	}
	from, to = c.sent, c.durable
	c.sent = to
	return from, to, true
}

// trims knows, for each data partition, where in its journal partition the
// records begin that it still needs.
type trims struct {
	mu     sync.Mutex
	needed map[int64]int64 // -1 = not known yet
	sent   map[int64]int64 // by journal partition
}

func newTrims() *trims {
	return &trims{needed: make(map[int64]int64), sent: make(map[int64]int64)}
}

// expect names the partitions of the topic: nothing is trimmed before all of
// them are known.
func (t *trims) expect(partitions topology) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, placed := range partitions {
		if _, ok := t.needed[p]; !ok && !placed.finished() {
			t.needed[p] = -1
		}
	}
}

// begin names a partition that is about to be served, which a finished one may be,
// too.
func (t *trims) begin(partition int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.needed[partition]; !ok {
		t.needed[partition] = -1
	}
}

// forget says that a partition is finished, and served no more: nobody needs its
// journal but children, which have places of their own here.
func (t *trims) forget(partition int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.needed, partition)
}

// lags tells which partitions hold back the trim of the journal partition of
// partition, whose newest record is about at offset, and by how many records.
func (t *trims) lags(partition, journalPartitions, offset int64) map[int64]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lags map[int64]int64
	for p, needed := range t.needed {
		if p%journalPartitions == partition%journalPartitions && offset-needed > maxLag {
			if lags == nil {
				lags = make(map[int64]int64)
			}
			lags[p] = offset - needed
		}
	}
	return lags
}

func (t *trims) set(partition, offset int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.needed[partition] = offset
}

// due returns the offset below which the journal partition of partition is
// needed no more, if that is news.
func (t *trims) due(partition, journalPartitions int64) (int64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := partition % journalPartitions
	least := int64(-1)
	for p, offset := range t.needed {
		if p%journalPartitions != of {
			continue
		}
		if offset < 0 {
			return 0, false
		}
		if least < 0 || offset < least {
			least = offset
		}
	}
	if least <= t.sent[of] {
		return 0, false
	}
	t.sent[of] = least
	return least, true
}

func (q *Queue) trimJournal(ctx context.Context, partition, offset int64) error {
	return journal.Trim(ctx, q.c.opts.Topics, q.journalTopic, partition, offset)
}

func millis(ms int64) time.Time { return time.UnixMilli(ms) }
