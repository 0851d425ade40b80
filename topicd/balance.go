package topicd

import (
	"maps"
	"slices"
	"sync"
)

// group shares the partitions of a topic among the read sessions of one
// consumer. A partition has at most one reader; readers without an explicit
// choice get even shares; a reader with too many gives the surplus back
// gracefully; a dead reader's partitions are free at once.
//
// Children of a split partition are given out when their parent is committed to
// its end, or to the parent's reader when that has read it to the end.
type group struct {
	topic    *topic
	consumer string

	mu      sync.Mutex
	members []*member // in the order of joining
	owner   map[uint32]*partSession
}

// member is a session's part in one group.
type member struct {
	session  *readSession
	explicit []uint32 // partitions asked for; empty = a fair share of all
	settings readSettings
}

func newGroup(t *topic, consumer string) *group {
	return &group{topic: t, consumer: consumer, owner: make(map[uint32]*partSession)}
}

func (g *group) join(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = append(g.members, m)
	g.balance()
}

func (g *group) leave(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = slices.DeleteFunc(g.members, func(x *member) bool { return x == m })
	for id, ps := range g.owner {
		if ps.member == m {
			g.free(id, ps)
		}
	}
	g.balance()
}

// released takes a partition back from a session that has let go of it.
func (g *group) released(ps *partSession) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.owner[ps.part.id] == ps {
		g.free(ps.part.id, ps)
		g.balance()
	}
}

// interrupt takes the partition from its reader at once and gives it out
// again, to go on from the committed offset as it is now.
func (g *group) interrupt(part uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ps := g.owner[part]
	if ps == nil {
		return
	}
	g.free(part, ps)
	ps.dead.Store(true)
	ps.session.post(readEvent{kind: eventStop, ps: ps})
	g.balance()
}

// finished is called when a reader has all of a partition that was split, and
// has been told so.
func (g *group) finished(ps *partSession) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.owner[ps.part.id] == ps {
		ps.ended = true
		g.balance()
	}
}

// shake takes every partition back gracefully and deals all of them anew, to
// other members first.
func (g *group) shake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.members) > 1 {
		g.members = append(g.members[1:], g.members[0])
	}
	for _, id := range slices.Sorted(maps.Keys(g.owner)) {
		g.takeBack(g.owner[id])
	}
}

// rebalance is called when the topic has got more partitions, or when others
// may be given out than before.
func (g *group) rebalance() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.balance()
}

// end finishes every session of the group.
func (g *group) end(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.members {
		m.session.end(err)
	}
}

func (g *group) free(part uint32, ps *partSession) {
	delete(g.owner, part)
	ps.part.clearReader(g.consumer, ps)
}

func (g *group) give(p *partition, m *member) {
	ps := newPartSession(m.session, p, g, m)
	g.owner[p.id] = ps
	p.setReader(g.consumer, ps)
	m.session.post(readEvent{kind: eventStart, ps: ps})
}

func (g *group) takeBack(ps *partSession) {
	if ps.releasing {
		return
	}
	ps.releasing = true
	ps.session.post(readEvent{kind: eventRelease, ps: ps})
}

// place is what the graph of splits says about a partition.
type place int

const (
	placeFree   place = iota // anybody may have it
	placeBound               // it goes with its parent, which is read but not committed to the end
	placeClosed              // its parent is not read to the end
)

// places says of every partition who may have it.
func (g *group) places(cfg *topicConfig) []place {
	out := make([]place, len(cfg.parts))
	for i := range cfg.parts { // parents have lower ids
		for _, parent := range cfg.Partitions[i].Parents {
			if cfg.parts[parent].ended(g.consumer) {
				continue
			}
			ps := g.owner[parent]
			if out[parent] == placeClosed || ps == nil || ps.releasing || !ps.ended {
				out[i] = placeClosed
				break
			}
			out[i] = placeBound
		}
	}
	return out
}

// balance brings the owners closer to the fair state. It is deterministic:
// it depends only on the order of joining and on who holds what.
func (g *group) balance() {
	if g.topic.gone.Load() {
		return
	}
	cfg := g.topic.config.Load()
	// Partitions asked for by id belong to the first session that asked.
	wanted := make(map[uint32]*member)
	var common []*member
	for _, m := range g.members {
		if len(m.explicit) == 0 {
			common = append(common, m)
		}
		for _, id := range m.explicit {
			if wanted[id] == nil {
				wanted[id] = m
			}
		}
	}
	places := g.places(cfg)
	var shared, spent []*partition
	for i, p := range cfg.parts {
		m := wanted[p.id]
		switch {
		case places[i] != placeFree:
		case m != nil:
			g.settle(p, m)
		case !cfg.Partitions[i].Active && p.ended(g.consumer):
			spent = append(spent, p)
		default:
			shared = append(shared, p)
		}
	}
	if len(common) > 0 {
		g.share(common, shared)
		for _, p := range spent {
			// Nobody gains or loses by these: they stay where they are.
			if g.owner[p.id] == nil {
				g.give(p, common[int(p.id)%len(common)])
			}
		}
	}
	// Whoever has the parent gets the children. What was shared out just now may
	// have closed some.
	for i, at := range g.places(cfg) {
		p := cfg.parts[i]
		switch at {
		case placeFree:
		case placeBound:
			holder := g.owner[cfg.Partitions[i].Parents[0]].member
			if m := wanted[p.id]; m != holder && (m != nil || len(holder.explicit) > 0) {
				holder = nil
			}
			g.settle(p, holder)
		case placeClosed:
			g.settle(p, nil)
		}
	}
}

// settle brings a partition to a member, or to nobody.
func (g *group) settle(p *partition, m *member) {
	switch ps := g.owner[p.id]; {
	case ps != nil && ps.member != m:
		g.takeBack(ps)
	case ps == nil && m != nil:
		g.give(p, m)
	}
}

// share deals partitions to the members without a choice of their own.
func (g *group) share(members []*member, parts []*partition) {
	held := make(map[*member]int, len(members))
	for _, p := range parts {
		if ps := g.owner[p.id]; ps != nil && !ps.releasing {
			held[ps.member]++
		}
	}
	base, extra := len(parts)/len(members), len(parts)%len(members)
	// Who holds most keeps the larger shares: fewest partitions move.
	order := slices.Clone(members)
	slices.SortStableFunc(order, func(a, b *member) int { return held[b] - held[a] })
	quota := make(map[*member]int, len(order))
	for i, m := range order {
		quota[m] = base
		if i < extra {
			quota[m]++
		}
	}
	for _, p := range slices.Backward(parts) {
		ps := g.owner[p.id]
		if ps == nil || ps.releasing {
			continue
		}
		// An explicit member has no quota: it keeps nothing that others did not
		// leave to it.
		if held[ps.member] > quota[ps.member] {
			held[ps.member]--
			g.takeBack(ps)
		}
	}
	for _, p := range parts {
		if g.owner[p.id] != nil {
			continue
		}
		best := order[0]
		for _, m := range order {
			if quota[m]-held[m] > quota[best]-held[best] {
				best = m
			}
		}
		held[best]++
		g.give(p, best)
	}
}

func (p *partition) setReader(consumer string, ps *partSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readers[consumer] = ps
}

func (p *partition) clearReader(consumer string, ps *partSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readers[consumer] == ps {
		delete(p.readers, consumer)
	}
	delete(p.waiting, ps)
}

// reader returns who reads the partition for the consumer, or nil.
func (p *partition) reader(consumer string) *partSession {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.readers[consumer]
}
