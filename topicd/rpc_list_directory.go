package topicd

import (
	"context"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"
)

// ListDirectory lists the entries directly below a path; a topic has none.
//
// Errors: SCHEME_ERROR when the path is missing.
func (s *Server) ListDirectory(ctx context.Context, req *Ydb_Scheme.ListDirectoryRequest) (*Ydb_Scheme.ListDirectoryResponse, error) {
	var result *Ydb_Scheme.ListDirectoryResult
	err := s.unary(ctx, "ListDirectory", func(ctx context.Context) error {
		self, err := s.schemeEntry(ctx, req.GetPath())
		if err != nil {
			return err
		}
		if isAbove(req.GetPath(), s.opts.Database) {
			root := s.rootEntry()
			result = &Ydb_Scheme.ListDirectoryResult{Self: self, Children: []*Ydb_Scheme.Entry{root}}
			return nil
		}
		path, err := s.resolve(ctx, req.GetPath())
		if err != nil {
			return err
		}
		result = &Ydb_Scheme.ListDirectoryResult{Self: self}
		for _, e := range s.tree.children(path) {
			result.Children = append(result.Children, e.scheme())
		}
		return nil
	})
	return &Ydb_Scheme.ListDirectoryResponse{Operation: operation(result, err)}, nil
}

// isAbove tells the path of the directory that holds the database.
func isAbove(path, database string) bool {
	parent := parentOf(database)
	return path == "/" && parent == "" || path != "" && path == parent
}

func (s *Server) rootEntry() *Ydb_Scheme.Entry {
	root := s.tree.get(s.opts.Database).scheme()
	root.Type = Ydb_Scheme.Entry_DATABASE
	return root
}

// schemeEntry finds the entry of a path, the database and its parent included.
func (s *Server) schemeEntry(ctx context.Context, path string) (*Ydb_Scheme.Entry, error) {
	if isAbove(path, s.opts.Database) {
		return &Ydb_Scheme.Entry{Name: path, Owner: owner, Type: Ydb_Scheme.Entry_DIRECTORY}, nil
	}
	full, err := s.resolve(ctx, path)
	if err != nil {
		return nil, err
	}
	if full == s.opts.Database {
		return s.rootEntry(), nil
	}
	e := s.tree.get(full)
	if e == nil {
		return nil, schemeError("path %q does not exist", full)
	}
	return e.scheme(), nil
}
