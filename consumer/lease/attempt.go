package lease

import (
	"cmp"
	"slices"
)

// attemptWindow is how long after its receive an attempt id counts, ms.
const attemptWindow = 5 * 60 * 1000

// attempt is a receive of a FIFO queue that its client can repeat: the same id
// gets the same messages, with the same handles. It lives as long as every one
// of them is leased by it; whatever else happens to one ends it.
type attempt struct {
	hash    Hash
	at      int64   // the receive
	offsets []int64 // what it handed out, in order; at least one
	prev    uint32
	next    uint32
}

// attempts holds the receives that can be repeated, by time. Each has a leased
// message of its own, so there are at most MaxInFlight.
type attempts struct {
	all    []attempt // [0] is unused
	free   uint32    // chained by next
	byHash map[Hash]uint32
	head   uint32
	tail   uint32
	// open is, during a replay, the attempt that the next op may go on with.
	open uint32
}

func newAttempts() attempts {
	return attempts{all: make([]attempt, 1), byHash: make(map[Hash]uint32)}
}

// begin makes an attempt without messages. Only a replay brings one that is not
// the latest.
func (s *attempts) begin(h Hash, at int64) uint32 {
	id := s.free
	if id != 0 {
		s.free = s.all[id].next
	} else {
		id = uint32(len(s.all))
		s.all = append(s.all, attempt{})
	}
	after := s.tail
	for after != 0 && s.all[after].at > at {
		after = s.all[after].prev
	}
	before := s.head
	if after != 0 {
		before = s.all[after].next
		s.all[after].next = id
	} else {
		s.head = id
	}
	if before != 0 {
		s.all[before].prev = id
	} else {
		s.tail = id
	}
	a := &s.all[id]
	*a = attempt{hash: h, at: at, offsets: a.offsets[:0], prev: after, next: before}
	s.byHash[h] = id
	return id
}

// end takes an attempt out. Its place keeps the slice for the next one.
func (s *attempts) end(id uint32) {
	a := &s.all[id]
	if a.prev != 0 {
		s.all[a.prev].next = a.next
	} else {
		s.head = a.next
	}
	if a.next != 0 {
		s.all[a.next].prev = a.prev
	} else {
		s.tail = a.prev
	}
	delete(s.byHash, a.hash)
	*a = attempt{offsets: a.offsets[:0], next: s.free}
	s.free = id
	if s.open == id {
		s.open = 0
	}
}

// sorted gives the attempts by their first message.
func (s *attempts) sorted() []*attempt {
	var list []*attempt
	for id := s.head; id != 0; id = s.all[id].next {
		list = append(list, &s.all[id])
	}
	slices.SortFunc(list, func(a, b *attempt) int { return cmp.Compare(a.offsets[0], b.offsets[0]) })
	return list
}

// bind makes the leased message of node n the attempt's next one.
func (m *Machine) bind(id uint32, offset int64, n uint32) {
	a := &m.attempts.all[id]
	a.offsets = append(a.offsets, offset)
	m.nodes.nodes[n].attempt = id
}

// unbind ends the attempt that the lease of node n belongs to, if any.
func (m *Machine) unbind(n uint32) {
	x := &m.nodes.nodes[n]
	if id := x.attempt; id != 0 {
		x.attempt = 0
		m.forget(id)
	}
}

// forget ends an attempt.
func (m *Machine) forget(id uint32) {
	for _, offset := range m.attempts.all[id].offsets {
		if n := m.node(offset); n != 0 && m.nodes.nodes[n].attempt == id {
			m.nodes.nodes[n].attempt = 0
		}
	}
	m.attempts.end(id)
}

// node gives the node of a message, loaded or not, 0 if it has none.
func (m *Machine) node(offset int64) uint32 {
	if offset >= m.cursor {
		return m.ahead.states[offset]
	}
	if ref := m.window.find(offset); ref != 0 {
		return m.window.at(ref).node
	}
	return 0
}

