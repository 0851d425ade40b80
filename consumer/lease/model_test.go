package lease_test

import (
	"fmt"
	"slices"

	"sqsgate/consumer/lease"
)

// model is the queue's rules written down the slow way: one list of messages,
// full scans, no timers. It does not predict which of several deliverable
// messages a receive gets; it checks what the machine chose and follows it.
type model struct {
	cfg       lease.Config
	now       int64
	msgs      []*message // everything loaded, in offset order
	cursor    int64
	purged    int64
	sequence  uint64 // of the latest move
	announced uint64 // moves up to this one were announced by this machine
	holdAll   bool
	held      map[lease.Hash]bool
	ended     bool
	crowded   bool                 // a group may have been noisy once; see TestFair
	effort    map[lease.Hash]int64 // ms of processing, by group
	attempts  map[lease.Hash]*try
	elders    map[int64][]*message // what is in the logs of the elder partitions
	marks     map[int64]int64      // how far those were purged
}

// try is a receive with an attempt id.
type try struct {
	at   int64
	msgs []*message
}

type message struct {
	lease.Message
	gone        bool
	repeat      bool  // a duplicate
	until       int64 // invisible until then
	leased      bool  // until ends a lease
	hidden      bool  // was invisible when last looked at
	delayed     bool  // hidden by a delay
	returned    bool  // standard: not fresh
	forced      bool
	move        uint64 // 0 = not on the move
	target      uint64 // of the move
	letter      bool   // the move is because of the redrive policy
	over        bool   // began to move because of its size
	receives    uint32
	first, last int64
	by          *try // the receive it is leased by, if that had an attempt id
}

func (q *model) sent(m *message) int64 {
	if m.SentTime != 0 {
		return m.SentTime
	}
	return m.WriteTime
}

func (q *model) expired(m *message) bool {
	return q.cfg.Retention > 0 && q.sent(m)+q.cfg.Retention <= q.now
}

func (q *model) visible(m *message) bool { return !m.gone && m.move == 0 && m.until <= q.now }

func (q *model) exhausted(m *message) bool {
	return q.cfg.MaxReceives > 0 && m.receives >= q.cfg.MaxReceives && !m.forced
}

// size is what the message takes of an answer.
func (q *model) size(m *message) int64 { return max(m.Size, q.cfg.MaxBytes/64) }

func (q *model) oversized(m *message) bool {
	return q.cfg.MaxBytes > 0 && q.size(m) > q.cfg.MaxBytes
}

// leaves: the message goes when it would be handed out.
func (q *model) leaves(m *message) bool { return q.exhausted(m) || q.oversized(m) }

// oversize checks and follows one Oversize effect.
func (q *model) oversize(e lease.Effect) error {
	m := q.find(e.Offset)
	if m == nil || !q.oversized(m) || !q.deliverable(m) || q.exhausted(m) || e.Size != m.Size {
		return fmt.Errorf("oversize %+v of %+v", e, m)
	}
	moves := q.cfg.MoveOversize && q.cfg.MaxReceives > 0 && !m.Immovable
	if moves != (e.Sequence > 0) {
		return fmt.Errorf("oversize %+v of %+v, want a move: %v", e, m, moves)
	}
	m.over, m.gone = moves, !moves
	return nil
}

// room is what an answer leaves of its bytes.
func (q *model) room(in lease.Input, handed []*message) int64 {
	room := q.cfg.MaxBytes
	if in.Room > 0 {
		room = min(room, in.Room)
	}
	for _, m := range handed {
		room -= q.size(m)
	}
	return room
}

// deliverable is the one rule: visible, and on FIFO queues no earlier message of
// the group is invisible. A message on the move has left its group.
func (q *model) deliverable(m *message) bool {
	if !q.visible(m) || q.expired(m) {
		return false
	}
	if !q.cfg.FIFO {
		return true
	}
	if q.holdAll || q.held[m.Group] {
		return false
	}
	for _, e := range q.msgs {
		if e.Offset < m.Offset && e.Group == m.Group && !e.gone && e.move == 0 && !q.visible(e) {
			return false
		}
	}
	return true
}

