package lease

// smallShare of MaxBytes is the size up to which a message is not remembered; it
// counts as that much. So an answer of ten small messages always fits.
const smallShare = 64

// Small is the size up to which messages need not be told apart, given MaxBytes.
func Small(most int64) int64 { return most / smallShare }

// sizes bounds the bytes of an answer. Of most messages only that they are small is
// known.
type sizes struct {
	large map[int64]large // by offset; of loaded messages only
	given int64           // the room of the answer being made
	room  int64           // what is left of it
	full  bool            // a message did not fit into it
}

type large struct {
	bytes     int64
	immovable bool
}

// note remembers a loaded message that is not small.
func (s *sizes) note(msg Message, most int64) {
	if most > 0 && msg.Size > Small(most) {
		s.large[msg.Offset] = large{bytes: msg.Size, immovable: msg.Immovable}
	}
}

func (s *sizes) drop(offset int64) {
	if len(s.large) > 0 {
		delete(s.large, offset)
	}
}

// begin starts an answer with room bytes, 0 = most.
func (s *sizes) begin(room, most int64) {
	if room <= 0 || room > most {
		room = most
	}
	s.given, s.room, s.full = room, room, false
}

// fits tells whether a message that would be handed out next has room in the
// answer, and takes the room. One that has room in no answer leaves the queue.
func (m *Machine) fits(ref uint32) bool {
	most := m.cfg.MaxBytes
	if most <= 0 {
		return true
	}
	s := &m.sizes
	offset := m.window.offset(ref)
	known, isLarge := s.large[offset]
	size := Small(most)
	if isLarge {
		size = known.bytes
	}
	switch {
	case size > most:
		m.discard(ref, offset, known)
		return false
	case size > s.room:
		s.full = true
		return false
	}
	s.room -= size
	return true
}

// discard takes a message out of the queue that is too large for any answer, as
// far as the step allows.
func (m *Machine) discard(ref uint32, offset int64, known large) {
	if m.budget == 0 {
		return
	}
	e := Effect{Kind: Oversize, Offset: offset, Size: known.bytes}
	if m.cfg.MoveOversize && m.cfg.MaxReceives > 0 && !known.immovable {
		e.Sequence = m.startMove(ref, m.deadLetters())
	} else {
		m.budget--
		m.emit(Op{Kind: OpDelete, Offset: offset, Count: 1})
		m.remove(ref)
	}
	m.effects = append(m.effects, e)
}
