package topicd

import (
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sqsgate/topicd/store"
)

// handle serves one message of the client.
func (s *readSession) handle(m *readFromClient) error {
	switch m := m.GetClientMessage().(type) {
	case *Ydb_Topic.StreamReadMessage_FromClient_ReadRequest:
		// The receiver passes on only what is not credit.
		return badRequest("bytes_size of a read request must be greater than 0, got %d", m.ReadRequest.GetBytesSize())
	case *Ydb_Topic.StreamReadMessage_FromClient_StartPartitionSessionResponse:
		return s.onStarted(m.StartPartitionSessionResponse)
	case *Ydb_Topic.StreamReadMessage_FromClient_StopPartitionSessionResponse:
		return s.onReleased(m.StopPartitionSessionResponse)
	case *Ydb_Topic.StreamReadMessage_FromClient_CommitOffsetRequest:
		return s.onCommit(m.CommitOffsetRequest)
	case *Ydb_Topic.StreamReadMessage_FromClient_PartitionSessionStatusRequest:
		return s.onStatus(m.PartitionSessionStatusRequest)
	case *Ydb_Topic.StreamReadMessage_FromClient_UpdateTokenRequest:
		return s.send(&readFromServer{ServerMessage: &Ydb_Topic.StreamReadMessage_FromServer_UpdateTokenResponse{
			UpdateTokenResponse: &Ydb_Topic.UpdateTokenResponse{},
		}})
	case *Ydb_Topic.StreamReadMessage_FromClient_InitRequest:
		return badRequest("got second init request")
	case *Ydb_Topic.StreamReadMessage_FromClient_DirectReadAck:
		return badRequest("got direct read ack, but direct read is not enabled")
	default:
		return badRequest("'client_message' is not set")
	}
}

// onStarted begins reading at the highest of the committed offset, the offset
// the client wants and the first one kept.
func (s *readSession) onStarted(r *Ydb_Topic.StreamReadMessage_StartPartitionSessionResponse) error {
	ps := s.parts[r.GetPartitionSessionId()]
	if ps == nil || ps.dead.Load() {
		return nil // taken away while the answer was under way
	}
	if ps.started {
		return badRequest("double partition locking of partition %d", ps.part.id)
	}
	_, end := ps.part.bounds()
	next := ps.committed
	if r.ReadOffset != nil {
		at := r.GetReadOffset()
		if at < ps.committed {
			return badRequest("trying to read from position that is less than committed offset: %d < %d", at, ps.committed)
		}
		if at > end {
			return badRequest("trying to read from position %d that is beyond the end %d", at, end)
		}
		next = at
	}
	if r.CommitOffset != nil {
		at := r.GetCommitOffset()
		if ps.group == nil {
			return badRequest("can't commit when reading without a consumer")
		}
		if at > next || at > end {
			return badRequest("trying to commit to future: commit %d, read %d, end %d", at, next, end)
		}
		if at > ps.wanted {
			ps.wanted = at
		}
	}
	ps.started = true
	ps.next.Store(next)
	s.markReady(ps)
	if err := s.commitNext(ps); err != nil {
		return err
	}
	return s.finishEnded(ps)
}

// onReleased takes the client's word that it has let go of a partition.
func (s *readSession) onReleased(r *Ydb_Topic.StreamReadMessage_StopPartitionSessionResponse) error {
	ps := s.parts[r.GetPartitionSessionId()]
	if ps == nil || ps.dead.Load() || ps.leaving {
		return nil
	}
	if !ps.stopping {
		return badRequest("graceful release of partition that is not requested for release is forbidden, partition session %d", ps.id)
	}
	// The next reader starts from the committed offset, so what this one has
	// committed must be in it first.
	ps.leaving = true
	if ps.committing == ps.committed {
		s.release(ps)
	}
	return nil
}

func (s *readSession) release(ps *partSession) {
	delete(s.parts, ps.id)
	ps.dead.Store(true)
	ps.group.released(ps)
}

func (s *readSession) onCommit(r *Ydb_Topic.StreamReadMessage_CommitOffsetRequest) error {
	if s.consumer == "" {
		return badRequest("can't commit when reading without a consumer")
	}
	for _, c := range r.GetCommitOffsets() {
		ps := s.parts[c.GetPartitionSessionId()]
		if ps == nil || ps.dead.Load() || ps.leaving {
			continue
		}
		for _, o := range c.GetOffsets() {
			if o.GetStart() < 0 || o.GetStart() >= o.GetEnd() {
				return badRequest("offsets range [%d, %d) is not valid", o.GetStart(), o.GetEnd())
			}
			if err := ps.addCommit(o.GetStart(), o.GetEnd()); err != nil {
				return err
			}
		}
		if err := s.commitNext(ps); err != nil {
			return err
		}
	}
	return nil
}

