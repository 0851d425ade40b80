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
//
// After splits the partitions that this one came from are committed to their
// ends as well; going back on a split one makes its descendants unread again.
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
	var moved []*partition
	if err := s.commit(ctx, func(b *store.Batch) error {
		var err error
		moved, err = p.setCommit(b, req)
		return err
	}); err != nil {
		return err
	}
	if req.GetReadSessionId() == "" {
		for _, m := range moved {
			t.group(consumer).interrupt(m.id)
		}
	}
	for _, m := range moved {
		m.committedTo(consumer)
	}
	return nil
}

// setCommit checks and stores an offset, and what follows for the partitions
// that this one came from (committed to the end) or was split into (when it is
// to be read again, so are they). It returns all that it changed and runs in the
// committer.
func (p *partition) setCommit(b *store.Batch, req *Ydb_Topic.CommitOffsetRequest) ([]*partition, error) {
	if p.topic.gone.Load() {
		return nil, p.topic.errDropped()
	}
	changed, err := p.setOwnCommit(b, req)
	if err != nil || !changed {
		return nil, err
	}
	consumer, byHand := req.GetConsumer(), req.GetReadSessionId() == ""
	moved := []*partition{p}
	cfg := p.topic.config.Load()
	for ids := cfg.Partitions[p.id].Parents; len(ids) > 0; ids = cfg.Partitions[ids[0]].Parents {
		parent := cfg.parts[ids[0]]
		if !parent.ended(consumer) {
			parent.moveCommit(b, consumer, byHand, func() int64 { return parent.end })
			moved = append(moved, parent)
		}
	}
	if !byHand || p.ended(consumer) {
		return moved, nil
	}
	for _, id := range cfg.descendants(p.id) {
		child := cfg.parts[id]
		if child.committed(consumer) > child.firstKept() {
			child.moveCommit(b, consumer, byHand, func() int64 { return child.start })
			moved = append(moved, child)
		}
	}
	return moved, nil
}

// moveCommit sets the consumer's offset without asking anybody.
func (p *partition) moveCommit(b *store.Batch, consumer string, interrupt bool, to func() int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ps := p.readers[consumer]; ps != nil && interrupt {
		ps.interrupted = true
	}
	offset := to()
	p.commits[consumer] = offset
	b.PutCommit(p.topic.id, p.id, consumer, offset)
}

func (p *partition) firstKept() int64 {
	start, _ := p.bounds()
	return start
}

// setOwnCommit is setCommit for the partition named; false = nothing to do.
func (p *partition) setOwnCommit(b *store.Batch, req *Ydb_Topic.CommitOffsetRequest) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	consumer, offset, session := req.GetConsumer(), req.GetOffset(), req.GetReadSessionId()
	if session != "" {
		actual := ""
		if ps := p.readers[consumer]; ps != nil {
			actual = ps.session.id
		}
		if actual != session {
			return false, statusf(Ydb.StatusIds_SESSION_EXPIRED, "set offset in already dead session %s actual is %s", session, actual)
		}
		if offset <= max(p.commits[consumer], p.start) {
			return false, nil
		}
	}
	switch {
	case offset < p.start:
		return false, badRequest("set offset %d to past: the partition starts at %d", offset, p.start)
	case offset > p.end:
		return false, badRequest("strict commit can't set offset %d to future: the partition ends at %d", offset, p.end)
	}
	if ps := p.readers[consumer]; ps != nil && session == "" {
		ps.interrupted = true
	}
	p.commits[consumer] = offset
	b.PutCommit(p.topic.id, p.id, consumer, offset)
	return true, nil
}
