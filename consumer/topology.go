package consumer

import (
	"context"
	"fmt"
	"slices"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/internal/ydbstatus"
)

// placement is what the server says of one partition and the queue's consumer.
type placement struct {
	active    bool
	parents   []int64
	children  []int64
	end       int64 // behind the last message
	committed int64
}

// finished: the partition gets no more messages and all it had are done.
func (p placement) finished() bool { return !p.active && p.committed >= p.end }

// topology is the partitions of a queue's topic, by id.
type topology map[int64]placement

// ancestors are the known partitions that one came from by splits.
func (t topology) ancestors(id int64) []int64 {
	var list []int64
	next := t[id].parents
	for len(next) > 0 {
		parent := next[0]
		next = next[1:]
		if p, known := t[parent]; known && !slices.Contains(list, parent) {
			list = append(list, parent)
			next = append(slices.Clone(next), p.parents...)
		}
	}
	return list
}

// merge adds what was known before. Looks may end in another order than they
// began, but nothing of a partition ever goes back.
func (t topology) merge(before topology) {
	for id, old := range before {
		p, known := t[id]
		if !known {
			t[id] = old
			continue
		}
		p.active = p.active && old.active
		if len(p.children) == 0 {
			p.children = old.children
		}
		p.end, p.committed = max(p.end, old.end), max(p.committed, old.committed)
		t[id] = p
	}
}

// describe asks the server for the partitions and the consumer's offsets.
func (q *Queue) describe(ctx context.Context) (topology, error) {
	resp, err := q.c.opts.Topics.DescribeConsumer(ctx, &Ydb_Topic.DescribeConsumerRequest{
		Path: q.spec.Topic, Consumer: q.spec.Consumer, IncludeStats: true,
	})
	var result Ydb_Topic.DescribeConsumerResult
	if err := ydbstatus.Operation(resp.GetOperation(), err, &result); err != nil {
		return nil, fmt.Errorf("describing consumer %s of %s: %w", q.spec.Consumer, q.spec.Topic, err)
	}
	partitions := make(topology, len(result.GetPartitions()))
	for _, p := range result.GetPartitions() {
		partitions[p.GetPartitionId()] = placement{
			active:    p.GetActive(),
			parents:   p.GetParentPartitionIds(),
			children:  p.GetChildPartitionIds(),
			end:       p.GetPartitionStats().GetPartitionOffsets().GetEnd(),
			committed: p.GetPartitionConsumerStats().GetCommittedOffset(),
		}
	}
	return partitions, nil
}

// refresh learns the partitions anew and serves children of ours that it finds.
func (q *Queue) refresh(ctx context.Context) error {
	partitions, err := q.describe(ctx)
	if err != nil {
		return err
	}
	q.trims.expect(partitions)
	q.mu.Lock()
	partitions.merge(q.partitions)
	q.partitions = partitions
	q.notify()
	q.mu.Unlock()
	q.adopt()
	return nil
}

// end is the offset behind the last message of a partition, as last described.
func (q *Queue) end(partition int64) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.partitions[partition].end
}

// adopt serves the children of split partitions that this process serves. The
// server hands children out only when their parent has been read to its end by
// the read session, which reads nothing; but it gives them to the session that
// has the parent, so the claim to the parent is one to its children. Their
// journals fence whoever thinks otherwise.
func (q *Queue) adopt() {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.current
	if s == nil {
		return
	}
	for again := true; again; {
		again = false
		for id := range q.partitions {
			if q.shards[id] == nil && q.adoptable(id) {
				sh := newShard(s.ctx, s, id, noSession)
				q.shards[id] = sh
				sh.start()
				again = true
			}
		}
	}
}

// adoptable: every parent is done with, or served here and, on a FIFO queue,
// loaded to its end; and one is served here that is not finished. The children of
// finished parents go to any session. q.mu is held.
func (q *Queue) adoptable(id int64) bool {
	ours := false
	for _, parent := range q.partitions[id].parents {
		sh := q.shards[parent]
		p, known := q.partitions[parent]
		switch {
		case !known || p.finished():
		case sh != nil && (!q.spec.FIFO || sh.ended.Load()):
			ours = true
		default:
			return false
		}
	}
	return ours
}

// keep tells whether a shard that has lost its partition may try to take it back.
// An adopted one may not when the claim has gone meanwhile: whoever was given the
// partition would be fenced in turn, and so on.
func (q *Queue) keep(ctx context.Context, sh *shard) bool {
	if sh.partitionSession.Load() != noSession || q.refresh(ctx) != nil {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if sh.partitionSession.Load() != noSession || q.adoptable(sh.partition) {
		return true
	}
	if q.shards[sh.partition] == sh {
		delete(q.shards, sh.partition)
	}
	return false
}

// orphans takes out the shards of adopted children none of whose parents is
// served here any more: the claim to them has gone with the parent, and whoever
// gets that adopts them. q.mu is held.
func (q *Queue) orphans() []*shard {
	var list []*shard
	for again := true; again; {
		again = false
		for id, sh := range q.shards {
			hasParent := slices.ContainsFunc(q.partitions[id].parents, func(p int64) bool { return q.shards[p] != nil })
			if sh.partitionSession.Load() == noSession && !hasParent {
				delete(q.shards, id)
				list = append(list, sh)
				again = true
			}
		}
	}
	sortShards(list)
	return list
}

// settled: every partition that can be served now is served, or known to be
// broken. q.mu is held.
func (q *Queue) settled() bool {
	if q.partitions == nil || q.current == nil {
		return false
	}
	for id, p := range q.partitions {
		sh := q.shards[id]
		switch {
		case sh != nil:
			if !sh.serving.Load() && sh.broken() == nil && !q.waitsForParent(id) {
				return false
			}
		case p.finished(), q.waitsForParent(id):
		default:
			return false
		}
	}
	return true
}

// waitsForParent: a parent of the partition has not been read to its end, so the
// partition's turn has not come. q.mu is held.
func (q *Queue) waitsForParent(id int64) bool {
	for _, parent := range q.partitions[id].parents {
		p, known := q.partitions[parent]
		sh := q.shards[parent]
		if known && !p.finished() && (sh == nil || q.spec.FIFO && !sh.ended.Load()) {
			return true
		}
	}
	return false
}
