package lease

// group is one message group of a FIFO queue: its messages that are not gone,
// in offset order. A message on its way to the dead-letter queue is not in the
// list, but keeps the group alive.
type group struct {
	hash  Hash
	head  uint32
	tail  uint32
	prev  uint32 // the neighbours in the ready list
	next  uint32
	moves uint32 // its messages that are on their way to the dead-letter queue
	ready bool
	held  bool // a parent partition has messages of it
}

// groups holds the message groups that have messages, and the list of ready
// ones: those whose first message is visible and that are not held, in the order
// they became so.
type groups struct {
	all    []group // [0] is unused
	free   uint32  // chained by next
	byHash map[Hash]uint32
	head   uint32 // of the ready list
	tail   uint32
	ready  int
	holds  holds
}

func newGroups() groups {
	return groups{all: make([]group, 1), byHash: make(map[Hash]uint32)}
}

// get gives the group of a hash, made if need be.
func (s *groups) get(h Hash) uint32 {
	if g, ok := s.byHash[h]; ok {
		return g
	}
	g := s.free
	if g != 0 {
		s.free = s.all[g].next
	} else {
		g = uint32(len(s.all))
		s.all = append(s.all, group{})
	}
	s.all[g] = group{hash: h, held: s.holds.has(h)}
	s.byHash[h] = g
	return g
}

func (s *groups) setReady(g uint32) {
	x := &s.all[g]
	x.ready, x.prev, x.next = true, s.tail, 0
	if s.tail != 0 {
		s.all[s.tail].next = g
	} else {
		s.head = g
	}
	s.tail = g
	s.ready++
}

func (s *groups) clearReady(g uint32) {
	x := &s.all[g]
	if x.prev != 0 {
		s.all[x.prev].next = x.next
	} else {
		s.head = x.next
	}
	if x.next != 0 {
		s.all[x.next].prev = x.prev
	} else {
		s.tail = x.prev
	}
	x.ready, x.prev, x.next = false, 0, 0
	s.ready--
}

// settle brings the ready list up to date after a change at the head of g, and
// frees g when nothing is left of it.
func (m *Machine) settle(g uint32) {
	x := &m.groups.all[g]
	ready := x.head != 0 && !x.held && m.window.at(x.head).status() == visible
	switch {
	case ready && !x.ready:
		m.groups.setReady(g)
	case !ready && x.ready:
		m.groups.clearReady(g)
	}
	if x.head == 0 && x.moves == 0 {
		if m.ended {
			m.effects = append(m.effects, Effect{Kind: Drained, Group: x.hash})
		}
		delete(m.groups.byHash, x.hash)
		*x = group{next: m.groups.free}
		m.groups.free = g
	}
}

// link puts a message into its group by offset. New messages go to the end at
// once; one that returns from a move walks from the front, where it was.
func (m *Machine) link(g, ref uint32) {
	w, x := &m.window, &m.groups.all[g]
	r := w.at(ref)
	r.group = g
	after := x.tail
	if offset := w.offset(ref); after != 0 && w.offset(after) > offset {
		after = 0
		for n := x.head; w.offset(n) < offset; n = w.at(n).next {
			after = n
		}
	}
	r.prev = after
	if after != 0 {
		r.next = w.at(after).next
		w.at(after).next = ref
	} else {
		r.next = x.head
		x.head = ref
	}
	if r.next != 0 {
		w.at(r.next).prev = ref
	} else {
		x.tail = ref
	}
}

func (m *Machine) unlink(ref uint32) {
	w := &m.window
	r := w.at(ref)
	x := &m.groups.all[r.group]
	if r.prev != 0 {
		w.at(r.prev).next = r.next
	} else {
		x.head = r.next
	}
	if r.next != 0 {
		w.at(r.next).prev = r.prev
	} else {
		x.tail = r.prev
	}
	r.prev, r.next = 0, 0
}
