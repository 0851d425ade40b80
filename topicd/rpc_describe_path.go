package topicd

import (
	"context"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"
)

// DescribePath tells what a path is.
//
// Errors: SCHEME_ERROR when the path is missing.
func (s *Server) DescribePath(ctx context.Context, req *Ydb_Scheme.DescribePathRequest) (*Ydb_Scheme.DescribePathResponse, error) {
	var result *Ydb_Scheme.DescribePathResult
	err := s.unary(ctx, "DescribePath", func(ctx context.Context) error {
		self, err := s.schemeEntry(ctx, req.GetPath())
		result = &Ydb_Scheme.DescribePathResult{Self: self}
		return err
	})
	return &Ydb_Scheme.DescribePathResponse{Operation: operation(result, err)}, nil
}
