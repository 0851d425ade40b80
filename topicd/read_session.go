package topicd

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/topicd/store"
)

type (
	readFromClient = Ydb_Topic.StreamReadMessage_FromClient
	readFromServer = Ydb_Topic.StreamReadMessage_FromServer
)

// readStream is the part of the generated stream that a session uses.
type readStream interface {
	Send(*readFromServer) error
	Recv() (*readFromClient, error)
	Context() context.Context
}

// readSettings is what a session said about one topic.
type readSettings struct {
	path     string // as the client wrote it: it finds its topic by it
	fromMs   int64  // skip what was written before; Unix milliseconds
	maxLagMs int64  // skip what is older; 0 = off
}

// readSession is one StreamRead call after its init request. One goroutine,
// the call's handler, runs it; others post events and mark partitions ready.
type readSession struct {
	srv         *Server
	id          string
	consumer    string // "" = reading without a consumer
	name        string // reader_name, free text of the client
	maxInflight int64  // bytes of one partition sent and not committed; 0 = no limit
	aware       bool   // the client knows of splits

	nextPartSession atomic.Int64
	ending          chan struct{} // closed by end
	wake            chan struct{} // holds a token when there are events or ready partitions
	requests        chan *readFromClient

	// The handler's own.
	stream   readStream
	parts    map[int64]*partSession
	direct   []*partSession // all of a session without a consumer
	budget   int64          // bytes the client still takes
	onTheWay int64          // bytes of the last response
	msgs     []*store.Message

	mu     sync.Mutex
	endErr error
	ended  bool
	events []readEvent
	credit int64 // bytes the client has allowed since the handler looked
	ready  []*partSession
}

// readEvent is something the balancer or the store has to tell a session. The
// list is bounded by the partitions and the requests under way.
type readEvent struct {
	kind   eventKind
	ps     *partSession
	offset int64 // of eventCommitted
	err    error // of eventCommitted
}

type eventKind int

const (
	eventStart       eventKind = iota // the partition is ours
	eventRelease                      // give it back gracefully
	eventStop                         // it has been taken away
	eventCommitted                    // an offset is durable
	eventEnded                        // the partition was split: nothing will be added to it
	eventParentEnded                  // what the partition came from is committed to its end
)

func newReadSession(s *Server, consumer string) *readSession {
	return &readSession{
		srv: s, id: s.sessionID(consumer), consumer: consumer,
		ending: make(chan struct{}), wake: make(chan struct{}, 1), requests: make(chan *readFromClient),
		parts: make(map[int64]*partSession),
	}
}

// end makes the session finish with err; nil = without an error message. The
// first call counts.
func (s *readSession) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended, s.endErr = true, err
	close(s.ending)
}

func (s *readSession) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *readSession) post(ev readEvent) {
	s.mu.Lock()
	s.events = append(s.events, ev)
	s.mu.Unlock()
	s.signal()
}

// markReady puts the partition into the line of those to read from.
func (s *readSession) markReady(ps *partSession) {
	s.mu.Lock()
	queued := ps.queued
	if !queued {
		ps.queued = true
		s.ready = append(s.ready, ps)
	}
	s.mu.Unlock()
	if !queued {
		s.signal()
	}
}

func (s *readSession) giveCredit(n int64) {
	s.mu.Lock()
	s.credit = saturated(s.credit, n)
	s.mu.Unlock()
	s.signal()
}

// takeCredit adds to the budget what the client has allowed meanwhile.
func (s *readSession) takeCredit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget = saturated(s.budget, s.credit)
	s.credit = 0
}

// saturated is a+b, at most the largest number; b is not negative.
func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (s *readSession) popReady() *partSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ready) == 0 {
		return nil
	}
	ps := s.ready[0]
	s.ready[0] = nil
	s.ready = s.ready[1:]
	ps.queued = false
	return ps
}

