package consumer

import (
	"sync"

	"sqsgate/consumer/journal"
	"sqsgate/consumer/lease"
	"sqsgate/internal/logread"
)

// eventKind says what an event tells a shard.
type eventKind uint8

const (
	eventCall        eventKind = iota + 1 // a request: call
	eventData                             // messages of the feed
	eventAck                              // the journal answered
	eventConfigure                        // the queue's settings changed
	eventLook                             // a question: look
	eventBarrier                          // tell when the cursor has passed: barrier
	eventFeedLost                         // the feed cannot go on: err
	eventChildAsks                        // a child wants to know which groups it must hold
	eventHeld                             // the groups to hold for an elder
	eventFreed                            // groups to hold no longer
	eventEnded                            // the feed has read the last message of a split partition
	eventHeirAsks                         // a child that begins wants its estate: heir
	eventElderPurged                      // an elder was purged up to offset
	eventMoved                            // the moves up to sequence are done, those in moves refused
)

type event struct {
	kind     eventKind
	tenure   int64 // of what a tenure's own tasks report; 0 for calls from outside
	call     *call
	messages []logread.Message
	cost     int64
	start    int64 // eventData: the first retained offset, or -1
	ack      journal.Ack
	look     *look
	barrier  *barrier
	sequence uint64
	moves    []move
	child    *shard
	heir     *heir
	elder    int64 // the partition that tells
	offset   int64
	groups   []lease.Hash
	err      error
}

// mailboxLimit bounds the calls that wait for one shard. The other events are
// bounded by their senders.
const mailboxLimit = 1 << 14

// mailbox is a shard's queue of events. It never blocks the sender.
type mailbox struct {
	mu     sync.Mutex
	events []event
	calls  int
	closed bool
	wake   chan struct{}
}

func newMailbox() mailbox { return mailbox{wake: make(chan struct{}, 1)} }

// put adds an event. It refuses calls above the limit, and everything once the
// mailbox is closed.
func (m *mailbox) put(e event) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	if e.kind == eventCall {
		if m.calls >= mailboxLimit {
			m.mu.Unlock()
			return false
		}
		m.calls++
	}
	m.events = append(m.events, e)
	m.mu.Unlock()
	m.poke()
	return true
}

// poke wakes the shard without an event.
func (m *mailbox) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// take returns what is in the mailbox; buf is used for what comes next.
func (m *mailbox) take(buf []event) []event {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.events
	m.events, m.calls = buf[:0], 0
	return taken
}

// close refuses what comes from now on and returns what is left.
func (m *mailbox) close() []event {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	return m.take(nil)
}
