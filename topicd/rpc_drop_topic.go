package topicd

import (
	"context"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

// DropTopic removes a topic with its data; its sessions end with
// SCHEME_ERROR.
//
// Errors: SCHEME_ERROR when there is no such topic.
func (s *Server) DropTopic(ctx context.Context, req *Ydb_Topic.DropTopicRequest) (*Ydb_Topic.DropTopicResponse, error) {
	err := s.unary(ctx, "DropTopic", func(ctx context.Context) error { return s.dropTopic(ctx, req) })
	return &Ydb_Topic.DropTopicResponse{Operation: operation(&Ydb_Topic.DropTopicResult{}, err)}, nil
}

func (s *Server) dropTopic(ctx context.Context, req *Ydb_Topic.DropTopicRequest) error {
	if err := s.tree.lock(ctx); err != nil {
		return err
	}
	defer s.tree.unlock()
	t, err := s.findTopic(ctx, req.GetPath())
	if err != nil {
		return err
	}
	op := &dropOp{t: t, done: make(chan error, 1)}
	if err := s.store.Submit(ctx, op); err != nil {
		return err
	}
	if err := s.await(op.done); err != nil {
		return err
	}
	s.tree.remove(t.entry.path)
	t.endSessions(t.errDropped())
	return nil
}
