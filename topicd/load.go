package topicd

import (
	"bytes"
	"crypto/md5" // YDB's rule for producers, not a secret
	"slices"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

const (
	// maxLoadProducers bounds the producers whose share of a partition's load is
	// known; more do not change where its middle is by much.
	maxLoadProducers = 1024
	// producerWindow is how far back a producer counts as writing.
	producerWindow = 5 * time.Second
)

// writeLoad is what decides about splitting a partition: the bytes written
// over the stabilization window, and by whom. Guarded by the partition's wmu.
type writeLoad struct {
	total     slidingSum
	producers map[string]*producerLoad
}

type producerLoad struct {
	hash  [md5.Size]byte
	bytes window
	last  time.Time
}

// add counts a write and tells whether the partition should split now.
func (l *writeLoad) add(now time.Time, cfg *topicConfig, producer string, n int64) bool {
	span := time.Duration(cfg.Auto.WindowMs) * time.Millisecond
	if l.total.span != span {
		*l = writeLoad{total: slidingSum{span: span}, producers: make(map[string]*producerLoad)}
	}
	l.total.add(now, n)
	p := l.producers[producer]
	if p == nil {
		if len(l.producers) >= maxLoadProducers {
			l.forget(now.Add(-span))
		}
		if len(l.producers) < maxLoadProducers {
			p = &producerLoad{hash: md5.Sum([]byte(producer)), bytes: window{span: span}}
			l.producers[producer] = p
		}
	}
	if p != nil {
		p.bytes.add(now, n)
		p.last = now
	}
	if !cfg.scalesUp() || !cfg.mayGrow() {
		return false
	}
	limit := float64(cfg.WriteSpeed) * span.Seconds() * float64(cfg.Auto.UpPercent) / 100
	return float64(l.total.sum) >= limit && l.writers(now.Add(-min(span, producerWindow))) > 1
}

func (c *topicConfig) scalesUp() bool {
	switch Ydb_Topic.AutoPartitioningStrategy(c.Auto.Strategy) {
	case Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_SCALE_UP,
		Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_SCALE_UP_AND_DOWN:
		return true
	case Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_UNSPECIFIED,
		Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_DISABLED,
		Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_PAUSED:
	}
	return false
}

// writers counts the producers that have written since, up to 2.
func (l *writeLoad) writers(since time.Time) int {
	n := 0
	for _, p := range l.producers {
		if !p.last.Before(since) {
			if n++; n > 1 {
				break
			}
		}
	}
	return n
}

func (l *writeLoad) forget(before time.Time) {
	for id, p := range l.producers {
		if p.last.Before(before) {
			delete(l.producers, id)
		}
	}
}

// boundary is the key that divides the bytes of the producers between from and
// to most evenly; nil when fewer than two of them wrote.
func (l *writeLoad) boundary(from, to []byte) []byte {
	var in []*producerLoad
	for id, p := range l.producers {
		// A session without a producer id has no place among the keys.
		if id != "" && bytes.Compare(p.hash[:], from) >= 0 && (len(to) == 0 || bytes.Compare(p.hash[:], to) < 0) {
			in = append(in, p)
		}
	}
	if len(in) < 2 {
		return nil
	}
	slices.SortFunc(in, func(a, b *producerLoad) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	// From both ends towards the middle, always on the lighter side.
	i, j := 0, len(in)-1
	left, right := in[i].weight(), in[j].weight()
	for i+1 < j {
		if left < right {
			i++
			left += in[i].weight()
		} else {
			j--
			right += in[j].weight()
		}
	}
	return middleOf(in[i].hash[:], in[j].hash[:])
}

func (p *producerLoad) weight() int64 { return p.bytes.sum(p.last) }

// slidingSum adds up an amount over the last span, exact to one of its slices.
type slidingSum struct {
	span time.Duration
	sum  int64

	slices [32]int64
	at     int64 // number of the newest slice
}

func (w *slidingSum) add(now time.Time, n int64) {
	count := int64(len(w.slices))
	at := now.UnixNano() / max(int64(w.span)/count, 1)
	switch {
	case at-w.at >= count:
		w.slices, w.sum, w.at = [32]int64{}, 0, at
	default:
		for w.at < at {
			w.at++
			slot := &w.slices[w.at%count]
			w.sum -= *slot
			*slot = 0
		}
	}
	w.slices[w.at%count] += n
	w.sum += n
}