// advance ends what is due at now.
func (q *model) advance(now int64) {
	for _, m := range q.msgs {
		if !q.crowded && q.flies(m) && m.Group != (lease.Hash{}) {
			q.effort[m.Group] += max(0, now-q.now)
			q.crowded = q.effort[m.Group] >= 10_000
		}
	}
	q.now = max(q.now, now)
	for _, m := range q.msgs {
		if m.gone || m.move != 0 {
			continue
		}
		if !q.expired(m) {
			break
		}
		m.gone = true
	}
	for _, m := range q.msgs {
		if m.hidden && !m.gone && m.move == 0 && m.until <= q.now {
			m.hidden, m.leased, m.delayed, m.returned = false, false, false, true
			m.gone = q.expired(m)
		}
	}
}

func (q *model) hide(m *message, until int64) {
	m.until, m.hidden = until, until > q.now
	if !m.hidden {
		m.returned = true
	}
}

func (q *model) due(m *message) int64 {
	if q.cfg.FIFO || m.Delay < 0 {
		return m.WriteTime + q.cfg.Delay
	}
	return m.WriteTime + m.Delay
}

func (q *model) delay(m *message) {
	m.until = q.due(m)
	m.hidden = m.until > q.now
	m.delayed = m.hidden
}

func (q *model) load(msg lease.Message) {
	m := &message{Message: msg}
	m.repeat = q.duplicate(msg)
	m.gone = m.repeat
	q.msgs = append(q.msgs, m)
	q.cursor = msg.Offset + 1
	if q.expired(m) {
		m.gone = true
	}
	q.delay(m)
}

// duplicate scans for a message with the id that counts: one that is no duplicate
// itself and was not purged.
func (q *model) duplicate(msg lease.Message) bool {
	if !q.cfg.FIFO || msg.Deduplication == (lease.Hash{}) {
		return false
	}
	repeats := func(m *message, purged int64) bool {
		return m.Deduplication == msg.Deduplication && !m.repeat && m.Offset >= purged &&
			msg.WriteTime-m.WriteTime < q.cfg.DeduplicationWindow
	}
	for partition, list := range q.elders {
		if slices.ContainsFunc(list, func(m *message) bool { return repeats(m, q.marks[partition]) }) {
			return true
		}
	}
	return slices.ContainsFunc(q.msgs, func(m *message) bool { return repeats(m, q.purged) })
}

func (q *model) find(offset int64) *message {
	for _, m := range q.msgs {
		if m.Offset == offset {
			return m
		}
	}
	return nil
}

// touch gives a message a client names; nil = gone or never there.
func (q *model) touch(offset int64) *message {
	m := q.find(offset)
	if m == nil || m.gone {
		return nil
	}
	if q.expired(m) && m.move == 0 {
		m.gone = true
		return nil
	}
	return m
}

func (q *model) delete(offset int64, attempt uint32) lease.Outcome {
	if attempt == 0 {
		return lease.Gone
	}
	m := q.touch(offset)
	switch {
	case m == nil && offset < q.cursor:
		return lease.Done
	case m == nil || attempt > m.receives:
		return lease.Gone
	case q.cfg.FIFO && (!m.leased || m.move != 0 || attempt != m.receives):
		return lease.Expired
	case m.move != 0:
		return lease.Moving
	}
	m.gone = true
	return lease.Done
}

func (q *model) visibility(offset int64, attempt uint32, ms int64) lease.Outcome {
	m := q.touch(offset)
	switch {
	case m == nil || m.move != 0 || attempt == 0 || attempt > m.receives:
		return lease.Gone
	case q.cfg.FIFO && (!m.leased || attempt != m.receives):
		return lease.Expired
	case !m.leased || attempt != m.receives:
		return lease.Done
	case q.now+ms > m.last+12*3600*1000:
		return lease.TooLong
	}
	q.hide(m, q.now+ms)
	m.leased, m.by = ms > 0, nil
	return lease.Done
}

