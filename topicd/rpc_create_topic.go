package topicd

import (
	"context"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/topicd/store"
)

// CreateTopic makes a topic, and the directories above it that do not exist.
//
// Errors: BAD_REQUEST (validate.go), SCHEME_ERROR for a topic in the place of a
// directory or a directory of that name, ALREADY_EXISTS, PRECONDITION_FAILED for a metering mode.
func (s *Server) CreateTopic(ctx context.Context, req *Ydb_Topic.CreateTopicRequest) (*Ydb_Topic.CreateTopicResponse, error) {
	err := s.unary(ctx, "CreateTopic", func(ctx context.Context) error { return s.createTopic(ctx, req) })
	return &Ydb_Topic.CreateTopicResponse{Operation: operation(&Ydb_Topic.CreateTopicResult{}, err)}, nil
}

func (s *Server) createTopic(ctx context.Context, req *Ydb_Topic.CreateTopicRequest) error {
	path, err := s.topicPath(ctx, req.GetPath())
	if err != nil {
		return err
	}
	cfg, err := newTopicConfig(req)
	if err != nil {
		return err
	}
	if err := s.tree.lock(ctx); err != nil {
		return err
	}
	defer s.tree.unlock()
	if e := s.tree.get(path); e != nil {
		if e.topic == nil {
			return schemeError("path %q exists and is not a topic", path)
		}
		return statusf(Ydb.StatusIds_ALREADY_EXISTS, "topic %q already exists", path)
	}
	above, err := s.missingDirectories(parentOf(path))
	if err != nil {
		return err
	}
	e := s.tree.nextEntry(path)
	value, err := e.encode(cfg)
	if err != nil {
		return err
	}
	if err := s.commit(ctx, func(b *store.Batch) error {
		above.put(b)
		b.PutCounter(e.id)
		b.PutEntry(path, value)
		return nil
	}); err != nil {
		return err
	}
	above.show(s.tree)
	e.topic = newTopic(s, e, cfg)
	s.tree.put(e)
	return nil
}

// topicPath resolves a path that must name something below the root.
func (s *Server) topicPath(ctx context.Context, path string) (string, error) {
	if path == "" {
		return "", badRequest("path is empty")
	}
	full, err := s.resolve(ctx, path)
	if err != nil {
		return "", err
	}
	if full == s.opts.Database {
		return "", schemeError("path %q is the database", path)
	}
	return full, nil
}

// findTopic resolves the path of a topic that exists.
func (s *Server) findTopic(ctx context.Context, path string) (*topic, error) {
	full, err := s.topicPath(ctx, path)
	if err != nil {
		return nil, err
	}
	return s.tree.topic(full)
}
