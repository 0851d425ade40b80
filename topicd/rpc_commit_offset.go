package topicd

import (
	"context"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/topicd/store"
)

// CommitOffset sets the offset of a consumer on one partition.
//
// Without a read session it may go back, and whoever reads the partition is
// interrupted and starts again from the new offset. With the id of a read
// session it is a compare-and-set: only the session that has the partition may
// commit, and never backwards.
//
// Errors: BAD_REQUEST for offsets outside of what is kept, SCHEME_ERROR for a
// missing topic, consumer or partition, SESSION_EXPIRED for another session.
func (s *Server) CommitOffset(ctx context.Context, req *Ydb_Topic.CommitOffsetRequest) (*Ydb_Topic.CommitOffsetResponse, error) {
	err := s.unary(ctx, "CommitOffset", func(ctx context.Context) error { return s.commitOffset(ctx, req) })
	return &Ydb_Topic.CommitOffsetResponse{Operation: operation(&Ydb_Topic.CommitOffsetResult{}, err)}, nil
}

func (s *Server) commitOffset(ctx context.Context, req *Ydb_Topic.CommitOffsetRequest) error {
	t, err := s.findTopic(ctx, req.GetPath())
	if err != nil {
		return err
	}
	consumer := req.GetConsumer()
	if t.config.Load().consumer(consumer) == nil {
		return schemeError("no consumer '%s' in topic", consumer)
	}
	p := t.partition(req.GetPartitionId())
	if p == nil {
		return schemeError("partition id not found in topic: %d", req.GetPartitionId())
	}
	if err := s.commit(ctx, func(b *store.Batch) error { return p.setCommit(b, req) }); err != nil {
		return err
	}
	if req.GetReadSessionId() == "" {
		t.group(consumer).interrupt(p.id)
	}
	return nil
}

// setCommit checks and stores an offset. It runs in the committer.
func (p *partition) setCommit(b *store.Batch, req *Ydb_Topic.CommitOffsetRequest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.topic.gone.Load() {
		return p.topic.errDropped()
	}
	consumer, offset, session := req.GetConsumer(), req.GetOffset(), req.GetReadSessionId()
	if session != "" {
		actual := ""
		if ps := p.readers[consumer]; ps != nil {
			actual = ps.session.id
		}
		if actual != session {
			return statusf(Ydb.StatusIds_SESSION_EXPIRED, "set offset in already dead session %s actual is %s", session, actual)
		}
		if offset <= max(p.commits[consumer], p.start) {
			return nil
		}
	}
	switch {
	case offset < p.start:
		return badRequest("set offset %d to past: the partition starts at %d", offset, p.start)
	case offset > p.end:
		return badRequest("strict commit can't set offset %d to future: the partition ends at %d", offset, p.end)
	}
	if ps := p.readers[consumer]; ps != nil && session == "" {
		ps.interrupted = true
	}
	p.commits[consumer] = offset
	b.PutCommit(p.topic.id, p.id, consumer, offset)
	return nil
}
