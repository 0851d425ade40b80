package lease

import (
	"errors"
	"fmt"
)

const (
	// maxOffset bounds the offsets of a journal, well below overflow.
	maxOffset = 1 << 60
	// maxLeaseRun bounds the messages one lease op can name. An op of the machine
	// names fewer: one receive's at a time, neighbours merged.
	maxLeaseRun = 1 << 20
)

// errLoaded is the cause of a replay that comes too late.
var errLoaded = errors.New("the machine has been stepped")

// ahead is what is known of the offsets from the cursor on: the dead ones, and
// the states of the others as the journal left them, by node.
type ahead struct {
	dead   deadSet
	states map[int64]uint32
}

func newAhead() ahead { return ahead{dead: newDeadSet(), states: make(map[int64]uint32)} }

// take removes and gives the state of an offset, 0 if it has none.
func (a *ahead) take(offset int64) uint32 {
	if len(a.states) == 0 {
		return 0
	}
	n := a.states[offset]
	delete(a.states, offset)
	return n
}

// drop forgets the states of [from, to), moves included.
func (a *ahead) drop(m *Machine, from, to int64) {
	forget := func(offset int64, n uint32) {
		if x := &m.nodes.nodes[n]; x.status == moving {
			m.moves.end(x.at)
		}
		m.unbind(n)
		m.nodes.release(n)
		delete(a.states, offset)
	}
	if to-from <= int64(len(a.states)) {
		for offset := from; offset < to; offset++ {
			if n, ok := a.states[offset]; ok {
				forget(offset, n)
			}
		}
		return
	}
	for offset, n := range a.states {
		if offset >= from && offset < to {
			forget(offset, n)
		}
	}
}

// kill makes [from, to) gone; what lies below the cursor is not its matter.
func (a *ahead) kill(m *Machine, from, to int64) {
	if from = max(from, m.cursor); from >= to {
		return
	}
	a.drop(m, from, to)
	a.dead.add(from, to)
}

// state gives the node of a message that is not loaded, made if need be; 0 if
// the message is gone.
func (m *Machine) state(offset int64) uint32 {
	if offset < m.cursor || m.ahead.dead.has(offset) {
		return 0
	}
	n, ok := m.ahead.states[offset]
	if !ok {
		n = m.nodes.alloc()
		m.nodes.nodes[n].status = leased
		m.ahead.states[offset] = n
	}
	return n
}

