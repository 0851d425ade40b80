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
	fresh, err := s.missingDirectories(full)
	if err != nil || len(fresh.entries) == 0 {
		return err
	}
	if err := s.commit(ctx, func(b *store.Batch) error { fresh.put(b); return nil }); err != nil {
		return err
	}
	fresh.show(s.tree)
	return nil
}

// newDirectories are entries that are not in the tree yet, with their stored form.
type newDirectories struct {
	entries []*entry
	values  [][]byte
}

// missingDirectories makes entries for the directories down to path that do
// not exist. The caller holds the tree's gate.
func (s *Server) missingDirectories(path string) (newDirectories, error) {
	var fresh newDirectories
	at := s.opts.Database
	for name := range strings.SplitSeq(strings.TrimPrefix(path, at), "/") {
		if name == "" {
			continue
		}
		at += "/" + name
		if e := s.tree.get(at); e != nil {
			if e.topic != nil {
				return newDirectories{}, schemeError("path %q is not a directory", at)
			}
			continue
		}
		e := s.tree.nextEntry(at)
		value, err := e.encode(nil)
		if err != nil {
			return newDirectories{}, err
		}
		fresh.entries = append(fresh.entries, e)
		fresh.values = append(fresh.values, value)
	}
	return fresh, nil
}

func (d newDirectories) put(b *store.Batch) {
	for i, e := range d.entries {
		b.PutCounter(e.id)
		b.PutEntry(e.path, d.values[i])
	}
}

func (d newDirectories) show(t *tree) {
	for _, e := range d.entries {
		t.put(e)
	}
}
