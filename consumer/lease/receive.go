package lease

// freshShare is after how many messages from the requeue ring a fresh one gets
// its turn. The ring goes first, so that what failed is tried again soon; the
// share keeps a stream of failures from stopping the queue.
const freshShare = 16

// receive answers with the messages that can be handed out now.
func (m *Machine) receive(in Input) {
	if m.repeat(in) {
		return
	}
	m.sizes.begin(in.Room, m.cfg.MaxBytes)
	limit := min(max(in.Max, 1), m.cfg.MaxInFlight-m.inFlight())
	if limit <= 0 {
		if m.cfg.FIFO {
			m.answer(Done)
		} else {
			m.answer(OverLimit)
		}
		return
	}
	if m.cfg.FIFO {
		m.takeGroups(limit, max(in.Visibility, 0))
	} else {
		m.takeLoose(limit, max(in.Visibility, 0))
	}
	if m.cfg.FIFO && in.AttemptID != (Hash{}) && in.Visibility > 0 && len(m.deliveries) > 0 {
		m.remember(in.AttemptID)
	}
	m.answerWith(m.deliveries)
	m.effects[len(m.effects)-1].Size = m.sizes.given - m.sizes.room
}

// takeLoose hands out up to limit messages of a standard queue.
func (m *Machine) takeLoose(limit int, visibility int64) {
	for limit > 0 {
		ref := m.nextLoose()
		if ref == 0 {
			break
		}
		if m.deliver(ref, visibility) {
			limit--
		} else if m.budget == 0 || m.sizes.full {
			break
		}
	}
	// With visibility 0 a message stays visible, but comes once in an answer.
	for _, n := range m.again {
		m.nodes.push(&m.requeue, requeueList, n)
	}
	m.again = m.again[:0]
}

// nextLoose gives the next message to hand out. Those of noisy tenants that it
// meets wait in their lanes, until nothing else is left or their tenant is calm.
func (m *Machine) nextLoose() uint32 {
	m.review()
	for {
		ref := m.nextMet()
		if ref == 0 {
			return m.nextNoisy()
		}
		r := m.window.at(ref)
		if r.status() == parked || !m.noisy(r.group) {
			return ref
		}
		if r.node != 0 {
			m.detach(r.node)
		}
		m.window.clearFresh(ref)
		m.park(ref)
	}
}

// nextMet gives the next visible message of the ring, or of those that wait
// longer: the lanes of calm tenants, then the fresh ones.
func (m *Machine) nextMet() uint32 {
	fresh := m.nextCalm()
	if fresh == 0 {
		fresh = m.window.nextFresh()
	}
	if n := m.requeue.head; n != 0 && (fresh == 0 || m.requeued < freshShare) {
		m.requeued++
		return m.nodes.nodes[n].ref
	}
	m.requeued = 0
	return fresh
}

// takeGroups hands out up to limit messages of a FIFO queue: from each ready
// group, in the order they became ready, its messages up to the first one that
// is not visible.
func (m *Machine) takeGroups(limit int, visibility int64) {
	for n := m.groups.ready; n > 0 && m.groups.ready > 0 && limit > 0; n-- {
		g := m.groups.head
		ref := m.groups.all[g].head
		for ref != 0 && limit > 0 {
			r := m.window.at(ref)
			if r.status() != visible {
				break
			}
			next := r.next
			if m.deliver(ref, visibility) {
				limit--
			} else if m.budget == 0 || m.sizes.full {
				limit = 0
			}
			ref = next
		}
		if m.groups.all[g].head == 0 {
			continue // its last message went to the dead-letter queue or expired
		}
		m.settle(g)
		if m.groups.all[g].ready {
			// Visibility 0: the group goes on, behind the others.
			m.groups.clearReady(g)
			m.groups.setReady(g)
		}
	}
}

