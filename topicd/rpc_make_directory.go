package topicd

import (
	"context"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"

	"sqsgate/topicd/store"
)

// MakeDirectory makes a directory and those above it; one that exists is fine.
//
// Errors: SCHEME_ERROR when a topic is in the way or a name is not allowed.
func (s *Server) MakeDirectory(ctx context.Context, req *Ydb_Scheme.MakeDirectoryRequest) (*Ydb_Scheme.MakeDirectoryResponse, error) {
	err := s.unary(ctx, "MakeDirectory", func(ctx context.Context) error { return s.makeDirectory(ctx, req.GetPath()) })
	return &Ydb_Scheme.MakeDirectoryResponse{Operation: operation(nil, err)}, nil
}

func (s *Server) makeDirectory(ctx context.Context, path string) error {
	if path == "" {
		return badRequest("path is empty")
	}
	full, err := s.resolve(ctx, path)
	if err != nil {
		return err
	}
	if err := s.tree.lock(ctx); err != nil {
		return err
	}
	defer s.tree.unlock()
	var fresh []*entry
	at := s.opts.Database
	for name := range strings.SplitSeq(strings.TrimPrefix(full, at), "/") {
		if name == "" {
			continue
		}
		at += "/" + name
		e := s.tree.get(at)
		if e == nil {
			fresh = append(fresh, s.tree.nextEntry(at))
			continue
		}
		if e.topic != nil {
			return schemeError("path %q is not a directory", at)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	values := make([][]byte, len(fresh))
	for i, e := range fresh {
		if values[i], err = e.encode(nil); err != nil {
			return err
		}
	}
	if err := s.commit(ctx, func(b *store.Batch) error {
		for i, e := range fresh {
			b.PutCounter(e.id)
			b.PutEntry(e.path, values[i])
		}
		return nil
	}); err != nil {
		return err
	}
	for _, e := range fresh {
		s.tree.put(e)
	}
	return nil
}
