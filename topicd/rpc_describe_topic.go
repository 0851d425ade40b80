package topicd

import (
	"context"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

// DescribeTopic tells the settings of a topic and, when asked, statistics and
// location of its partitions.
//
// Errors: SCHEME_ERROR when there is no such topic.
func (s *Server) DescribeTopic(ctx context.Context, req *Ydb_Topic.DescribeTopicRequest) (*Ydb_Topic.DescribeTopicResponse, error) {
	var result *Ydb_Topic.DescribeTopicResult
	err := s.unary(ctx, "DescribeTopic", func(ctx context.Context) error {
		t, err := s.findTopic(ctx, req.GetPath())
		if err != nil {
			return err
		}
		result = t.describe(req)
		return nil
	})
	return &Ydb_Topic.DescribeTopicResponse{Operation: operation(result, err)}, nil
}