// forgetOld ends the attempts whose time is over.
func (m *Machine) forgetOld() {
	s := &m.attempts
	for s.head != 0 && s.all[s.head].at+attemptWindow <= m.now {
		m.forget(s.head)
	}
}

// remember makes the receive that just handed out m.deliveries repeatable.
func (m *Machine) remember(h Hash) {
	id := m.attempts.begin(h, m.now)
	for i := range m.deliveries {
		offset := m.deliveries[i].Offset
		m.bind(id, offset, m.node(offset))
	}
	m.journalAttempt(id)
}

// journalAttempt emits an op for each run of the attempt's messages. Those after
// the first have no hash.
func (m *Machine) journalAttempt(id uint32) {
	a := &m.attempts.all[id]
	op := Op{Kind: OpAttempt, Hash: a.hash, Offset: a.offsets[0], Count: 1, Time: a.at}
	for _, offset := range a.offsets[1:] {
		if offset == op.Offset+op.Count {
			op.Count++
			continue
		}
		m.emit(op)
		op = Op{Kind: OpAttempt, Offset: offset, Count: 1, Time: a.at}
	}
	m.emit(op)
}

// repeat answers a receive whose attempt id is known with the messages of the
// first one, and starts their visibility timeout again. False: the id is not, or
// no longer, known.
func (m *Machine) repeat(in Input) bool {
	id := m.attempts.byHash[in.AttemptID] // there is none on standard queues
	if id == 0 {
		return false
	}
	for _, offset := range m.attempts.all[id].offsets {
		if _, s, _ := m.lookup(offset); s != leased {
			// It expired a moment ago, or ends its lease before it is loaded.
			if m.attempts.byHash[in.AttemptID] == id {
				m.forget(id)
			}
			return false
		}
	}
	visibility := max(in.Visibility, 0)
	for _, offset := range m.attempts.all[id].offsets {
		x := &m.nodes.nodes[m.node(offset)]
		m.deliveries = append(m.deliveries, Delivery{
			Offset: offset, Receives: uint32(x.receives), FirstReceived: x.first,
			Deadline: min(m.now+visibility, x.last+maxLease, maxTime),
		})
	}
	if visibility == 0 {
		m.forget(id)
		for i := range m.deliveries {
			m.relet(&m.deliveries[i], 0)
		}
	} else {
		for i := range m.deliveries {
			m.relet(&m.deliveries[i], m.deliveries[i].Deadline)
		}
		// For a replay the changed deadlines have ended the attempt.
		m.journalAttempt(id)
	}
	m.answerWith(m.deliveries)
	return true
}

// relet changes the deadline of a leased message; 0 gives it back.
func (m *Machine) relet(d *Delivery, deadline int64) {
	n := m.node(d.Offset)
	x := &m.nodes.nodes[n]
	x.at = deadline
	m.emit(Op{Kind: OpVisible, Offset: d.Offset, Deadline: deadline})
	if d.Offset >= m.cursor {
		return
	}
	m.detach(n)
	if deadline == 0 {
		m.surface(x.ref)
	} else {
		m.wheel.add(&m.nodes, n)
	}
}

// applyAttempt repeats an OpAttempt. Without all of its messages in the lease
// that it names, an attempt is not known.
func (m *Machine) applyAttempt(op Op) {
	s := &m.attempts
	if op.Hash != (Hash{}) {
		if id := s.byHash[op.Hash]; id != 0 {
			m.forget(id)
		}
		s.open = s.begin(op.Hash, op.Time)
	}
	for offset := op.Offset; offset < op.Offset+op.Count && s.open != 0; offset++ {
		n := m.ahead.states[offset]
		if n == 0 || m.nodes.nodes[n].status != leased || m.nodes.nodes[n].attempt != 0 {
			m.forget(s.open)
			return
		}
		m.bind(s.open, offset, n)
	}
}
