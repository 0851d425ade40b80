package lease

import "fmt"

// load takes the next message of the log into the window. A message below the
// cursor is known already; only its deduplication id may be news.
func (m *Machine) load(msg Message) {
	if msg.Offset > m.cursor {
		panic(fmt.Sprintf("lease: load of offset %d at cursor %d without a gap", msg.Offset, m.cursor))
	}
	if msg.Offset < m.cursor {
		m.Seen(msg.Deduplication, msg.WriteTime, msg.Offset)
		return
	}
	m.expireIDs(msg.WriteTime)
	n := m.ahead.take(msg.Offset)
	if m.duplicate(msg) {
		m.emit(Op{Kind: OpDuplicate, Offset: msg.Offset, Count: 1, Time: writeTime(msg.WriteTime)})
		if !m.dups.add(msg.Offset, msg.Offset+1, writeTime(msg.WriteTime)) {
			m.unchecked++
		}
		m.skip(msg.Offset + 1)
		return
	}
	sent := msg.SentTime
	if sent == 0 {
		sent = msg.WriteTime
	}
	sent = min(max(sent, 0), maxTime)
	if m.expired(sent) && (n == 0 || m.nodes.nodes[n].status != moving) {
		if n != 0 {
			m.unbind(n)
			m.nodes.release(n)
		}
		m.skip(msg.Offset + 1)
		return
	}
	m.enter(msg, sent, n)
	m.skip(msg.Offset + 1)
}

// enter makes the record of a message that is alive; n is its journaled state.
func (m *Machine) enter(msg Message, sent int64, n uint32) {
	ref := m.window.add(msg.Offset)
	r := m.window.at(ref)
	m.sizes.note(msg, m.cfg.MaxBytes)
	r.time = uint64(sent) << 8
	s := visible
	if n != 0 {
		x := &m.nodes.nodes[n]
		x.ref = ref
		r.node = n
		if s = x.status; s != moving && x.at <= m.now {
			s = visible
			m.unbind(n)
		}
	} else if due := m.due(msg); due > m.now {
		s = delayed
		m.nodes.nodes[m.ensure(ref)].at = due
	}
	r.time |= uint64(s)
	if !m.cfg.FIFO {
		r.group = m.tenants.enter(msg.Group)
	}
	m.tally(r, s, 1)
	if m.cfg.FIFO {
		// A moving one comes into the list if the move is given up.
		if r.group = m.groups.get(msg.Group); s == moving {
			m.groups.all[r.group].moves++
		} else {
			m.link(r.group, ref)
		}
	}
	if m.cfg.FIFO && sent != msg.WriteTime {
		x := &m.nodes.nodes[m.ensure(ref)]
		if n == 0 {
			x.first, x.flags = msg.WriteTime, x.flags|nodeMoved
		} else {
			x.flags |= nodeWasMoved
		}
	}
	switch s {
	case visible:
		m.offer(ref)
	case moving:
		m.moves.loaded(m.nodes.nodes[n].at, ref)
	case leased, delayed, held, parked, statuses:
		m.wheel.add(&m.nodes, r.node)
		if m.cfg.FIFO {
			m.settle(r.group)
		}
	}
}

// due is when a message without receives may first be handed out.
func (m *Machine) due(msg Message) int64 {
	delay := msg.Delay
	if m.cfg.FIFO || delay < 0 {
		delay = m.cfg.Delay
	}
	return min(msg.WriteTime+delay, maxTime)
}

// duplicate applies the deduplication rule to the next message: the first of an
// id counts, and for the window after it no other does.
func (m *Machine) duplicate(msg Message) bool {
	if !m.cfg.FIFO {
		return false
	}
	duplicate := msg.Deduplication != (Hash{}) && !m.note(msg.Deduplication, msg.WriteTime, msg.Offset)
	m.judge(msg.Offset + 1)
	return duplicate
}

// judge notes that the duplicates below offset are known. Every op but a purge
// and the end of a move names a message that was loaded.
func (m *Machine) judge(offset int64) {
	if m.cfg.FIFO {
		m.judged = max(m.judged, offset)
	}
}

// writeTime brings a time of the log into the range an op can have.
func writeTime(ms int64) int64 { return min(max(ms, 0), maxTime) }

// expireIDs drops what is known of ids that cannot matter to messages written from
// writeTime on.
func (m *Machine) expireIDs(writeTime int64) {
	if m.cfg.FIFO {
		m.dups.expire(writeTime, m.cfg.DeduplicationWindow)
		m.elders.expire(writeTime)
	}
}

// Seen feeds the deduplication id of a message below the cursor, in offset
// order with the others. After a restart the shell gives it the part of the log
// the deduplication window before the first message to load. It tells whether the
// id counts: the message was the first, and no purge has forgotten it.
func (m *Machine) Seen(h Hash, writeTime, offset int64) bool {
	m.expireIDs(writeTime)
	if !m.cfg.FIFO || h == (Hash{}) || m.dups.has(offset) {
		return false
	}
	return m.note(h, writeTime, offset) && offset >= m.purged
}

// note tells whether the message is the first of its id, and remembers it then.
// A purge forgets the ids of what it removed. A message that was judged before a
// restart, and is not known as a duplicate, was the first of its id, whatever the
// index can tell by now.
func (m *Machine) note(h Hash, writeTime, offset int64) bool {
	if offset < m.purged {
		return true
	}
	if offset >= m.judged {
		partition, first, ok := m.seen.Lookup(h, writeTime)
		if ok && (partition != 0 || first != offset) && m.idCounts(partition, first) {
			return false
		}
	}
	if !m.seen.Add(h, writeTime, 0, offset) {
		m.unchecked++
	}
	return true
}

// gap passes over offsets the log does not have.
func (m *Machine) gap(upto int64) {
	if upto <= m.cursor {
		return
	}
	m.ahead.drop(m, m.cursor, upto)
	m.judge(upto) // what is not there is no duplicate
	m.skip(upto)
}

// committed passes over what others have finished. It is journaled: from now on
// deletes there have nothing to do, and say so, whatever becomes of the commit.
func (m *Machine) committed(upto int64) {
	if upto <= m.cursor {
		return
	}
	m.emit(Op{Kind: OpDelete, Offset: m.cursor, Count: upto - m.cursor})
	m.gap(upto)
}
