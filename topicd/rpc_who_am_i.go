package topicd

import (
	"context"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
)

// WhoAmI answers that everybody is anonymous: there is no authentication.
func (s *Server) WhoAmI(ctx context.Context, _ *Ydb_Discovery.WhoAmIRequest) (*Ydb_Discovery.WhoAmIResponse, error) {
	err := s.unary(ctx, "WhoAmI", func(context.Context) error { return nil })
	return &Ydb_Discovery.WhoAmIResponse{Operation: operation(&Ydb_Discovery.WhoAmIResult{User: "anonymous"}, err)}, nil
}
