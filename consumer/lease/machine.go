package lease

import (
	"fmt"
	"slices"
)

const (
	defaultInFlight            = 120_000
	defaultWindow              = 120_000
	defaultDeduplicationWindow = 300_000

	// dedupCapacity bounds the deduplication ids of a partition: 3,400 messages/s
	// for five minutes, above AWS's 3,000 with batches.
	dedupCapacity = 1 << 20
	// readAhead is how many messages are made visible when fewer than readAgain
	// are. Between them nothing is read, so that a backlog is read in long runs
	// and not in as small ones as it is received.
	readAhead = 2000
	readAgain = 1000
	// keptNodes is how many nodes or chunks an empty machine may keep.
	keptNodes = 1024
	// maxLease is how long after its receive a message can stay leased.
	maxLease = 12 * 60 * 60 * 1000
)

// Counts is how many loaded messages are in which state.
type Counts struct {
	// Visible includes messages that wait for an earlier one of their group.
	Visible int
	// InFlight are leased, or held back after a dead-letter move was given up.
	InFlight int
	Delayed  int
	Moving   int
	// Unchecked counts the messages that were loaded without deduplication,
	// because the index was full, and the duplicates that were forgotten before
	// their time, because they were too many; it never falls.
	Unchecked uint64
}

// Machine is the state of one partition. It is not safe for concurrent use.
type Machine struct {
	cfg    Config
	now    int64 // the latest time seen; it never goes back
	cursor int64 // the next offset to load; never one that is known to be gone
	purged int64 // everything below was purged, messages on the move excepted

	window  window
	nodes   pool
	wheel   wheel
	counts  [statuses]int
	requeue list // standard queues: visible messages that came back, by node
	// requeued counts the hand-outs from the ring since the last fresh one.
	requeued int
	groups   groups
	tenants  tenants
	moves    moves
	attempts attempts
	seen     *Index
	dups     duplicates
	elders   elders
	// judged: of the messages below it, those that are duplicates were journaled as
	// such; FIFO only.
	judged int64

	unchecked uint64

	// ahead is what the journal says of messages that are not loaded.
	ahead  ahead
	ended  bool // no message comes after the cursor
	loaded bool // no Apply or Restore any more

	ops        []Op
	effects    []Effect
	deliveries []Delivery
	again      []uint32 // nodes to requeue when the present answer is complete
	budget     int      // dead-letter moves and oversized deletes this step may still start
	sizes      sizes
}

// New makes an empty machine that starts at offset 0.
func New(cfg Config) *Machine {
	cfg = cfg.withDefaults()
	return &Machine{
		cfg:      cfg,
		window:   newWindow(),
		nodes:    newPool(),
		groups:   newGroups(),
		tenants:  newTenants(),
		moves:    newMoves(),
		attempts: newAttempts(),
		seen:     NewIndex(cfg.DeduplicationWindow, dedupCapacity),
		ahead:    newAhead(),
		budget:   maxMovesPerStep,
		sizes:    sizes{large: make(map[int64]large)},
	}
}

func (c Config) withDefaults() Config {
	if c.MaxInFlight <= 0 {
		c.MaxInFlight = defaultInFlight
	}
	if c.Window <= 0 {
		c.Window = defaultWindow
	}
	if c.DeduplicationWindow <= 0 {
		c.DeduplicationWindow = defaultDeduplicationWindow
	}
	return c
}

// Step takes one input at now (ms since the epoch) and returns what the shell
// must do. Whatever is due at now has happened before the input is looked at.
// The effects are valid until the next Step; the ops of the step are in TakeOps.
func (m *Machine) Step(now int64, in Input) []Effect {
	m.loaded = true
	m.effects, m.deliveries = m.effects[:0], m.deliveries[:0]
	m.budget = maxMovesPerStep
	m.advance(now)
	switch in.Kind {
	case Load:
		m.load(in.Message)
	case Gap:
		m.gap(in.Upto)
	case Committed:
		m.committed(in.Upto)
	case Receive:
		m.receive(in)
	case Repeat:
		if !m.repeat(in) {
			m.answer(Done)
		}
	case MoveOut:
		m.moveOut(in)
	case Delete:
		m.answer(m.delete(in.Offset, in.Attempt))
	case Visibility:
		m.answer(m.visibility(in.Offset, in.Attempt, in.Visibility))
	case Purge:
		m.purge(in.Upto)
		m.answer(Done)
	case Tick:
		m.rest()
	case Hold:
		m.hold(true, nil)
	case Release:
		m.hold(false, in.Groups)
	case Free:
		m.free(in.Groups)
	case Ended:
		m.ended = true
	case Moved:
		m.moved(in.Sequence)
	case Unmovable:
		m.unmovable(in.Offset, in.Visibility)
	case Inherit:
		m.inherit(in.Elders)
	case Return:
		m.answer(m.giveBack(in.Offset, in.Attempt))
	case Forget:
		m.forgetElder(in.Partition, in.Upto)
	default:
		panic(fmt.Sprintf("lease: unknown input kind %d", in.Kind))
	}
	m.review()
	m.announce()
	return m.effects
}