// giveBack is visibility 0 without the receive, but when the message was moved here
// and never received before.
func (q *model) giveBack(offset int64, attempt uint32) lease.Outcome {
	m := q.touch(offset)
	counts := m != nil && m.leased && m.move == 0 && attempt == m.receives && attempt > 0 &&
		(!q.cfg.FIFO || m.receives > 1 || q.sent(m) == m.WriteTime)
	outcome := q.visibility(offset, attempt, 0)
	if counts {
		m.receives--
	}
	return outcome
}

func (q *model) purge(upto int64) {
	q.elders = nil // all of it was written before
	q.purged = max(q.purged, upto)
	q.cursor = max(q.cursor, upto)
	for _, m := range q.msgs {
		if m.Offset < upto && m.move == 0 {
			m.gone = true
		}
	}
}

func (q *model) configure(cfg lease.Config) {
	changed := q.cfg.Delay != cfg.Delay
	q.cfg = cfg
	for _, m := range q.msgs {
		if q.cfg.FIFO && changed && !m.gone && m.move == 0 && m.receives == 0 && !m.forced && !q.expired(m) {
			q.delay(m)
		}
	}
}

func (q *model) moved(sequence uint64) {
	for _, m := range q.msgs {
		if m.move != 0 && m.move <= sequence {
			m.gone, m.move = true, 0
		}
	}
}

func (q *model) unmovable(offset, ms int64) {
	m := q.find(offset)
	if m == nil || m.gone || m.move == 0 {
		return
	}
	m.move = 0
	if offset < q.purged {
		m.gone = true
		return
	}
	// Also without a time it surfaces with the next step.
	m.until, m.hidden, m.leased, m.forced = q.now+ms, true, false, true
}

// restart forgets what is not durable.
func (q *model) restart() {
	q.announced, q.holdAll, q.held, q.ended = 0, false, nil, false
	for _, m := range q.msgs {
		switch {
		case m.gone || m.move != 0:
		case q.expired(m):
			m.gone = true
		case m.receives == 0 && !m.forced:
			q.delay(m)
			m.returned = m.hidden
		case m.until <= q.now:
			m.hidden, m.leased, m.returned = false, false, true
		}
	}
}

func (q *model) flies(m *message) bool { return !m.gone && m.move == 0 && m.hidden && !m.delayed }

func (q *model) inFlight() int {
	n := 0
	for _, m := range q.msgs {
		if q.flies(m) {
			n++
		}
	}
	return n
}

// move checks and follows one Move effect.
func (q *model) move(e lease.Effect) error {
	m := q.find(e.Offset)
	if m != nil && m.move == e.Sequence {
		if e.Sequence <= q.announced || e.Target != m.target || e.DeadLetter != m.letter {
			return fmt.Errorf("move %+v announced again, or to another target than %d", e, m.target)
		}
		q.announced = e.Sequence
		return nil
	}
	if m == nil || !q.deliverable(m) || e.DeadLetter && (!q.exhausted(m) && !m.over || e.Target != q.cfg.DeadLetters) || e.Sequence != q.sequence+1 {
		return fmt.Errorf("move %+v of %+v", e, m)
	}
	m.move, m.target, m.letter, m.leased, m.hidden = e.Sequence, e.Target, e.DeadLetter, false, false
	q.sequence, q.announced = e.Sequence, e.Sequence
	return nil
}

// moveOut checks the answer to a MoveOut whose moves have been followed: they are
// as many as were asked for, or nothing more could be moved.
func (q *model) moveOut(in lease.Input, before uint64, answer lease.Effect) error {
	began := int(q.sequence - before)
	if answer.Moves != began || began > in.Max || (began > 0 && answer.Sequence != q.sequence) {
		return fmt.Errorf("%d moves began up to %d, the answer is %+v", began, q.sequence, answer)
	}
	for _, m := range q.msgs {
		if began < in.Max && q.deliverable(m) {
			return fmt.Errorf("%d of %d moves began, but message %d could be moved", began, in.Max, m.Offset)
		}
	}
	return nil
}

