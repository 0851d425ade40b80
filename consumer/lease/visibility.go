package lease

// visibility hides a leased message until now+ms, or gives it back. AWS lets a
// standard queue's handle outlive its lease: the call succeeds without effect.
func (m *Machine) visibility(offset int64, attempt uint32, ms int64) Outcome {
	n, s, ref := m.lookup(offset)
	if s == 0 || s == moving || attempt == 0 || n == 0 {
		return Gone
	}
	x := &m.nodes.nodes[n]
	if attempt > uint32(x.receives) {
		return Gone
	}
	if s != leased || attempt != uint32(x.receives) {
		if m.cfg.FIFO {
			return Expired
		}
		return Done
	}
	ms = max(ms, 0)
	deadline := min(m.now+ms, maxTime)
	if deadline > x.last+maxLease {
		return TooLong
	}
	if ms == 0 {
		deadline = 0
	}
	m.unbind(n)
	x.at = deadline
	m.emit(Op{Kind: OpVisible, Offset: offset, Deadline: deadline})
	if ref == 0 {
		return Done
	}
	m.detach(n)
	if ms == 0 {
		m.surface(ref)
	} else {
		m.wheel.add(&m.nodes, n)
	}
	return Done
}

// giveBack ends a lease whose receive reached nobody. The count falls again, where
// what is known of the message is enough to be as before.
func (m *Machine) giveBack(offset int64, attempt uint32) Outcome {
	n, s, ref := m.lookup(offset)
	if n == 0 || s != leased || attempt != uint32(m.nodes.nodes[n].receives) {
		return m.visibility(offset, attempt, 0)
	}
	x := &m.nodes.nodes[n]
	if x.receives == maxReceives || x.receives == 1 && x.flags&nodeWasMoved != 0 {
		return m.visibility(offset, attempt, 0)
	}
	m.emit(Op{Kind: OpReturn, Offset: offset})
	m.unbind(n)
	x.receives--
	x.at = 0
	switch {
	case ref != 0:
		m.detach(n)
		m.surface(ref)
	case x.receives == 0:
		m.nodes.release(m.ahead.take(offset))
	}
	return Done
}

// lookup finds a message, loaded or not. Status 0 = gone, or unknown; ref 0 =
// not loaded; node 0 = never received. A message past its retention is removed
// on the way.
func (m *Machine) lookup(offset int64) (n uint32, s status, ref uint32) {
	if offset >= m.cursor {
		n = m.ahead.states[offset]
		if n == 0 {
			return 0, 0, 0
		}
		x := &m.nodes.nodes[n]
		if s = x.status; s != moving && x.at <= m.now {
			s = visible
		}
		return n, s, 0
	}
	if ref = m.window.find(offset); ref == 0 {
		return 0, 0, 0
	}
	r := m.window.at(ref)
	if s = r.status(); s != moving && m.expired(r.sent()) {
		m.remove(ref)
		return 0, 0, 0
	}
	return r.node, s, ref
}
