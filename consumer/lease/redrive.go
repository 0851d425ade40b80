package lease

import (
	"cmp"
	"slices"
)

// maxMovesPerStep bounds the dead-letter moves one step starts, so that a queue
// full of failing messages does not make one huge journal record. NextTimer
// asks for the next step at once.
const maxMovesPerStep = 256

// move is one message on its way to another queue.
type move struct {
	destination
	sequence uint64
	offset   int64  // -1 = done or given up
	ref      uint32 // 0 = not loaded
}

// destination is where a move goes.
type destination struct {
	target uint64 // 0 = the dead-letter queue of the time of the move
	letter bool   // as a dead letter, to the queue target
}

// deadLetters is where a move goes that begins now because of the redrive policy.
func (m *Machine) deadLetters() destination {
	return destination{target: m.cfg.DeadLetters, letter: m.cfg.DeadLetters != 0}
}

// moves holds the moves that are not done, by sequence. The target takes a
// sequence only above those it has, so they are announced in order: a move that
// waits for its message to be loaded holds back those behind it.
type moves struct {
	queue     []move
	head      int    // queue[head:] are not over, the first one surely
	announced int    // queue[:announced] were announced, or are over
	next      uint64 // sequence of the next move; the first is 1
}

func newMoves() moves { return moves{next: 1} }

// find gives the place of a move in the queue.
func (s *moves) find(sequence uint64) (int, bool) {
	return slices.BinarySearchFunc(s.queue, sequence, func(v move, n uint64) int {
		return cmp.Compare(v.sequence, n)
	})
}

// first gives the move with the lowest sequence that is not over.
func (s *moves) first() (move, bool) {
	if s.head == len(s.queue) {
		return move{}, false
	}
	return s.queue[s.head], true
}

// begin queues the next move and returns its sequence.
func (s *moves) begin(v move) uint64 {
	v.sequence = s.next
	s.next++
	s.queue = append(s.queue, v)
	return v.sequence
}

// loaded gives a journaled move its message.
func (s *moves) loaded(sequence int64, ref uint32) {
	if i, ok := s.find(uint64(sequence)); ok {
		s.queue[i].ref = ref
	}
}

// end marks a move as over, and drops those over at the front now and then.
func (s *moves) end(sequence int64) {
	if i, ok := s.find(uint64(sequence)); ok {
		s.queue[i].offset, s.queue[i].ref = -1, 0
	}
	for s.head < len(s.queue) && s.queue[s.head].offset < 0 {
		s.head++
	}
	if s.head > len(s.queue)/2 {
		s.queue = slices.Delete(s.queue, 0, s.head)
		s.announced = max(0, s.announced-s.head)
		s.head = 0
	}
}

func (s *moves) unannounced() bool { return s.announced < len(s.queue) }

// offsets gives the offsets in [from, to) that are on the move, sorted.
func (s *moves) offsets(from, to int64) []int64 {
	var out []int64
	for _, v := range s.queue {
		if v.offset >= from && v.offset < to {
			out = append(out, v.offset)
		}
	}
	slices.Sort(out)
	return out
}

// moveOut begins moves of visible messages to a target, as many as in.Max and
// the step allow.
func (m *Machine) moveOut(in Input) {
	count := 0
	for ref := m.nextMovable(); ref != 0 && count < in.Max && m.budget > 0; ref = m.nextMovable() {
		if m.expired(m.window.at(ref).sent()) {
			m.remove(ref)
			continue
		}
		m.ensure(ref)
		m.startMove(ref, destination{target: in.Target})
		count++
	}
	answer := Effect{Kind: Answer, Outcome: Done, Moves: count}
	if count > 0 {
		answer.Sequence = m.moves.next - 1
	}
	m.effects = append(m.effects, answer)
}

// nextMovable gives the message that a receive would hand out next.
func (m *Machine) nextMovable() uint32 {
	switch {
	case !m.cfg.FIFO:
		return m.nextLoose()
	case m.groups.ready > 0:
		return m.groups.all[m.groups.head].head
	}
	return 0
}