// hand checks and follows the deliveries of one answer.
func (q *model) hand(in lease.Input, got []lease.Delivery) error {
	limit := max(0, min(in.Max, q.cfg.MaxInFlight-q.inFlight()))
	if len(got) > limit {
		return fmt.Errorf("%d messages, limit %d", len(got), limit)
	}
	q.crowded = q.crowded || q.inFlight()+len(got) >= 30
	var handed []*message
	for i, d := range got {
		m := q.find(d.Offset)
		if m == nil || slices.Contains(handed, m) {
			return fmt.Errorf("message %d unknown or twice", d.Offset)
		}
		if err := q.mayFollow(m, handed); err != nil {
			return fmt.Errorf("message %d, number %d of the answer: %w", d.Offset, i, err)
		}
		handed = append(handed, m)
	}
	if q.cfg.MaxBytes > 0 && q.room(in, handed) < 0 {
		return fmt.Errorf("the answer %v has %d bytes too many", got, -q.room(in, handed))
	}
	// One that does not fit may have been next, and have ended the answer.
	full := q.cfg.MaxBytes > 0 && slices.ContainsFunc(q.msgs, func(m *message) bool {
		return q.deliverable(m) && !slices.Contains(handed, m) && q.size(m) > q.room(in, handed)
	})
	for i, m := range handed {
		if m.receives == 0 {
			m.first = q.now
		}
		m.receives++
		m.last, m.forced = q.now, false
		q.hide(m, q.now+in.Visibility)
		m.leased, m.returned, m.by = m.hidden, true, nil
		want := lease.Delivery{Offset: m.Offset, Receives: m.receives, FirstReceived: m.first, Deadline: m.until}
		if got[i] != want {
			return fmt.Errorf("delivery %+v, want %+v", got[i], want)
		}
	}
	if q.cfg.FIFO && in.AttemptID != (lease.Hash{}) && in.Visibility > 0 && len(got) > 0 {
		a := &try{q.now, handed}
		q.attempts[in.AttemptID] = a
		for _, m := range handed {
			m.by = a
		}
	}
	if len(got) == limit || full {
		return nil
	}
	for _, m := range q.msgs {
		if q.deliverable(m) && !slices.Contains(handed, m) && !behind(m, handed) {
			return fmt.Errorf("answer %v of at most %d left out %d", got, limit, m.Offset)
		}
	}
	return nil
}

// repeatable gives the messages that the attempt id of a receive stands for:
// within five minutes of the receive, and while all of them are leased by it.
func (q *model) repeatable(h lease.Hash) []*message {
	a := q.attempts[h]
	if a == nil || q.now >= a.at+5*60*1000 {
		return nil
	}
	for _, m := range a.msgs {
		if m.by != a || !m.leased || m.gone || m.until <= q.now {
			return nil
		}
	}
	for _, m := range a.msgs {
		if q.touch(m.Offset) == nil {
			return nil
		}
	}
	return a.msgs
}

// repeat checks and follows an answer that repeats another.
func (q *model) repeat(msgs []*message, visibility int64, got []lease.Delivery) error {
	if len(got) != len(msgs) {
		return fmt.Errorf("%d messages, %d when first received", len(got), len(msgs))
	}
	for i, m := range msgs {
		q.hide(m, min(q.now+visibility, m.last+12*3600*1000))
		m.leased = m.hidden
		want := lease.Delivery{Offset: m.Offset, Receives: m.receives, FirstReceived: m.first, Deadline: m.until}
		if got[i] != want {
			return fmt.Errorf("delivery %+v, want %+v", got[i], want)
		}
	}
	return nil
}

// behind says that m waits for a message of its group that was handed out.
func behind(m *message, handed []*message) bool {
	return slices.ContainsFunc(handed, func(h *message) bool { return h.until > h.last && h.Group == m.Group })
}

