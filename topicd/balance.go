package topicd

import (
	"slices"
	"sync"
)

// group shares the partitions of a topic among the read sessions of one
// consumer. A partition has at most one reader; readers without an explicit
// choice get even shares; a reader with too many gives the surplus back
// gracefully; a dead reader's partitions are free at once.
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
	held     int // partitions it has and is not giving back
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

// rebalance is called when the topic has got more partitions.
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
	if !ps.releasing {
		ps.member.held--
	}
}

func (g *group) give(p *partition, m *member) {
	ps := newPartSession(m.session, p, g, m)
	m.held++
	g.owner[p.id] = ps
	p.setReader(g.consumer, ps)
	m.session.post(readEvent{kind: eventStart, ps: ps})
}

func (g *group) takeBack(ps *partSession) {
	if ps.releasing {
		return
	}
	ps.releasing = true
	ps.member.held--
	ps.session.post(readEvent{kind: eventRelease, ps: ps})
}

// balance brings the owners closer to the fair state. It is deterministic:
// it depends only on the order of joining and on who holds what.
func (g *group) balance() {
	if g.topic.gone.Load() {
		return
	}
	parts := *g.topic.partitions.Load()
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
	var shared []*partition
	for _, p := range parts {
		m, ps := wanted[p.id], g.owner[p.id]
		switch {
		case m == nil:
			shared = append(shared, p)
		case ps == nil:
			g.give(p, m)
		case ps.member != m:
			g.takeBack(ps)
		}
	}
	if len(common) > 0 {
		g.share(common, shared)
	}
}

// share deals partitions to the members without a choice of their own.
func (g *group) share(members []*member, parts []*partition) {
	base, extra := len(parts)/len(members), len(parts)%len(members)
	// Who holds most keeps the larger shares: fewest partitions move.
	order := slices.Clone(members)
	slices.SortStableFunc(order, func(a, b *member) int { return b.held - a.held })
	quota := make(map[*member]int, len(order))
	for i, m := range order {
		quota[m] = base
		if i < extra {
			quota[m]++
		}
	}
	for _, p := range slices.Backward(parts) {
		if ps := g.owner[p.id]; ps != nil && !ps.releasing && len(ps.member.explicit) == 0 && ps.member.held > quota[ps.member] {
			g.takeBack(ps)
		}
	}
	for _, p := range parts {
		if g.owner[p.id] != nil {
			continue
		}
		best := order[0]
		for _, m := range order {
			if quota[m]-m.held > quota[best]-best.held {
				best = m
			}
		}
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