// startMove sends a visible message to a target and returns the move's sequence.
// Its group goes on without it.
func (m *Machine) startMove(ref uint32, to destination) uint64 {
	r := m.window.at(ref)
	if r.status() == parked {
		m.unpark(ref)
	}
	offset := m.window.offset(ref)
	m.detach(r.node)
	m.window.clearFresh(ref)
	m.setStatus(r, moving)
	if m.cfg.FIFO {
		m.unlink(ref)
		m.groups.all[r.group].moves++
		m.settle(r.group)
	}
	m.budget--
	sequence := m.moves.begin(move{destination: to, offset: offset, ref: ref})
	m.nodes.nodes[r.node].at = int64(sequence)
	kind := OpMove
	if to.letter {
		kind = OpDeadLetter
	}
	m.emit(Op{Kind: kind, Offset: offset, Sequence: sequence, Target: to.target})
	return sequence
}

// announce asks for the moves that may start.
func (m *Machine) announce() {
	s := &m.moves
	for ; s.announced < len(s.queue); s.announced++ {
		v := s.queue[s.announced]
		if v.offset < 0 {
			continue
		}
		if v.ref == 0 {
			return
		}
		receives := m.nodes.nodes[m.window.at(v.ref).node].receives
		m.effects = append(m.effects, Effect{
			Kind: Move, Offset: v.offset, Sequence: v.sequence, Target: v.target, DeadLetter: v.letter || v.target == 0, Receives: uint32(receives),
			Size: m.sizes.large[v.offset].bytes,
		})
	}
}

// LastMove is the sequence of the last move that was begun, 0 when there was none.
func (m *Machine) LastMove() uint64 { return m.moves.next - 1 }

// MovesFrom sets the sequence of the first move ever. It belongs behind Replayed,
// and has no effect once there was a move. A partition whose journal was lost has to
// go on above the sequences of its former life, since the targets know those.
func (m *Machine) MovesFrom(sequence uint64) {
	if m.moves.next == 1 {
		m.moves.next = min(max(sequence, 1), maxOffset)
	}
}

// moved ends the moves up to sequence.
func (m *Machine) moved(sequence uint64) {
	if v, ok := m.moves.first(); !ok || v.sequence > sequence {
		return
	}
	sequence = min(sequence, m.moves.next-1)
	m.emit(Op{Kind: OpMoved, Sequence: sequence})
	m.finishMoves(sequence)
}

func (m *Machine) finishMoves(sequence uint64) {
	for v, ok := m.moves.first(); ok && v.sequence <= sequence; v, ok = m.moves.first() {
		m.moves.end(int64(v.sequence))
		if v.ref != 0 {
			m.remove(v.ref)
		} else {
			m.ahead.kill(m, v.offset, v.offset+1)
		}
	}
	m.skip(m.cursor)
}

// unmovable takes a message back whose move was given up. It stays invisible
// for ms; then the next receive hands it out, whatever its count.
func (m *Machine) unmovable(offset, ms int64) {
	n, s, ref := m.lookup(offset)
	if s != moving {
		return
	}
	x := &m.nodes.nodes[n]
	if offset < m.purged {
		m.emit(Op{Kind: OpDelete, Offset: offset, Count: 1})
		m.moves.end(x.at)
		if ref != 0 {
			m.remove(ref)
			return
		}
		m.ahead.kill(m, offset, offset+1)
		m.skip(m.cursor)
		return
	}
	deadline := min(m.now+max(ms, 0), maxTime)
	m.emit(Op{Kind: OpUnmoved, Offset: offset, Deadline: deadline})
	m.moves.end(x.at)
	x.at, x.status = deadline, held
	x.flags |= nodeForced
	if ref == 0 {
		return
	}
	r := m.window.at(ref)
	m.window.unpass(ref)
	m.setStatus(r, held)
	if m.cfg.FIFO {
		m.groups.all[r.group].moves--
		m.link(r.group, ref)
		m.settle(r.group)
	}
	m.wheel.add(&m.nodes, n) // a time that is over fires in the next step
}