// advance ends what is due: retention first, so that nothing comes back only to
// expire, then the timers in order of time.
func (m *Machine) advance(now int64) {
	m.now = max(m.now, now)
	m.expire()
	m.forgetOld()
	for n := m.wheel.pop(&m.nodes, m.now); n != 0; n = m.wheel.pop(&m.nodes, m.now) {
		m.surface(m.nodes.nodes[n].ref)
	}
}

func (m *Machine) answer(o Outcome) {
	m.effects = append(m.effects, Effect{Kind: Answer, Outcome: o})
}

func (m *Machine) answerWith(deliveries []Delivery) {
	m.effects = append(m.effects, Effect{Kind: Answer, Outcome: Done, Deliveries: deliveries})
}

func (m *Machine) emit(op Op) {
	if n := len(m.ops); n > 0 && m.ops[n-1].absorb(op) {
		return
	}
	m.ops = append(m.ops, op)
}

// absorb merges the next op into a run it continues at either end.
func (op *Op) absorb(next Op) bool {
	if op.Kind != next.Kind || (op.Kind != OpLease && op.Kind != OpDelete && op.Kind != OpDuplicate) ||
		op.Time != next.Time || op.Deadline != next.Deadline || op.Count >= maxLeaseRun {
		return false
	}
	switch {
	case op.Offset+op.Count == next.Offset:
	case next.Offset+next.Count == op.Offset:
		op.Offset = next.Offset
	default:
		return false
	}
	op.Count += next.Count
	return true
}

// TakeOps appends the ops since the last call to dst, in the order they must be
// replayed in.
func (m *Machine) TakeOps(dst []Op) []Op {
	dst = append(dst, m.ops...)
	m.ops = m.ops[:0]
	return dst
}

// Configure takes changed attributes. On FIFO queues a changed delay applies to
// the messages that are there and were never received; on standard queues it is
// for messages loaded from now on. Retention and limits apply from the next
// Step. Whether the queue is FIFO cannot change.
func (m *Machine) Configure(now int64, cfg Config) {
	cfg = cfg.withDefaults()
	cfg.FIFO = m.cfg.FIFO
	m.now = max(m.now, now)
	delay := m.cfg.Delay
	m.cfg = cfg
	m.seen.window = cfg.DeduplicationWindow
	if cfg.FIFO && cfg.Delay != delay {
		m.delayAgain()
	}
}

// Cursor is the offset of the next message to Load. It passes over messages that
// are known to be gone, so it may be beyond the last loaded one plus one.
func (m *Machine) Cursor() int64 { return m.cursor }

// Known is the offset behind the last message that the machine knows of: loaded,
// gone, or told by the journal.
func (m *Machine) Known() int64 {
	last := max(m.cursor, m.purged, m.judged)
	m.ahead.dead.each(m.cursor, func(_, to int64) { last = max(last, to) })
	for offset := range m.ahead.states {
		last = max(last, offset+1)
	}
	return last
}

// CommitOffset is the first offset that is not gone; everything below is
// finished. It never falls.
func (m *Machine) CommitOffset() int64 {
	if offset, ok := m.window.firstLive(); ok {
		return offset
	}
	return m.cursor
}

// Counts tells how many loaded messages are in which state.
func (m *Machine) Counts() Counts {
	return Counts{
		Visible:   m.counts[visible] + m.counts[parked],
		InFlight:  m.inFlight(),
		Delayed:   m.counts[delayed],
		Moving:    m.counts[moving],
		Unchecked: m.unchecked,
	}
}

func (m *Machine) inFlight() int { return m.counts[leased] + m.counts[held] }

