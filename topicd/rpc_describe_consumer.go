package topicd

import (
	"context"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

// DescribeConsumer tells the settings of a consumer and, with statistics, its
// offsets and who reads each partition.
//
// Errors: SCHEME_ERROR when there is no such topic or consumer.
func (s *Server) DescribeConsumer(ctx context.Context, req *Ydb_Topic.DescribeConsumerRequest) (*Ydb_Topic.DescribeConsumerResponse, error) {
	var result *Ydb_Topic.DescribeConsumerResult
	err := s.unary(ctx, "DescribeConsumer", func(ctx context.Context) error {
		t, err := s.findTopic(ctx, req.GetPath())
		if err != nil {
			return err
		}
		c := t.config.Load().consumer(req.GetConsumer())
		if c == nil {
			return schemeError("no consumer '%s' in topic", req.GetConsumer())
		}
		result = t.describeConsumer(c, req)
		return nil
	})
	return &Ydb_Topic.DescribeConsumerResponse{Operation: operation(result, err)}, nil
}