// receive passes the client's messages to the handler.
func (s *readSession) receive(stream readStream) {
	for {
		m, err := stream.Recv()
		if err != nil {
			// The end of the client's half ends a read session too.
			s.end(nil)
			return
		}
		// Credit does not wait for the handler: that may be in a send, to a client
		// that reads only when it has given the credit back.
		if n := m.GetReadRequest().GetBytesSize(); n > 0 {
			s.giveCredit(n)
			continue
		}
		select {
		case s.requests <- m:
		case <-s.ending:
			return
		}
	}
}

// run serves the session until it ends.
func (s *readSession) run() error {
	for {
		select {
		case <-s.ending:
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.endErr
		case m := <-s.requests:
			if err := s.handle(m); err != nil {
				return err
			}
		case <-s.wake:
		}
		if err := s.handleEvents(); err != nil {
			return err
		}
		if err := s.pump(); err != nil {
			return err
		}
	}
}

// send sends a message; a client that has gone ends the session silently.
func (s *readSession) send(m *readFromServer) error {
	m.Status = Ydb.StatusIds_SUCCESS
	if err := s.stream.Send(m); err != nil {
		s.end(nil)
	}
	return nil
}

func (s *readSession) handleEvents() error {
	s.mu.Lock()
	events := s.events
	s.events = nil
	s.mu.Unlock()
	for _, ev := range events {
		if err := s.handleEvent(ev); err != nil {
			return err
		}
	}
	return nil
}

func (s *readSession) handleEvent(ev readEvent) error {
	ps := ev.ps
	switch ev.kind {
	case eventStart:
		if ps.dead.Load() {
			return nil
		}
		s.parts[ps.id] = ps
		ps.announced = true
		return s.send(&readFromServer{ServerMessage: &Ydb_Topic.StreamReadMessage_FromServer_StartPartitionSessionRequest{
			StartPartitionSessionRequest: ps.start(),
		}})
	case eventRelease:
		if ps.dead.Load() || ps.stopping {
			return nil
		}
		ps.stopping = true
		return s.sendStop(ps, true)
	case eventStop:
		delete(s.parts, ps.id)
		if !ps.announced {
			return nil
		}
		return s.sendStop(ps, false)
	case eventCommitted:
		return s.onCommitted(ps, ev.offset, ev.err)
	case eventEnded:
		return s.finishEnded(ps)
	case eventParentEnded:
		if s.parts[ps.id] != ps || !ps.started {
			return nil
		}
		return s.commitNext(ps)
	default:
		return nil
	}
}

// finishEnded tells the client that a partition which was split has no more
// messages for it, once it has got them all. It takes no credit.
func (s *readSession) finishEnded(ps *partSession) error {
	if ps.finished || !s.aware || !ps.started || ps.stopping || ps.dead.Load() {
		return nil
	}
	c := ps.part.config()
	if c.Active {
		return nil
	}
	if _, end := ps.part.bounds(); ps.next.Load() < end {
		return nil
	}
	ps.finished = true
	err := s.send(&readFromServer{ServerMessage: &Ydb_Topic.StreamReadMessage_FromServer_EndPartitionSession{
		EndPartitionSession: &Ydb_Topic.StreamReadMessage_EndPartitionSession{
			PartitionSessionId: ps.id, ChildPartitionIds: ids(c.Children),
		},
	}})
	if ps.group != nil {
		ps.group.finished(ps)
	}
	return err
}

func (s *readSession) sendStop(ps *partSession, graceful bool) error {
	return s.send(&readFromServer{ServerMessage: &Ydb_Topic.StreamReadMessage_FromServer_StopPartitionSessionRequest{
		StopPartitionSessionRequest: &Ydb_Topic.StreamReadMessage_StopPartitionSessionRequest{
			PartitionSessionId: ps.id, Graceful: graceful, CommittedOffset: ps.committed,
		},
	}})
}

// cutoff is the write time before which messages are skipped, 0 = none.
func (s *readSession) cutoff(ps *partSession) int64 {
	cut := ps.member.settings.fromMs
	if lag := ps.member.settings.maxLagMs; lag > 0 {
		cut = max(cut, time.Now().UnixMilli()-lag)
	}
	if ps.group != nil {
		if c := ps.part.topic.config.Load().consumer(ps.group.consumer); c != nil {
			cut = max(cut, c.ReadFromMs)
		}
	}
	return cut
}
