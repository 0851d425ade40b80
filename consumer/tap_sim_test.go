package consumer_test

import (
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/consumer/journal"
)

// tap listens to what one gateway appends to journals.
type tap struct {
	h       *history
	gateway string
}

// simAppend is one append to a journal; to is when the gateway heard that it is
// durable, zero while it did not.
type simAppend struct {
	gateway  string
	from, to moment
}

// journalOf is what was appended to one partition's journal.
type journalOf struct {
	last    int64 // the highest sequence number that was sent
	durable bool  // something beside epochs is durable
	appends []*simAppend
}

// tappedWrite is a write session, to a journal or anything else.
type tappedWrite struct {
	Ydb_Topic_V1.TopicService_StreamWriteClient
	tap     tap
	journal string
	fenced  bool // the epoch is written
	sent    chan *simAppend
}

func (s *tappedWrite) Send(m *Ydb_Topic.StreamWriteMessage_FromClient) error {
	if id := m.GetInitRequest().GetProducerId(); strings.HasPrefix(id, "sc/") {
		s.journal, s.sent = m.GetInitRequest().GetPath()+" "+id, make(chan *simAppend, 2) // one is under way, as a rule
	}
	if list := m.GetWriteRequest().GetMessages(); s.journal != "" && len(list) > 0 {
		s.sent <- s.tap.h.appending(s.tap.gateway, s.journal, list[len(list)-1].GetSeqNo())
	}
	return s.TopicService_StreamWriteClient.Send(m)
}

func (s *tappedWrite) Recv() (*Ydb_Topic.StreamWriteMessage_FromServer, error) {
	m, err := s.TopicService_StreamWriteClient.Recv()
	if acks := m.GetWriteResponse().GetAcks(); err == nil && s.journal != "" && len(acks) > 0 {
		s.tap.h.appended(s.journal, <-s.sent, acks[0].GetWritten() != nil, s.fenced)
		s.fenced = true
	}
	return m, err
}

// journalName is what a partition's journal is called in the history.
func (q *simQueue) journalName(partition int64) string {
	return journal.Path(stateRoot, q.name, shared) + " " + journal.Key{Incarnation: q.spec.Incarnation, Partition: partition}.Producer()
}

func (h *history) journal(name string) *journalOf {
	if h.journals[name] == nil {
		h.journals[name] = &journalOf{}
	}
	return h.journals[name]
}

func (h *history) appending(gateway, name string, seqNo int64) *simAppend {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.journal(name)
	of.last = max(of.last, seqNo)
	a := &simAppend{gateway: gateway, from: h.now()}
	of.appends = append(of.appends, a)
	return a
}

func (h *history) appended(name string, a *simAppend, written, state bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !written {
		return
	}
	a.to = h.now()
	of := h.journal(name)
	of.durable = of.durable || state
}

// lastSent is the highest sequence number that went to a journal, and whether it
// holds some state.
func (h *history) lastSent(name string) (seqNo int64, durable bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.journal(name)
	return of.last, of.durable
}

// durableBetween tells whether a gateway made an append within a request of its, and
// heard that it is durable.
func (h *history) durableBetween(name string, r *request) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.journal(name).appends {
		if a.gateway == r.gateway && r.from.before(a.from) && a.to.n > 0 && a.to.before(r.to) {
			return true
		}
	}
	return false
}