// deliver hands out a visible message, unless it has expired, was received too
// often or is too large for any answer; then it leaves the queue and deliver returns
// false, as when it does not fit into this answer.
func (m *Machine) deliver(ref uint32, visibility int64) bool {
	r := m.window.at(ref)
	if m.expired(r.sent()) {
		m.remove(ref)
		return false
	}
	n := m.ensure(ref)
	x := &m.nodes.nodes[n]
	if limit := m.cfg.MaxReceives; limit > 0 && uint32(x.receives) >= limit && x.flags&nodeForced == 0 {
		if m.budget > 0 {
			m.startMove(ref, m.deadLetters())
		}
		return false
	}
	if !m.fits(ref) {
		return false
	}
	switch {
	case r.status() == parked:
		m.unpark(ref)
	case x.list == requeueList:
		m.nodes.unlink(&m.requeue, n)
	default:
		m.window.clearFresh(ref)
	}
	deadline := min(m.now+visibility, maxTime)
	x.receive(m.now, deadline)
	if visibility > 0 {
		m.setStatus(r, leased)
		m.wheel.add(&m.nodes, n)
	} else if !m.cfg.FIFO {
		m.again = append(m.again, n)
	}
	offset := m.window.offset(ref)
	m.emit(Op{Kind: OpLease, Offset: offset, Count: 1, Time: m.now, Deadline: deadline})
	m.deliveries = append(m.deliveries, Delivery{
		Offset: offset, Receives: uint32(x.receives), FirstReceived: x.first, Deadline: deadline,
	})
	return true
}

// receive notes one more hand-out.
func (x *node) receive(now, deadline int64) {
	if x.receives == 0 {
		x.first = now
	}
	if x.flags&nodeMoved != 0 {
		x.flags |= nodeWasMoved
	}
	if x.receives < maxReceives {
		x.receives++
	}
	x.last, x.at = now, deadline
	x.flags &^= nodeForced | nodeMoved
}

// offer makes a visible message available to receives. It is not in a list.
func (m *Machine) offer(ref uint32) {
	r := m.window.at(ref)
	switch {
	case m.cfg.FIFO:
		m.settle(r.group)
	case m.noisy(r.group):
		m.park(ref)
	case r.node != 0:
		m.nodes.push(&m.requeue, requeueList, r.node)
	default:
		m.window.setFresh(ref)
	}
}

// surface makes an invisible message visible: its lease, delay or hold is over
// and its node in no list.
func (m *Machine) surface(ref uint32) {
	r := m.window.at(ref)
	if m.expired(r.sent()) {
		m.remove(ref)
		return
	}
	m.setStatus(r, visible)
	m.unbind(r.node)
	if m.cfg.FIFO {
		m.slim(r)
	}
	m.offer(ref)
}

// slim frees the node of a visible message that has nothing to remember.
func (m *Machine) slim(r *record) {
	if r.node == 0 {
		return
	}
	if x := &m.nodes.nodes[r.node]; x.receives == 0 && x.flags&(nodeMoved|nodeForced) == 0 {
		m.nodes.release(r.node)
		r.node = 0
	}
}

// delayAgain applies a changed queue delay to the messages of a FIFO queue that
// were never received.
func (m *Machine) delayAgain() {
	m.window.each(func(_ int64, ref uint32) {
		r := m.window.at(ref)
		write := r.sent()
		if m.expired(write) {
			return // it will never be handed out
		}
		if r.node != 0 {
			x := &m.nodes.nodes[r.node]
			if x.receives > 0 || x.flags&nodeForced != 0 || r.status() == moving {
				return
			}
			if x.flags&nodeMoved != 0 {
				write = x.first
			}
			m.detach(r.node)
		}
		due := min(write+m.cfg.Delay, maxTime)
		if due > m.now {
			n := m.ensure(ref)
			m.nodes.nodes[n].at = due
			m.setStatus(r, delayed)
			m.wheel.add(&m.nodes, n)
		} else {
			m.setStatus(r, visible)
			m.slim(r)
		}
		m.settle(r.group)
	})
}
