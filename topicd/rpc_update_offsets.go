package topicd

import (
	"context"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

// UpdateOffsetsInTransaction needs the query service, which is not here:
// always UNSUPPORTED.
func (s *Server) UpdateOffsetsInTransaction(
	ctx context.Context, _ *Ydb_Topic.UpdateOffsetsInTransactionRequest,
) (*Ydb_Topic.UpdateOffsetsInTransactionResponse, error) {
	err := s.unary(ctx, "UpdateOffsetsInTransaction", func(context.Context) error {
		return statusf(Ydb.StatusIds_UNSUPPORTED, "transactions are not supported")
	})
	return &Ydb_Topic.UpdateOffsetsInTransactionResponse{Operation: operation(nil, err)}, nil
}
