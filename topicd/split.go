package topicd

import (
	"bytes"
	"context"
	"log/slog"
	"math/big"
	"slices"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"sqsgate/topicd/store"
)

// split replaces an active partition by two children that share its key
// range: [from, at) and [at, to). The receiver is not changed.
func (c *topicConfig) split(id uint32, at []byte) *topicConfig {
	out := c.clone()
	left, right := uint32(len(c.Partitions)), uint32(len(c.Partitions))+1
	parent := &out.Partitions[id]
	parent.Active = false
	parent.Children = []uint32{left, right}
	from, to := parent.From, parent.To
	out.Partitions = append(out.Partitions,
		partitionConfig{ID: left, From: from, To: at, Active: true, Parents: []uint32{id}},
		partitionConfig{ID: right, From: at, To: to, Active: true, Parents: []uint32{id}},
	)
	return out
}

// mayGrow tells whether one more active partition is allowed.
func (c *topicConfig) mayGrow() bool {
	return (c.MaxActive == 0 || int64(c.active) < c.MaxActive) && len(c.Partitions)+2 <= maxPartitions
}

// descends tells whether a partition came from another one by splits.
func (c *topicConfig) descends(id, ancestor uint32) bool {
	for {
		if id == ancestor {
			return true
		}
		parents := c.Partitions[id].Parents
		if len(parents) == 0 {
			return false
		}
		id = parents[0] // nothing merges, so there is one
	}
}

// descendants returns all partitions that came from id, in the order of ids.
func (c *topicConfig) descendants(id uint32) []uint32 {
	out := slices.Clone(c.Partitions[id].Children)
	for i := 0; i < len(out); i++ {
		out = append(out, c.Partitions[out[i]].Children...)
	}
	slices.Sort(out)
	return out
}

const keyBytes = 16 // keys are MD5 sums

// inside tells whether a key lies strictly between two bounds, so that it can
// divide the range.
func inside(key, from, to []byte) bool {
	return len(key) > 0 && bytes.Compare(key, from) > 0 && (len(to) == 0 || bytes.Compare(key, to) < 0)
}

// middleOf is the key halfway between two bounds; empty bounds are the ends of
// the key space. It returns nil when no key lies between them.
func middleOf(from, to []byte) []byte {
	if len(from) == 0 && len(to) == 0 {
		return []byte{0x7F}
	}
	low := new(big.Int).SetBytes(padded(from))
	high := new(big.Int).SetBytes(padded(to))
	if len(to) == 0 {
		high.Lsh(big.NewInt(1), 8*keyBytes)
	}
	mid := low.Add(low, high)
	mid.Rsh(mid, 1)
	if mid.BitLen() > 8*keyBytes {
		return nil
	}
	key := mid.FillBytes(make([]byte, keyBytes))
	if !inside(key, from, to) {
		return nil
	}
	return key
}

func padded(key []byte) []byte {
	out := make([]byte, keyBytes)
	copy(out, key)
	return out
}

// splitPartition splits p at the key, or where the load of its producers says.
// It returns when the children are durable and visible.
//
// Errors: PRECONDITION_FAILED for a topic that does not split, a partition that
// is split already, or when there are as many partitions as allowed.
func (s *Server) splitPartition(ctx context.Context, p *partition, at []byte) error {
	if err := s.tree.lock(ctx); err != nil {
		return err
	}
	defer s.tree.unlock()
	t := p.topic
	cfg := t.config.Load()
	pc := &cfg.Partitions[p.id]
	switch {
	case t.gone.Load():
		return t.errDropped()
	case !cfg.autoPartitioned():
		return statusf(Ydb.StatusIds_PRECONDITION_FAILED, "topic %q is not auto partitioned", t.entry.path)
	case !pc.Active:
		return statusf(Ydb.StatusIds_PRECONDITION_FAILED, "partition %d is split already", p.id)
	case !cfg.mayGrow():
		return statusf(Ydb.StatusIds_PRECONDITION_FAILED, "topic %q has all the partitions it may have", t.entry.path)
	}
	if at == nil {
		p.wmu.Lock()
		at = p.load.boundary(pc.From, pc.To)
		p.wmu.Unlock()
	}
	if !inside(at, pc.From, pc.To) {
		at = middleOf(pc.From, pc.To)
	}
	if at == nil {
		return statusf(Ydb.StatusIds_PRECONDITION_FAILED, "the key range of partition %d cannot be divided", p.id)
	}
	next := cfg.split(p.id, at)
	value, err := t.entry.encode(next)
	if err != nil {
		return err
	}
	op := &splitOp{part: p, config: next, value: value, done: make(chan error, 1)}
	if err := s.store.Submit(ctx, op); err != nil {
		return err
	}
	if err := s.await(op.done); err != nil {
		return err
	}
	s.metrics.splits.Inc()
	s.log.LogAttrs(ctx, slog.LevelInfo, "partition split", slog.String("topic", t.entry.path),
		slog.Int64("partition", int64(p.id)), slog.Any("children", next.Partitions[p.id].Children))
	return nil
}

// splitOp makes a split durable. From its Apply on the parent takes no writes,
// but those refused are answered after Done, which shows the children: who is
// told OVERLOADED finds them.
type splitOp struct {
	part   *partition
	config *topicConfig
	value  []byte
	done   chan error
}

func (*splitOp) Size() int { return 0 }

func (o *splitOp) Apply(b *store.Batch) {
	o.part.wmu.Lock()
	o.part.sealed = true
	o.part.load = writeLoad{}
	o.part.wmu.Unlock()
	b.PutEntry(o.part.topic.entry.path, o.value)
}

func (o *splitOp) Done(err error) {
	if err == nil {
		t := o.part.topic
		t.setConfig(o.config)
		o.part.notify(eventEnded)
		for _, g := range t.allGroups() {
			g.rebalance()
		}
	}
	o.done <- err
}

// scale splits the partitions that ask for it, until the server closes.
func (s *Server) scale() {
	for {
		select {
		case p := <-s.splits:
			// The tree is never locked for long, and Close waits for this call.
			err := s.splitPartition(context.Background(), p, nil)
			p.wmu.Lock()
			p.splitting = false
			p.wmu.Unlock()
			if err != nil {
				s.log.Debug("partition not split", slog.String("topic", p.topic.entry.path),
					slog.Int64("partition", int64(p.id)), slog.Any("error", err))
			}
		case <-s.closed:
			return
		}
	}
}

// askSplit queues the partition for a split; the caller holds p.wmu. When many
// wait already, the next write asks again.
func (p *partition) askSplit() {
	if p.splitting {
		return
	}
	select {
	case p.topic.srv.splits <- p:
		p.splitting = true
	default:
	}
}
