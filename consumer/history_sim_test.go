package consumer_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sqsgate/consumer"
)

// history is everything the clients of a simulation asked for and were told.
// The checks look at nothing else, but for what the dead-letter topics hold in
// the end.
type history struct {
	mu       sync.Mutex
	began    time.Time
	moments  int64
	messages map[string]*simMessage // by body
	order    []*simMessage
	receives []*simReceive
	purges   []*simPurge
	tasks    []*simPurge // that moved messages out
	drops    []simDrop
	retained []simRetention
	commits  []simCommit
	journals map[string]*journalOf // by journalName
	notes    []simNote
	foreign  []string // messages and handles of deleted queues that were of use
}

// moment is a point of the history. Much happens in one instant of virtual time;
// n tells what came first.
type moment struct {
	n  int64
	at time.Time
}

func (m moment) before(o moment) bool { return m.n < o.n }

// verdict is what a client knows of a request.
type verdict int

const (
	unknown verdict = iota // not answered, or with an error: it may have taken effect
	done
	refused // answered: it had no effect
)

// request is one request of a client. Until it is answered its verdict is unknown.
type request struct {
	from, to moment // to is zero while it is under way
	gateway  string
	verdict  verdict
	err      error
}

// over tells whether the request was answered before m.
func (r *request) over(m moment) bool { return r.to.n > 0 && r.to.before(m) }

// place is where a message lies in its topic.
type place struct{ partition, offset int64 }

// simMessage is one body. A client that sends again sends another body with the
// same deduplication id.
type simMessage struct {
	queue         *simQueue
	body          string
	group         string
	deduplication string
	delay         time.Duration // after which it may be received
	send          request
	duplicate     bool // it was answered as one
	at            place
	placed        bool
	written       time.Time // known from a delivery
	deliveries    []*simDelivery
	dead          []simDead
}

// simReceive is one receive; its messages are deliveries.
type simReceive struct {
	request
	queue      *simQueue
	visibility time.Duration
	attempt    string
	long       bool
	max        int
	got        []*simDelivery
}

// simDelivery is one message in the answer of a receive.
type simDelivery struct {
	message *simMessage
	call    *simReceive
	handle  string
	count   int
	deletes []*request
	changes []*simChange
}

type simChange struct {
	request
	visibility time.Duration
}

type simPurge struct {
	request
	queue *simQueue
}

// simDrop is the end of a dead-letter topic.
type simDrop struct {
	moment
	dead string
}

// simRetention is a change of a queue's retention.
type simRetention struct {
	moment
	queue *simQueue
	d     time.Duration
}

// simCommit is a partition's committed offset as it was seen.
type simCommit struct {
	moment
	queue     *simQueue
	server    int // how many crashes before
	partition int64
	offset    int64
}

// simDead is a message found in a dead-letter topic.
type simDead struct {
	at      place
	written time.Time
	seen    moment // when the topic was read: in the end, or before it was dropped
}

type simNote struct {
	moment
	text string
}

func newHistory() *history {
	return &history{began: time.Now(), messages: make(map[string]*simMessage), journals: make(map[string]*journalOf)}
}

// of is a name within one life of a queue.
func (q *simQueue) of(name string) string { return fmt.Sprintf("%d/%s", q.spec.Incarnation, name) }

// id is the deduplication id, in the life of the queue.
func (m *simMessage) id() string { return m.queue.of(m.deduplication) }

func (h *history) moment() moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now()
}

func (h *history) alien(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.foreign = append(h.foreign, what)
}

// movingOut notes a task that is about to begin.
func (h *history) movingOut(p *simPurge, gateway string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tasks = append(h.tasks, p)
	p.from, p.gateway = h.now(), gateway
}

// mayBeMovedOut tells whether a task may have moved the message.
func (h *history) mayBeMovedOut(m *simMessage) bool {
	return slices.ContainsFunc(h.tasks, func(p *simPurge) bool {
		return p.queue == m.queue && (p.to.n == 0 || m.send.from.before(p.to) || p.verdict != done)
	})
}

// dropping notes that a dead-letter topic is about to be dropped.
func (h *history) dropping(dead string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drops = append(h.drops, simDrop{h.now(), dead})
}

// droppedBetween tells whether the dead-letter topic of a queue was dropped.
func (h *history) droppedBetween(q *simQueue, from, to moment) bool {
	return slices.ContainsFunc(h.drops, func(d simDrop) bool {
		return d.dead == q.dead && from.before(d.moment) && d.before(to)
	})
}

// now is the next moment. h.mu is held.
func (h *history) now() moment {
	h.moments++
	return moment{h.moments, time.Now()}
}