// Want is how many more messages should be loaded now. A queue keeps between
// readAgain and readAhead visible, a standard one besides some of noisy tenants; a FIFO queue reads on, as
// far as the window goes, while no group is ready.
func (m *Machine) Want() int {
	room := max(0, m.cfg.Window-m.window.live)
	if m.cfg.FIFO && m.groups.ready == 0 {
		return room
	}
	ready := m.counts[visible] + m.counts[parked]
	if m.tenants.waiting < searchAhead {
		ready -= m.tenants.waiting
	}
	want := 0
	if ready < readAgain {
		want = readAhead - ready
	}
	if m.moves.unannounced() {
		// A move that began before a restart goes on once its message is loaded.
		want = max(want, readAhead)
	}
	return min(room, want)
}

// MoveWaits tells whether a move that began before a restart waits for its message
// to be loaded.
func (m *Machine) MoveWaits() bool { return m.moves.unannounced() }

// NextTimer gives the ms at which the next Tick is needed, since something is
// due then. It is never late; with many timers close together and far away it
// may be early. After a receive that began as many dead-letter moves, or deleted as
// many oversized messages, as one step may, it is now: another receive may get what
// lies behind them.
func (m *Machine) NextTimer() (int64, bool) {
	if m.budget == 0 && m.Ready() {
		return m.now, true
	}
	at, ok := m.wheel.next(&m.nodes)
	if expiry, found := m.nextExpiry(); found && (!ok || expiry < at) {
		at, ok = expiry, true
	}
	return at, ok
}

// setStatus moves a loaded message from one count to another.
func (m *Machine) setStatus(r *record, s status) {
	m.tally(r, r.status(), -1)
	m.tally(r, s, 1)
	r.time = r.time&^0xff | uint64(s)
}

// tally counts a loaded message of a status.
func (m *Machine) tally(r *record, s status, by int) {
	flight := (s == leased || s == held) && !m.cfg.FIFO
	if flight {
		m.work(r.group)
	}
	if m.counts[s] += by; flight && r.group != 0 {
		m.tenants.all[r.group].flight += uint32(by)
	}
}

// ensure gives the node of a loaded message, made if need be.
func (m *Machine) ensure(ref uint32) uint32 {
	r := m.window.at(ref)
	if r.node == 0 {
		r.node = m.nodes.alloc()
		m.nodes.nodes[r.node].ref = ref
	}
	return r.node
}

// detach takes node n out of the list it is in.
func (m *Machine) detach(n uint32) {
	switch id := m.nodes.nodes[n].list; id {
	case 0:
	case requeueList:
		m.nodes.unlink(&m.requeue, n)
	default:
		m.wheel.remove(&m.nodes, n)
	}
}

// remove makes a loaded message gone. It is the only way out.
func (m *Machine) remove(ref uint32) {
	r := m.window.at(ref)
	if r.status() == parked {
		m.unpark(ref)
	}
	s, g := r.status(), r.group
	m.tally(r, s, -1)
	m.sizes.drop(m.window.offset(ref))
	if r.node != 0 {
		m.detach(r.node)
		m.unbind(r.node)
		m.nodes.release(r.node)
	}
	if !m.cfg.FIFO {
		m.window.drop(ref)
		m.tenants.leave(g)
		return
	}
	if s == moving {
		m.groups.all[g].moves--
	} else {
		m.unlink(ref)
	}
	m.window.drop(ref)
	m.settle(g)
}

// rest gives the memory of a busy time back once nothing is left of it.
func (m *Machine) rest() {
	if len(m.nodes.nodes) < keptNodes && len(m.window.chunks) < keptNodes {
		return
	}
	if m.window.live > 0 || len(m.ahead.states) > 0 {
		return
	}
	held := m.groups.holds
	m.window, m.nodes, m.groups, m.attempts = newWindow(), newPool(), newGroups(), newAttempts()
	m.groups.holds, m.tenants = held, newTenants()
	m.ahead.states = make(map[int64]uint32)
	m.requeue = list{}
	m.ops, m.deliveries, m.again = slices.Clone(m.ops), nil, nil
}

// skip moves the cursor to the first offset from cursor on that may be alive.
func (m *Machine) skip(cursor int64) {
	from := m.cursor
	m.cursor = m.ahead.dead.next(cursor)
	if m.cursor>>chunkBits != from>>chunkBits {
		m.ahead.dead.forget(from, m.cursor)
	}
}

// sortedKeys is for the maps whose order must not show.
func sortedKeys[V any](m map[int64]V) []int64 {
	keys := make([]int64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