// mayFollow says whether m may come next in an answer that handed out others.
func (q *model) mayFollow(m *message, handed []*message) error {
	if !q.deliverable(m) || q.leaves(m) {
		return fmt.Errorf("not deliverable: %+v", m)
	}
	for _, e := range q.msgs {
		if slices.Contains(handed, e) || !q.deliverable(e) || q.leaves(e) {
			continue
		}
		switch {
		case !q.cfg.FIFO:
			if !q.crowded && !m.returned && !e.returned && e.Offset < m.Offset {
				return fmt.Errorf("fresh message %d is older", e.Offset)
			}
		case e.Group == m.Group && e.Offset < m.Offset:
			return fmt.Errorf("message %d of the group is older", e.Offset)
		case len(handed) > 0 && e.Group == handed[len(handed)-1].Group && e.Group != m.Group:
			return fmt.Errorf("message %d of the last group was left out", e.Offset)
		}
	}
	return nil
}

// ready says whether a receive would get or move something. While a message is
// due that only the next step looks at, both answers are right.
func (q *model) ready() (ready, sure bool) {
	due := slices.ContainsFunc(q.msgs, func(m *message) bool { return m.hidden && q.visible(m) })
	return q.inFlight() < q.cfg.MaxInFlight && slices.ContainsFunc(q.msgs, q.deliverable), !due
}

// next is the earliest time at which something happens by itself.
func (q *model) next() (int64, bool) {
	at, ok := int64(0), false
	put := func(t int64) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	for _, m := range q.msgs {
		if !m.gone && m.move == 0 && m.hidden {
			put(m.until)
		}
	}
	for _, m := range q.msgs {
		if !m.gone && m.move == 0 && q.cfg.Retention > 0 && !q.stale(m) {
			put(q.sent(m) + q.cfg.Retention)
			break
		}
	}
	return at, ok
}

func (q *model) hold(in lease.Input) {
	if in.Kind == lease.Free && q.holdAll {
		return
	}
	if in.Kind != lease.Free || q.held == nil {
		q.holdAll, q.held = in.Kind == lease.Hold, make(map[lease.Hash]bool)
	}
	for _, g := range in.Groups {
		q.held[g] = in.Kind == lease.Release
	}
}

// groups checks the groups that have messages left.
func (q *model) groups(got []lease.Hash) error {
	all := make(map[lease.Hash]bool)
	for _, m := range q.msgs {
		if m.gone || !q.cfg.FIFO {
			continue
		}
		all[m.Group] = true
		if !q.stale(m) && !slices.Contains(got, m.Group) {
			return fmt.Errorf("groups %q, but %d is of %q", got, m.Offset, m.Group)
		}
	}
	for i, g := range got {
		if !all[g] || slices.Contains(got[:i], g) {
			return fmt.Errorf("groups %q, where %q has nothing, or is twice", got, g)
		}
	}
	return nil
}

// stale messages are visible but past their retention. The machine removes them
// when it meets them; until then it may count them.
func (q *model) stale(m *message) bool { return q.visible(m) && q.expired(m) }

// commit is the first offset that is not gone; with stale messages at the front
// it may be that of any of them.
func (q *model) commit(offset int64) bool {
	for _, m := range q.msgs {
		if !m.gone && m.Offset == offset {
			return true
		}
		if !m.gone && !q.stale(m) {
			return false
		}
	}
	return offset == q.cursor
}

// counts gives the counts, and how many of the visible ones are stale.
func (q *model) counts() (c lease.Counts, stale int) {
	for _, m := range q.msgs {
		switch {
		case m.gone:
		case m.move != 0:
			c.Moving++
		case m.hidden && m.delayed:
			c.Delayed++
		case m.hidden:
			c.InFlight++
		default:
			c.Visible++
			if q.stale(m) {
				stale++
			}
		}
	}
	return c, stale
}
