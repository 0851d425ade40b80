package consumer

import (
	"bytes"
	"slices"

	"sqsgate/consumer/lease"
)

// A FIFO partition that was split has children, and a message of a group in a
// child must wait until no ancestor has any of the group left: not the parent
// alone, since one without messages may be finished before its own parent. So a
// child holds all groups until each of its elders, loaded to its end, names those
// it still has, and then one after the other as the elders report them drained.
// Nothing of this is durable: a child that starts anew asks again, and an elder
// that starts anew tells again. But what an elder tells is durable in its own
// journal before.

// elders are the ancestors of a partition that were not finished when its tenure
// began, each with the groups it still has; nil = it has not told yet.
type elders map[int64]map[lease.Hash]struct{}

// groups is the union of what the elders have; false while one has not told.
func (e elders) groups() ([]lease.Hash, bool) {
	var list []lease.Hash
	for _, has := range e {
		if has == nil {
			return nil, false
		}
		for g := range has {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b lease.Hash) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(list), true
}

// has tells whether one of the elders has the group.
func (e elders) has(g lease.Hash) bool {
	for _, has := range e {
		if _, yes := has[g]; yes {
			return true
		}
	}
	return false
}

// asked is an answer to a child that waits until it is durable.
type asked struct {
	child  *shard
	groups []lease.Hash
}

// holdForElders makes a new tenure of a child wait for its ancestors.
func (t *tenure) holdForElders() {
	if !t.s.q.spec.FIFO {
		return
	}
	living := t.s.q.livingAncestors(t.s.partition)
	if len(living) == 0 {
		return
	}
	t.input(t.now(), lease.Input{Kind: lease.Hold})
	t.elders = make(elders, len(living))
	for id := range living {
		t.elders[id] = nil
	}
	for _, elder := range living {
		if elder != nil {
			elder.post(event{kind: eventChildAsks, child: t.s})
		}
	}
}

// held notes which groups an elder has.
func (t *tenure) held(now, elder int64, groups []lease.Hash) {
	if _, ours := t.elders[elder]; !ours {
		return
	}
	has := make(map[lease.Hash]struct{}, len(groups))
	for _, g := range groups {
		has[g] = struct{}{}
	}
	t.elders[elder] = has
	if all, known := t.elders.groups(); known {
		t.input(now, lease.Input{Kind: lease.Release, Groups: all})
	}
}

// freed notes which groups an elder has no longer.
func (t *tenure) freed(now, elder int64, groups []lease.Hash) {
	has := t.elders[elder]
	if has == nil {
		return // it will tell, without these
	}
	var free []lease.Hash
	for _, g := range groups {
		delete(has, g)
		if !t.elders.has(g) {
			free = append(free, g)
		}
	}
	t.input(now, lease.Input{Kind: lease.Free, Groups: free})
}

// livingAncestors are the ancestors of a partition that are not finished, with
// their shards; nil stands for one that is not served here (yet).
func (q *Queue) livingAncestors(partition int64) map[int64]*shard {
	q.mu.Lock()
	defer q.mu.Unlock()
	living := make(map[int64]*shard)
	for _, id := range q.partitions.ancestors(partition) {
		if !q.partitions[id].finished() {
			living[id] = q.shards[id]
		}
	}
	return living
}

// descendants lists the shards of the partitions that came from one by splits.
func (q *Queue) descendants(partition int64) []*shard {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []*shard
	for id, s := range q.shards {
		if slices.Contains(q.partitions.ancestors(id), partition) {
			list = append(list, s)
		}
	}
	sortShards(list)
	return list
}

// end notes that everything of a split partition is loaded.
func (t *tenure) end(now int64) {
	t.input(now, lease.Input{Kind: lease.Ended})
	t.ended = true
	t.s.ended.Store(true)
	for _, h := range t.heirs {
		t.answerHeir(h)
	}
	t.heirs = nil
	if t.s.q.spec.FIFO {
		for _, child := range t.s.q.descendants(t.s.partition) {
			t.answerChild(child)
		}
	}
	t.s.session.look() // for the children
}

// answerChild tells a child which groups it must hold, when that is durable:
// until then the group's last message may come back. Before the end nobody knows;
// then the child hears of it from end.
func (t *tenure) answerChild(child *shard) {
	if t.ended {
		t.pending.asked = append(t.pending.asked, asked{child, t.machine.Groups(nil)})
	}
}

// tellFamily tells the descendants what has become durable.
func (t *tenure) tellFamily(b *batch) {
	for _, a := range b.asked {
		a.child.post(event{kind: eventHeld, elder: t.s.partition, groups: a.groups})
	}
	t.drained(b.drained)
	for _, h := range b.heirs {
		h.known = true
		close(h.done)
	}
}

// drained tells the children which groups they hold no longer.
func (t *tenure) drained(groups []lease.Hash) {
	if len(groups) == 0 {
		return
	}
	groups = append([]lease.Hash(nil), groups...)
	for _, child := range t.s.q.descendants(t.s.partition) {
		child.post(event{kind: eventFreed, elder: t.s.partition, groups: groups})
	}
}
