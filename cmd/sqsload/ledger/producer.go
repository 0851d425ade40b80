package ledger

import (
	"sync"
	"time"
)

type state uint8

const (
	sent     state = 1 << iota // answered
	unsure                     // no answer
	refused                    // answered with an error
	received                   // at least once
	deleting                   // a delete was sent
	deleted                    // and answered
)

// message is what is known of one. times are since the ledger's start.
type message struct {
	until time.Duration // end of the lease; after the delete, when it was answered
	state state
}

const chunkSize = 4096

// chunk is a run of messages that is given up when all of them are deleted.
type chunk struct {
	messages [chunkSize]message
	deleted  int
}

// producer holds the messages of one producer by their number. A send may be
// noted after the message was received: the answers travel on two connections.
type producer struct {
	mu      sync.Mutex
	chunks  []*chunk              // nil: not begun, or all deleted
	gone    map[int]time.Duration // chunk all of which was deleted: when
	last    map[int]int           // group: number of its last first receive
	missing int64
	result  Result
}

func (p *producer) count(add func(*Result)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	add(&p.result)
}

// at returns a message, nil when its chunk is gone.
func (p *producer) at(seq int) *message {
	n := seq / chunkSize
	if _, gone := p.gone[n]; gone {
		return nil
	}
	for n >= len(p.chunks) {
		p.chunks = append(p.chunks, nil)
	}
	if p.chunks[n] == nil {
		p.chunks[n] = new(chunk)
	}
	return &p.chunks[n].messages[seq%chunkSize]
}

func (p *producer) note(seq int, what state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch what {
	case sent:
		p.result.Sent++
	case unsure:
		p.result.Unsure++
	case refused, received, deleting, deleted:
	}
	m := p.at(seq)
	if m == nil {
		return // received and deleted before its send was noted
	}
	m.state |= what
	if m.state&received == 0 && what == sent {
		p.missing++
	}
	if m.state&received != 0 && what == refused {
		p.result.Unsent++
	}
}

func (p *producer) received(id ID, asked, answered, until time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.at(id.Seq)
	if m == nil {
		if asked > p.gone[id.Seq/chunkSize] {
			p.result.CameBack++
		} else {
			p.result.Again++
		}
		return
	}
	switch {
	case m.state&received == 0:
		p.first(id, m)
	case m.state&deleted != 0:
		if asked > m.until {
			p.result.CameBack++
		} else {
			p.result.Again++ // the answer was under way while the delete was
		}
		return
	case m.state&deleting == 0 && answered < m.until:
		p.result.Duplicates++
	default:
		p.result.Again++
	}
	m.until = until
}

func (p *producer) first(id ID, m *message) {
	m.state |= received
	p.result.Received++
	if m.state&sent != 0 {
		p.missing--
	}
	if m.state&refused != 0 {
		p.result.Unsent++
	}
	if id.Group < 0 {
		return
	}
	if last, ok := p.last[id.Group]; ok && id.Seq < last {
		p.result.Disorder++
		return
	}
	p.last[id.Group] = id.Seq
}

func (p *producer) deleting(seq int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.at(seq); m != nil {
		m.state |= deleting
	}
}

func (p *producer) deleted(seq int, answered time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.at(seq)
	if m == nil || m.state&deleted != 0 {
		return
	}
	p.result.Deleted++
	m.state |= deleted
	m.until = answered
	n := seq / chunkSize
	c := p.chunks[n]
	if c.deleted++; c.deleted < chunkSize {
		return
	}
	if p.gone == nil {
		p.gone = map[int]time.Duration{}
	}
	p.gone[n] = answered
	p.chunks[n] = nil
}