// Apply repeats one op of the journal. It belongs before the first Step. An op
// on a message that is gone has no effect; one that makes no sense is an error.
func (m *Machine) Apply(op Op) error {
	if m.loaded {
		return fmt.Errorf("applying op kind %d: %w", op.Kind, errLoaded)
	}
	if op.Offset < 0 || op.Offset > maxOffset || op.Time < 0 || op.Time > maxTime ||
		op.Deadline < 0 || op.Deadline > maxTime {
		return fmt.Errorf("applying op kind %d: offset %d, time %d or deadline %d out of range",
			op.Kind, op.Offset, op.Time, op.Deadline)
	}
	if op.Kind != OpAttempt {
		m.attempts.open = 0
	}
	if op.namesMessages() {
		m.judge(min(op.Offset+max(op.Count, 1), maxOffset))
	}
	switch op.Kind {
	case OpLease:
		if op.Count <= 0 || op.Count > maxLeaseRun {
			return fmt.Errorf("applying lease at offset %d: count %d out of range", op.Offset, op.Count)
		}
		m.applyLease(op)
	case OpDelete:
		if op.Count <= 0 || op.Count > maxOffset {
			return fmt.Errorf("applying delete at offset %d: count %d out of range", op.Offset, op.Count)
		}
		m.ahead.kill(m, op.Offset, op.Offset+op.Count)
	case OpVisible:
		if n := m.ahead.states[op.Offset]; n != 0 && m.nodes.nodes[n].status == leased {
			m.unbind(n)
			m.nodes.nodes[n].at = op.Deadline
		}
	case OpReturn:
		m.applyReturn(op.Offset)
	case OpMove, OpDeadLetter:
		if op.Sequence < m.moves.next || op.Sequence > maxOffset {
			return fmt.Errorf("applying move of offset %d: sequence %d out of order", op.Offset, op.Sequence)
		}
		if op.Kind == OpDeadLetter && op.Target == 0 {
			return fmt.Errorf("applying dead letter %d: it has no target", op.Offset)
		}
		m.applyMove(op)
	case OpMoved:
		if op.Sequence >= m.moves.next {
			return fmt.Errorf("applying moved: sequence %d was not begun", op.Sequence)
		}
		m.finishMoves(op.Sequence)
	case OpPurge:
		if op.Offset > m.purged {
			m.purged = op.Offset
			m.judge(op.Offset)
			m.purgeAhead(op.Offset)
		}
	case OpUnmoved:
		if n := m.ahead.states[op.Offset]; n != 0 && m.nodes.nodes[n].status == moving {
			x := &m.nodes.nodes[n]
			m.moves.end(x.at)
			x.status, x.at = held, op.Deadline
			x.flags |= nodeForced
		}
	case OpAttempt:
		if op.Count <= 0 || op.Count > maxLeaseRun {
			return fmt.Errorf("applying attempt at offset %d: count %d out of range", op.Offset, op.Count)
		}
		m.applyAttempt(op)
	case OpDuplicate:
		if op.Count <= 0 || op.Count > maxOffset {
			return fmt.Errorf("applying duplicate at offset %d: count %d out of range", op.Offset, op.Count)
		}
		m.ahead.kill(m, op.Offset, op.Offset+op.Count)
		m.dups.add(op.Offset, op.Offset+op.Count, op.Time)
	case OpInherit, OpElderDuplicate:
		return m.applyElder(op)
	default:
		return fmt.Errorf("applying op at offset %d: unknown kind %d", op.Offset, op.Kind)
	}
	m.skip(m.cursor)
	return nil
}

// namesMessages tells whether Offset and Count of an op are messages that were
// loaded when it was made.
func (op *Op) namesMessages() bool {
	return op.Kind != OpPurge && op.Kind != OpMoved && op.Kind != OpInherit && op.Kind != OpElderDuplicate
}

func (m *Machine) applyElder(op Op) error {
	if op.Target > maxOffset || op.Count < 0 || op.Count > maxOffset {
		return fmt.Errorf("applying op kind %d: partition %d or count %d out of range", op.Kind, op.Target, op.Count)
	}
	partition := int64(op.Target)
	if op.Kind == OpInherit {
		m.elders.tell(partition, op.Offset, op.Time, m.cfg.DeduplicationWindow)
	} else if e := m.elders.find(partition); e != nil && op.Count > 0 {
		e.dups.add(op.Offset, op.Offset+op.Count, op.Time)
	}
	return nil
}

func (m *Machine) applyLease(op Op) {
	for offset := op.Offset; offset < op.Offset+op.Count; offset++ {
		n := m.state(offset)
		if n == 0 || m.nodes.nodes[n].status == moving {
			continue
		}
		m.unbind(n)
		x := &m.nodes.nodes[n]
		x.status = leased
		x.receive(op.Time, op.Deadline)
	}
}

func (m *Machine) applyReturn(offset int64) {
	n := m.ahead.states[offset]
	if n == 0 {
		return
	}
	x := &m.nodes.nodes[n]
	if x.status != leased || x.receives == 0 {
		return
	}
	m.unbind(n)
	x.at = 0
	if x.receives--; x.receives == 0 {
		m.nodes.release(m.ahead.take(offset))
	}
}

func (m *Machine) applyMove(op Op) {
	m.moves.next = op.Sequence
	n := m.state(op.Offset)
	if n == 0 || m.nodes.nodes[n].status == moving {
		m.moves.next++
		return
	}
	m.unbind(n)
	m.nodes.nodes[n].status = moving
	m.nodes.nodes[n].at = int64(m.moves.begin(move{
		destination: destination{target: op.Target, letter: op.Kind == OpDeadLetter}, offset: op.Offset,
	}))
}

// Replayed ends the replay at now. Load goes on from Cursor.
func (m *Machine) Replayed(now int64) {
	m.now = max(m.now, now)
	m.loaded = true
}