// commitNext sends the contiguous prefix to the store, one commit at a time:
// what comes meanwhile goes with the next one. Commits of a partition wait
// until those of its parent have come to the end.
func (s *readSession) commitNext(ps *partSession) error {
	if ps.committing != ps.committed || ps.wanted <= ps.committed {
		return nil
	}
	if !ps.part.parentsEnded(s.consumer) {
		return nil // eventParentEnded comes back to it
	}
	ps.committing = ps.wanted
	return s.srv.store.Submit(s.stream.Context(), &sessionCommit{ps: ps, offset: ps.wanted})
}

func (s *readSession) onCommitted(ps *partSession, offset int64, err error) error {
	if err != nil {
		return err
	}
	ps.committed, ps.committing = offset, offset
	ps.wanted = max(ps.wanted, offset)
	if s.parts[ps.id] != ps {
		return nil
	}
	if ps.leaving {
		// The client has forgotten the partition session and wants no answer.
		if err := s.commitNext(ps); err != nil {
			return err
		}
		if ps.committing == ps.committed {
			s.release(ps)
		}
		return nil
	}
	wasPaused := ps.paused()
	ps.settle()
	if wasPaused && !ps.paused() {
		s.markReady(ps)
	}
	if err := s.send(&readFromServer{ServerMessage: &Ydb_Topic.StreamReadMessage_FromServer_CommitOffsetResponse{
		CommitOffsetResponse: &Ydb_Topic.StreamReadMessage_CommitOffsetResponse{
			PartitionsCommittedOffsets: []*Ydb_Topic.StreamReadMessage_CommitOffsetResponse_PartitionCommittedOffset{
				{PartitionSessionId: ps.id, CommittedOffset: offset},
			},
		},
	}}); err != nil {
		return err
	}
	return s.commitNext(ps)
}

func (s *readSession) onStatus(r *Ydb_Topic.StreamReadMessage_PartitionSessionStatusRequest) error {
	ps := s.parts[r.GetPartitionSessionId()]
	if ps == nil {
		return nil
	}
	p := ps.part
	p.mu.Lock()
	start, end, written := p.start, p.end, p.writtenMs
	p.mu.Unlock()
	return s.send(&readFromServer{ServerMessage: &Ydb_Topic.StreamReadMessage_FromServer_PartitionSessionStatusResponse{
		PartitionSessionStatusResponse: &Ydb_Topic.StreamReadMessage_PartitionSessionStatusResponse{
			PartitionSessionId: ps.id, PartitionOffsets: &Ydb_Topic.OffsetsRange{Start: start, End: end},
			CommittedOffset: ps.committed, ReadOffset: ps.next.Load(),
			WriteTimeHighWatermark: timestamppb.New(time.UnixMilli(written)),
		},
	}})
}

// committedTo follows up a commit: the end of a partition that was split frees
// its children from the session that has them, and their commits.
func (p *partition) committedTo(consumer string) {
	if !p.ended(consumer) {
		return
	}
	p.topic.group(consumer).rebalance()
	cfg := p.topic.config.Load()
	for _, id := range cfg.Partitions[p.id].Children {
		cfg.parts[id].notify(eventParentEnded)
	}
}

// sessionCommit commits an offset for the session that held the partition
// when the client asked. It counts also if the session has ended since, but not
// if the offset was set from outside.
type sessionCommit struct {
	ps     *partSession
	offset int64
	lost   bool
}

func (*sessionCommit) Size() int { return 0 }

func (o *sessionCommit) Apply(b *store.Batch) {
	p, consumer := o.ps.part, o.ps.group.consumer
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.topic.gone.Load() || o.ps.interrupted {
		o.lost = true
		return
	}
	if at := p.commits[consumer]; o.offset <= at {
		// A CommitOffset call of the same session was ahead.
		o.offset = at
		return
	}
	p.commits[consumer] = o.offset
	b.PutCommit(p.topic.id, p.id, consumer, o.offset)
}

func (o *sessionCommit) Done(err error) {
	if o.lost && err == nil {
		return
	}
	o.ps.session.post(readEvent{kind: eventCommitted, ps: o.ps, offset: o.offset, err: err})
	if err == nil {
		o.ps.part.committedTo(o.ps.group.consumer)
	}
}
