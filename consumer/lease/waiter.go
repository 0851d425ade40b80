package lease

// waiter is one waiting receive.
type waiter struct {
	request    uint64
	max        int
	visibility int64
	prev, next uint32
	node       uint32 // its timer; 0 = a short poll
}

// waiters holds the receives without messages, in arrival order. Their number
// is bounded by the callers, each of whom waits for one.
type waiters struct {
	all       []waiter // [0] is unused
	free      uint32   // chained by next
	byRequest map[uint64]uint32
	head      uint32
	tail      uint32
	demand    int // sum of max
	// due are those whose time is over; a serve answers them at the latest.
	due []uint32
}

func newWaiters() waiters {
	return waiters{all: make([]waiter, 1), byRequest: make(map[uint64]uint32)}
}

func (s *waiters) add(w waiter) uint32 {
	id := s.free
	if id != 0 {
		s.free = s.all[id].next
	} else {
		id = uint32(len(s.all))
		s.all = append(s.all, waiter{})
	}
	w.prev, w.next = s.tail, 0
	s.all[id] = w
	if s.tail != 0 {
		s.all[s.tail].next = id
	} else {
		s.head = id
	}
	s.tail = id
	s.byRequest[w.request] = id
	s.demand += w.max
	return id
}

// leave ends a wait. Its node, if any, goes back to the pool; a due one is no
// longer in a list.
func (m *Machine) leave(id uint32) {
	s := &m.waiters
	w := s.all[id]
	if w.prev != 0 {
		s.all[w.prev].next = w.next
	} else {
		s.head = w.next
	}
	if w.next != 0 {
		s.all[w.next].prev = w.prev
	} else {
		s.tail = w.prev
	}
	s.demand -= w.max
	delete(s.byRequest, w.request)
	if w.node != 0 {
		if m.nodes.nodes[w.node].list == 0 {
			for i, d := range s.due {
				if d == id {
					s.due = append(s.due[:i], s.due[i+1:]...)
					break
				}
			}
		}
		m.detach(w.node)
		m.nodes.release(w.node)
	}
	s.all[id] = waiter{next: s.free}
	s.free = id
}

func (m *Machine) cancel(request uint64) {
	if id, ok := m.waiters.byRequest[request]; ok {
		m.leave(id)
	}
}

// receive queues a receive behind those that wait, serves all of them, and lets
// it wait or answers it empty.
func (m *Machine) receive(in Input) {
	id := m.waiters.add(waiter{request: in.Request, max: max(in.Max, 1), visibility: max(in.Visibility, 0)})
	m.serve()
	if m.waiters.byRequest[in.Request] != id {
		return
	}
	if in.WaitUntil > m.now {
		n := m.nodes.alloc()
		x := &m.nodes.nodes[n]
		x.at, x.ref, x.flags = in.WaitUntil, id, nodeWaiter
		m.waiters.all[id].node = n
		m.wheel.add(&m.nodes, n)
		return
	}
	m.leave(id)
	if !m.cfg.FIFO && m.inFlight() >= m.cfg.MaxInFlight {
		m.answer(in.Request, OverLimit)
		return
	}
	m.answer(in.Request, Done)
}

// servable says that a waiting receive gets a message, or that trying removes
// one that cannot be delivered.
func (m *Machine) servable() bool { return m.waiters.head != 0 && m.Ready() }

// serve hands out messages in the order the receives came, then ends those
// whose time is over.
func (m *Machine) serve() {
	for m.servable() {
		id := m.waiters.head
		w := &m.waiters.all[id]
		start := len(m.deliveries)
		limit := min(w.max, m.cfg.MaxInFlight-m.inFlight())
		if m.cfg.FIFO {
			m.takeGroups(limit, w.visibility)
		} else {
			m.takeLoose(limit, w.visibility)
		}
		end := len(m.deliveries)
		if start == end {
			// Nothing was left, or too many moves: then NextTimer asks for a Tick.
			break
		}
		m.effects = append(m.effects, Effect{
			Kind: Answer, Request: w.request, Outcome: Done,
			Deliveries: m.deliveries[start:end:end],
		})
		m.leave(id)
	}
	for len(m.waiters.due) > 0 {
		id := m.waiters.due[0]
		request := m.waiters.all[id].request
		m.leave(id)
		m.answer(request, Done)
	}
}