func (h *history) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, simNote{h.now(), fmt.Sprintf(format, args...)})
}

// retain notes the retention that a queue is about to get.
func (h *history) retain(q *simQueue, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.retained = append(h.retained, simRetention{h.now(), q, d})
}

func (h *history) committed(q *simQueue, server int, partition, offset int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commits = append(h.commits, simCommit{h.now(), q, server, partition, offset})
}

// end notes its answer.
func (h *history) end(r *request, v verdict, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.to, r.verdict, r.err = h.now(), v, err
}

// sending notes a message that is about to be sent.
func (h *history) sending(m *simMessage, gateway string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages[m.body] = m
	h.order = append(h.order, m)
	m.send.from, m.send.gateway = h.now(), gateway
}

// stored notes where a message lies; a duplicate lies where the first one does.
func (h *history) stored(m *simMessage, at place, duplicate bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m.at, m.placed, m.duplicate = at, !duplicate, duplicate
}

// receiving notes a receive that is about to be made.
func (h *history) receiving(r *simReceive, gateway string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.receives = append(h.receives, r)
	r.from, r.gateway = h.now(), gateway
}

func (h *history) purging(p *simPurge, gateway string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.purges = append(h.purges, p)
	p.from, p.gateway = h.now(), gateway
}

// received notes what a receive got.
func (h *history) received(r *simReceive, got []consumer.Received) []*simDelivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.to, r.verdict = h.now(), done
	for _, g := range got {
		m := h.messages[string(g.Record.Data)]
		if m == nil {
			panic(fmt.Sprintf("received %q, which nobody sent", g.Record.Data))
		}
		if at := (place{g.Partition, g.Offset}); !m.placed {
			m.at, m.placed = at, true
		}
		if m.queue != r.queue {
			if m.send.verdict == done && m.send.over(r.queue.born) {
				h.foreign = append(h.foreign, fmt.Sprintf("%s of incarnation %d was received from %d", m.body, m.queue.spec.Incarnation, r.queue.spec.Incarnation))
			}
			m.queue, m.at = r.queue, place{g.Partition, g.Offset} // sent while the queue was made again
		}
		m.written = g.Written
		d := &simDelivery{message: m, call: r, handle: g.Handle, count: g.ReceiveCount}
		r.got = append(r.got, d)
		m.deliveries = append(m.deliveries, d)
	}
	return r.got
}

// asking adds a delete or a change to a delivery.
func (h *history) asking(add func(), r *request, gateway string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	add()
	r.from, r.gateway = h.now(), gateway
}

func (v verdict) String() string { return [...]string{"unknown", "done", "refused"}[v] }

// story tells what happened to messages, in the order of time.
func (h *history) story(messages ...*simMessage) string {
	type line struct {
		moment
		text string
	}
	var lines []line
	about := func(r *request, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		lines = append(lines, line{r.from, fmt.Sprintf("%s> %s", r.gateway, text)})
		if r.to.n > 0 {
			what := r.verdict.String()
			if r.err != nil {
				what += ": " + r.err.Error()
			}
			lines = append(lines, line{r.to, fmt.Sprintf("%s< %s: %s", r.gateway, text, what)})
		}
	}
	queue := messages[0].queue
	for _, m := range messages {
		name := m.body
		about(&m.send, "send %s id %q delay %v", name, m.deduplication, m.delay)
		if m.placed {
			lines = append(lines, line{m.send.to, fmt.Sprintf("   %s lies at %d/%d, duplicate: %v", name, m.at.partition, m.at.offset, m.duplicate)})
		}
		for _, d := range m.deliveries {
			lines = append(lines, line{d.call.from, fmt.Sprintf("%s> receive for %v attempt %q", d.call.gateway, d.call.visibility, d.call.attempt)})
			lines = append(lines, line{d.call.to, fmt.Sprintf("%s< receive: %s count %d", d.call.gateway, name, d.count)})
			for _, r := range d.deletes {
				about(r, "delete %s count %d", name, d.count)
			}
			for _, c := range d.changes {
				about(&c.request, "change %s count %d to %v", name, d.count, c.visibility)
			}
		}
		for _, d := range m.dead {
			lines = append(lines, line{moment{0, d.written}, fmt.Sprintf("   %s written to the dead-letter topic at %d/%d", name, d.at.partition, d.at.offset)})
		}
	}
	for _, p := range h.purges {
		if p.queue == queue {
			about(&p.request, "purge")
		}
	}
	for _, n := range h.notes {
		lines = append(lines, line{n.moment, "== " + n.text})
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return int(a.n - b.n)
	})
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "\n  %9.3fs %s", l.at.Sub(h.began).Seconds(), l.text)
	}
	return b.String()
}
