package topicd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"time"

	"sqsgate/topicd/store"
)

const (
	// dedupKey is the metadata item whose value names the content of a message.
	dedupKey = "message_deduplication_id"
	// dedupWindow is how long a partition refuses to write an id again.
	dedupWindow = 5 * time.Minute
	// maxDedupIDs bounds the ids that one partition remembers; beyond it the
	// oldest are forgotten early.
	maxDedupIDs = 300_000
)

func dedupID(item []byte) store.DedupID {
	sum := sha256.Sum256(item)
	return store.DedupID(sum[:len(store.DedupID{})])
}

// contentID returns the message's deduplication id, nil when it has none.
func contentID(m *store.Message) []byte {
	for i := range m.Items {
		if m.Items[i].Key == dedupKey {
			return m.Items[i].Value
		}
	}
	return nil
}

// dedupIndex holds the ids written to a partition within the window, with
// their write times. Guarded by the partition's wmu.
type dedupIndex struct {
	loaded bool
	at     map[store.DedupID]int64 // Unix milliseconds
	order  []dedupEntry            // oldest first
	head   int                     // order[:head] have been dropped
}

type dedupEntry struct {
	id store.DedupID
	ms int64
}

func (x *dedupIndex) seen(id store.DedupID, now int64) bool {
	ms, ok := x.at[id]
	return ok && now-ms < dedupWindow.Milliseconds()
}

func (x *dedupIndex) add(id store.DedupID, ms int64) {
	if x.at == nil {
		x.at = make(map[store.DedupID]int64)
	}
	x.at[id] = ms
	x.order = append(x.order, dedupEntry{id, ms})
}

// expired tells whether the oldest id has left the window.
func (x *dedupIndex) expired(now int64) bool {
	return x.head < len(x.order) && now-x.order[x.head].ms >= dedupWindow.Milliseconds()
}

// trim drops ids that have left the window, or are too many, and calls forget
// for those that were not written again since.
func (x *dedupIndex) trim(now int64, forget func(store.DedupID)) {
	for x.expired(now) || len(x.order)-x.head > maxDedupIDs {
		e := x.order[x.head]
		x.head++
		if x.at[e.id] == e.ms {
			delete(x.at, e.id)
			forget(e.id)
		}
	}
	if x.head*2 > len(x.order) {
		x.order = slices.Clone(x.order[x.head:]) // memory goes back after a burst
		x.head = 0
	}
}

// load reads the index from the store once. The caller holds wmu.
func (p *partition) loadDedup() error {
	if p.dedup.loaded {
		return nil
	}
	var found []dedupEntry
	err := p.topic.srv.store.DedupIDs(p.topic.id, p.id, func(id store.DedupID, ms int64) {
		found = append(found, dedupEntry{id, ms})
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(found, func(a, b dedupEntry) int { return cmp.Compare(a.ms, b.ms) })
	for _, e := range found {
		p.dedup.add(e.id, e.ms)
	}
	p.dedup.loaded = true
	return nil
}

// duplicate tells whether the id was written within the window, to this
// partition or to what it was split from; otherwise it remembers it. It runs in
// the committer, which holds p.wmu.
func (p *partition) duplicate(b *store.Batch, item []byte, now int64) (bool, error) {
	id := dedupID(item)
	if err := p.loadDedup(); err != nil {
		return false, err
	}
	if p.dedup.seen(id, now) {
		return true, nil
	}
	cfg := p.topic.config.Load()
	for ids := cfg.Partitions[p.id].Parents; len(ids) > 0; ids = cfg.Partitions[ids[0]].Parents {
		if seen, err := cfg.parts[ids[0]].hasWritten(id, now); seen || err != nil {
			return seen, err
		}
	}
	p.trimDedup(b, now)
	p.dedup.add(id, now)
	b.PutDedup(p.topic.id, p.id, id, now)
	return false, nil
}

// hasWritten asks a partition that was split, and so changes no more.
func (p *partition) hasWritten(id store.DedupID, now int64) (bool, error) {
	p.wmu.Lock()
	defer p.wmu.Unlock()
	if err := p.loadDedup(); err != nil {
		return false, err
	}
	return p.dedup.seen(id, now), nil
}

func (p *partition) trimDedup(b *store.Batch, now int64) {
	p.dedup.trim(now, func(id store.DedupID) { b.DeleteDedup(p.topic.id, p.id, id) })
}

// forgetIDs drops what has left the window of a partition that nobody writes to.
func (p *partition) forgetIDs(now time.Time) error {
	ms := now.UnixMilli()
	p.wmu.Lock()
	expired := p.dedup.expired(ms)
	p.wmu.Unlock()
	if !expired {
		return nil
	}
	return p.topic.srv.commit(context.Background(), func(b *store.Batch) error {
		p.wmu.Lock()
		defer p.wmu.Unlock()
		if !p.topic.gone.Load() {
			p.trimDedup(b, ms)
		}
		return nil
	})
}
