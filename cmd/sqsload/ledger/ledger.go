package ledger

import (
	"sync"
	"time"
)

// ID names a message: the Seq-th of a producer, counted from 0 in the order of
// sending. Group is -1 without one.
type ID struct {
	Producer int
	Seq      int
	Group    int
}

// Result is what was seen. Everything after Deleted should be 0.
type Result struct {
	Sent     int64 `json:"sent"`     // answered
	Unsure   int64 `json:"unsure"`   // no answer: may or may not be there
	Received int64 `json:"received"` // different messages
	Again    int64 `json:"again"`    // received again after the lease ran out
	Deleted  int64 `json:"deleted"`  // answered
	Foreign  int64 `json:"foreign"`  // received, of no message of this run

	Lost       int64 `json:"lost"`        // answered sends that were never received
	Duplicates int64 `json:"duplicates"`  // received while another lease held
	CameBack   int64 `json:"came_back"`   // received after an answered delete
	Disorder   int64 `json:"disorder"`    // received after a later one of its producer and group
	GroupTwice int64 `json:"group_twice"` // received while another receiver held the group
	Corrupt    int64 `json:"corrupt"`     // received with another body
	Unsent     int64 `json:"unsent"`      // received, though its send was refused
}

// Broken counts the broken promises.
func (r Result) Broken() int64 {
	return r.Lost + r.Duplicates + r.CameBack + r.Disorder + r.GroupTwice + r.Corrupt + r.Unsent
}

// maxSeq keeps a damaged message from growing the ledger without bound.
const maxSeq = 1 << 32

// Ledger follows the messages of one run.
type Ledger struct {
	start      time.Time
	visibility time.Duration
	producers  []producer
	groups     []group
}

// New makes a ledger for a queue with the given visibility timeout. groups is
// how many there are, 0 on a standard queue.
func New(start time.Time, visibility time.Duration, producers, groups int) *Ledger {
	l := &Ledger{start: start, visibility: visibility, producers: make([]producer, producers), groups: make([]group, groups)}
	for i := range l.producers {
		l.producers[i].last = map[int]int{}
	}
	return l
}

// Sent notes an answered send.
func (l *Ledger) Sent(id ID) { l.producers[id.Producer].note(id.Seq, sent) }

// Unsure notes a send without an answer.
func (l *Ledger) Unsure(id ID) { l.producers[id.Producer].note(id.Seq, unsure) }

// Refused notes a send that the server refused.
func (l *Ledger) Refused(id ID) { l.producers[id.Producer].note(id.Seq, refused) }

// Foreign notes a received message that the run did not send.
func (l *Ledger) Foreign() { l.producers[0].count(func(r *Result) { r.Foreign++ }) }

// Corrupt notes a received message with another body than it was sent with.
func (l *Ledger) Corrupt(id ID) { l.producers[id.Producer].count(func(r *Result) { r.Corrupt++ }) }

// Knows tells whether an ID read from a message can be one of this run.
func (l *Ledger) Knows(id ID) bool {
	return id.Producer >= 0 && id.Producer < len(l.producers) &&
		id.Seq >= 0 && id.Seq < maxSeq &&
		id.Group >= -1 && id.Group < len(l.groups)
}

// Received notes the messages of one answer, in its order: the request was sent
// at asked and answered at answered.
func (l *Ledger) Received(ids []ID, asked, answered time.Time) {
	until := asked.Add(l.visibility)
	for _, id := range ids {
		l.producers[id.Producer].received(id, l.since(asked), l.since(answered), l.since(until))
		if id.Group >= 0 && l.groups[id.Group].received(id, ids, answered, until) {
			l.producers[id.Producer].count(func(r *Result) { r.GroupTwice++ })
		}
	}
}

// Deleting notes that a delete is being asked for: from here on the server may
// let others have what the message kept back.
func (l *Ledger) Deleting(id ID) {
	l.producers[id.Producer].deleting(id.Seq)
	if id.Group >= 0 {
		l.groups[id.Group].released(id)
	}
}

// Deleted notes an answered delete.
func (l *Ledger) Deleted(id ID, answered time.Time) {
	l.producers[id.Producer].deleted(id.Seq, l.since(answered))
}

// Missing counts the answered sends that were not received yet.
func (l *Ledger) Missing() (missing int64) {
	for i := range l.producers {
		p := &l.producers[i]
		p.mu.Lock()
		missing += p.missing
		p.mu.Unlock()
	}
	return missing
}

// Result sums up. Messages that are missing count as lost.
func (l *Ledger) Result() (sum Result) {
	for i := range l.producers {
		p := &l.producers[i]
		p.mu.Lock()
		r := p.result
		r.Lost = p.missing
		p.mu.Unlock()
		sum.Sent += r.Sent
		sum.Unsure += r.Unsure
		sum.Received += r.Received
		sum.Again += r.Again
		sum.Deleted += r.Deleted
		sum.Foreign += r.Foreign
		sum.Lost += r.Lost
		sum.Duplicates += r.Duplicates
		sum.CameBack += r.CameBack
		sum.Disorder += r.Disorder
		sum.GroupTwice += r.GroupTwice
		sum.Corrupt += r.Corrupt
		sum.Unsent += r.Unsent
	}
	return sum
}

func (l *Ledger) since(t time.Time) time.Duration { return t.Sub(l.start) }

// group is who holds a group's messages.
type group struct {
	mu   sync.Mutex
	held map[ID]time.Time // until when
}

// received notes one message of an answer with all of ids, and tells whether
// someone else's lease on the group still held.
func (g *group) received(id ID, ids []ID, answered, until time.Time) (twice bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held == nil {
		g.held = map[ID]time.Time{}
	}
	for other, end := range g.held {
		switch {
		case !end.After(answered):
			delete(g.held, other)
		case !contains(ids, other): // of another answer
			twice = true
		}
	}
	g.held[id] = until
	return twice
}

func (g *group) released(id ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.held, id)
}

func contains(ids []ID, id ID) bool {
	for _, other := range ids {
		if other == id {
			return true
		}
	}
	return false
}
