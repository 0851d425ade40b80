package consumer

import (
	"context"

	"sqsgate/consumer/lease"
	"sqsgate/internal/logread"
)

// A FIFO partition that was split has children, and a message of a group in a
// child must wait until the parent has none of the group left. So a child holds
// all groups until its parent, loaded to its end, names those it still has, and
// then one after the other as the parent reports them drained. Nothing of this
// is durable: a child that starts anew asks again, and a parent that starts anew
// tells again.

// holdForParents makes a new tenure of a child wait for its parents.
func (t *tenure) holdForParents() {
	if !t.s.q.spec.FIFO {
		return
	}
	for _, parent := range t.s.q.livingParents(t.s.partition) {
		t.input(t.now(), lease.Input{Kind: lease.Hold})
		if parent != nil {
			parent.post(event{kind: eventChildAsks, child: t.s})
		}
	}
}

// livingParents lists the parents of a partition that are not finished; nil
// stands for one that is not served here (yet).
func (q *Queue) livingParents(partition int64) []*shard {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []*shard
	for _, id := range q.partitions[partition].parents {
		if p, known := q.partitions[id]; known && !p.finished() {
			list = append(list, q.shards[id])
		}
	}
	return list
}

// children lists the shards of a partition's children.
func (q *Queue) children(partition int64) []*shard {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []*shard
	for id, p := range q.partitions {
		for _, parent := range p.parents {
			if s := q.shards[id]; s != nil && parent == partition {
				list = append(list, s)
			}
		}
	}
	return list
}

// end notes that everything of a split partition is loaded.
func (t *tenure) end(now int64) {
	t.input(now, lease.Input{Kind: lease.Ended})
	t.ended = true
	t.s.ended.Store(true)
	if t.s.q.spec.FIFO {
		for _, child := range t.s.q.children(t.s.partition) {
			t.answerChild(child)
		}
	}
	t.s.session.look() // for the children
}

// answerChild tells a child which groups it must hold. Before the end nobody
// knows: then the child hears of it from end.
func (t *tenure) answerChild(child *shard) {
	if t.ended {
		child.post(event{kind: eventHeld, groups: t.machine.Groups(nil)})
	}
}

// drained tells the children which groups they hold no longer.
func (t *tenure) drained(groups []lease.Hash) {
	if len(groups) == 0 {
		return
	}
	groups = append([]lease.Hash(nil), groups...)
	for _, child := range t.s.q.children(t.s.partition) {
		child.post(event{kind: eventFreed, groups: groups})
	}
}

// loadAncestors notes the deduplication ids of the last five minutes of those
// ancestors that no shard serves any more: their groups live on here.
func (t *tenure) loadAncestors(ctx context.Context, since int64) error {
	q := t.s.q
	seen := make(map[int64]bool)
	next := []int64{t.s.partition}
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		q.mu.Lock()
		parents := q.partitions[id].parents
		q.mu.Unlock()
		for _, parent := range parents {
			q.mu.Lock()
			p, known := q.partitions[parent]
			served := q.shards[parent] != nil
			q.mu.Unlock()
			if !known || seen[parent] {
				continue
			}
			seen[parent] = true
			next = append(next, parent)
			if served || p.end == 0 {
				continue
			}
			err := q.source(parent).since(ctx, millis(since), p.end, func(m *logread.Message) {
				if key := t.message(m).Deduplication; key != (lease.Hash{}) {
					q.dedup.add(key, m.WriteTime, parent, m.Offset)
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
