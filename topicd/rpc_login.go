package topicd

import (
	"context"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Auth"
)

// Login gives the static user of the options a token for 12 hours.
//
// Errors: UNAUTHORIZED for another user or password, and without a static user.
func (s *Server) Login(ctx context.Context, req *Ydb_Auth.LoginRequest) (*Ydb_Auth.LoginResponse, error) {
	result := new(Ydb_Auth.LoginResult)
	err := s.unary(ctx, "Login", func(context.Context) error {
		if !s.tokens.correct(req.GetUser(), req.GetPassword()) {
			return statusf(Ydb.StatusIds_UNAUTHORIZED, "Invalid user or password")
		}
		token, err := s.tokens.issue(time.Now())
		result.Token = token
		return err
	})
	return &Ydb_Auth.LoginResponse{Operation: operation(result, err)}, nil
}
