package topicd

import (
	"bytes"
	"crypto/md5" // YDB's rule for producers, not a secret
	"math/big"
	"math/rand/v2"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"sqsgate/topicd/store"
)

// byProducer chooses the partition of a producer id by its MD5, as a cluster
// does. An empty id goes anywhere. It returns nil when no partition is active.
func (t *topic) byProducer(producer string) *partition {
	cfg := t.config.Load()
	var active []uint32 // sorted by id, as partitions are
	for i := range cfg.Partitions {
		if cfg.Partitions[i].Active {
			active = append(active, cfg.Partitions[i].ID)
		}
	}
	if len(active) == 0 {
		return nil
	}
	parts := cfg.parts
	if producer == "" {
		return parts[active[rand.IntN(len(active))]]
	}
	hash := md5.Sum([]byte(producer)) // see the import
	if !cfg.autoPartitioned() {
		return parts[active[sliceOf(hash, len(active))]]
	}
	// Key ranges of active partitions do not overlap, so the partition is the
	// one with the lowest upper bound above the key.
	best := -1
	for i, id := range active {
		to := cfg.Partitions[id].To
		if len(to) > 0 && bytes.Compare(hash[:], to) >= 0 {
			continue
		}
		if best < 0 {
			best = i
			continue
		}
		bestTo := cfg.Partitions[active[best]].To
		if len(bestTo) == 0 || (len(to) > 0 && bytes.Compare(to, bestTo) < 0) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return parts[active[best]]
}

// sliceWidth is the part of the 128-bit hash space that each of n partitions
// gets: (2^128-1)/n.
func sliceWidth(n int) *big.Int {
	all := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))
	return all.Div(all, big.NewInt(int64(n)))
}

func sliceOf(hash [16]byte, n int) int {
	idx := new(big.Int).SetBytes(hash[:])
	idx.Div(idx, sliceWidth(n))
	return min(int(idx.Int64()), n-1)
}

// upperBound is the key at which partition i of n that were created together
// ends: (i+1)*slice-1, as 16 big-endian bytes.
func upperBound(i, n int) []byte {
	v := new(big.Int).Mul(sliceWidth(n), big.NewInt(int64(i+1)))
	return v.Sub(v, big.NewInt(1)).FillBytes(make([]byte, 16))
}

// choose settles the partition of a session being opened and remembers the
// choice for its producer id. It runs in the committer.
func (t *topic) choose(b *store.Batch, s *writeSession) (*partition, error) {
	if s.producer == "" {
		if s.wanted != nil {
			return s.wanted, nil
		}
		p := t.byProducer("")
		if p == nil {
			return nil, statusf(Ydb.StatusIds_OVERLOADED, "no active partition")
		}
		return p, nil
	}
	bound, known, err := t.chosen(s.producer)
	if err != nil {
		return nil, err
	}
	var p *partition
	switch {
	case s.wanted != nil:
		p = s.wanted
		if known && bound != p.id && !t.config.Load().autoPartitioned() {
			return nil, badRequest("MessageGroupId %s is already bound to PartitionGroupId %d, but client provided %d",
				s.producer, bound+1, p.id+1)
		}
	case known && t.partition(int64(bound)) != nil && t.config.Load().Partitions[bound].Active:
		p = t.partition(int64(bound))
	default:
		p = t.byProducer(s.producer)
		if known && t.partition(int64(bound)) != nil {
			p = t.descendant(bound, p)
		}
	}
	if p == nil {
		return nil, statusf(Ydb.StatusIds_OVERLOADED, "no active partition")
	}
	if !known || bound != p.id {
		b.PutChoice(t.id, s.producer, p.id)
		t.mu.Lock()
		t.choosing[s.producer] = p.id
		t.mu.Unlock()
	}
	return p, nil
}

// descendant returns the active partition that a producer of a split one goes
// on with: the one of its key if that came from the split one, else any that did.
func (t *topic) descendant(bound uint32, byKey *partition) *partition {
	cfg := t.config.Load()
	if byKey != nil && cfg.descends(byKey.id, bound) {
		return byKey
	}
	for _, id := range cfg.descendants(bound) {
		if cfg.Partitions[id].Active {
			return cfg.parts[id]
		}
	}
	return byKey
}

// lastSeqNo is the highest sequence number written under the producer id to
// the partition or, when it is new there, to what the partition was split from.
// It runs in the committer.
func (p *partition) lastSeqNo(producer string) (int64, error) {
	cfg := p.topic.config.Load()
	for {
		p.wmu.Lock()
		own := p.owners[producer]
		p.wmu.Unlock()
		if own != nil && own.seqNo > 0 {
			return own.seqNo, nil
		}
		known, ok, err := p.topic.srv.store.Producer(p.topic.id, p.id, producer)
		if err != nil || ok {
			return known.SeqNo, err
		}
		parents := cfg.Partitions[p.id].Parents
		if len(parents) == 0 {
			return 0, nil
		}
		p = cfg.parts[parents[0]]
	}
}

func (t *topic) chosen(producer string) (part uint32, ok bool, err error) {
	t.mu.Lock()
	part, ok = t.choosing[producer]
	t.mu.Unlock()
	if ok {
		return part, true, nil
	}
	return t.srv.store.Choice(t.id, producer)
}
