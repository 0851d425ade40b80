package lease

// delete removes a message. On a standard queue any handle that was once handed
// out does it; on a FIFO queue only the one of the running lease.
func (m *Machine) delete(offset int64, attempt uint32) Outcome {
	if attempt == 0 || offset < 0 {
		return Gone
	}
	n, s, ref := m.lookup(offset)
	if s == 0 {
		switch {
		case m.ahead.dead.has(offset):
			return Done
		case offset >= m.cursor:
			return Gone
		case m.cfg.Retention > 0:
			// It may be gone by retention alone, which is not journaled, and come back
			// with a longer one and another owner.
			m.emit(Op{Kind: OpDelete, Offset: offset, Count: 1})
		}
		return Done
	}
	var receives uint32
	if n != 0 {
		receives = uint32(m.nodes.nodes[n].receives)
	}
	switch {
	case attempt > receives:
		return Gone
	case m.cfg.FIFO && (s != leased || attempt != receives):
		return Expired
	case s == moving:
		// To say that it is deleted would be false if the move is given up.
		return Moving
	}
	m.emit(Op{Kind: OpDelete, Offset: offset, Count: 1})
	if ref != 0 {
		m.remove(ref)
		return Done
	}
	m.ahead.kill(m, offset, offset+1)
	m.skip(m.cursor)
	return Done
}

// purge removes everything below upto. Messages on the move to the dead-letter
// queue finish it, since the write may be under way.
func (m *Machine) purge(upto int64) {
	m.forgetElders()
	if upto <= m.purged {
		return
	}
	m.emit(Op{Kind: OpPurge, Offset: upto})
	m.purged = upto
	m.judge(upto)
	w := &m.window
	for id := w.first; id != 0 && w.chunks[id].number<<chunkBits < upto; {
		c := w.chunks[id]
		next := c.next
		for bit, left := 0, c.live; left != 0; bit, left = bit+1, left>>1 {
			if left&1 == 0 || c.number<<chunkBits+int64(bit) >= upto {
				continue
			}
			if ref := refOf(id, bit); w.at(ref).status() != moving {
				m.remove(ref)
			}
		}
		id = next
	}
	m.purgeAhead(upto)
}

// purgeAhead purges what is not loaded.
func (m *Machine) purgeAhead(upto int64) {
	from := m.cursor
	for _, offset := range m.moves.offsets(from, upto) {
		m.ahead.kill(m, from, offset)
		from = offset + 1
	}
	m.ahead.kill(m, from, upto)
	m.skip(m.cursor)
}
