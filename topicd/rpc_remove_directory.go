package topicd

import (
	"context"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"

	"sqsgate/topicd/store"
)

// RemoveDirectory removes an empty directory.
//
// Errors: SCHEME_ERROR when it is missing, not empty, a topic or the database.
func (s *Server) RemoveDirectory(ctx context.Context, req *Ydb_Scheme.RemoveDirectoryRequest) (*Ydb_Scheme.RemoveDirectoryResponse, error) {
	err := s.unary(ctx, "RemoveDirectory", func(ctx context.Context) error { return s.removeDirectory(ctx, req.GetPath()) })
	return &Ydb_Scheme.RemoveDirectoryResponse{Operation: operation(nil, err)}, nil
}

func (s *Server) removeDirectory(ctx context.Context, path string) error {
	full, err := s.topicPath(ctx, path)
	if err != nil {
		return err
	}
	if err := s.tree.lock(ctx); err != nil {
		return err
	}
	defer s.tree.unlock()
	if err := s.tree.directory(full); err != nil {
		return err
	}
	if len(s.tree.children(full)) > 0 {
		return schemeError("directory %q is not empty", full)
	}
	if err := s.commit(ctx, func(b *store.Batch) error {
		b.DeleteEntry(full)
		return nil
	}); err != nil {
		return err
	}
	s.tree.remove(full)
	return nil
}
