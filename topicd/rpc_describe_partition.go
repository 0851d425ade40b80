package topicd

import (
	"context"
	"slices"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/grpc"
)

// DescribePartition tells of one partition what DescribeTopic tells of all.
//
// Errors: SCHEME_ERROR when there is no such topic or partition.
func (s *Server) DescribePartition(ctx context.Context, req *Ydb_Topic.DescribePartitionRequest) (*Ydb_Topic.DescribePartitionResponse, error) {
	var result *Ydb_Topic.DescribePartitionResult
	err := s.unary(ctx, "DescribePartition", func(ctx context.Context) error {
		t, err := s.findTopic(ctx, req.GetPath())
		if err != nil {
			return err
		}
		cfg := t.config.Load()
		id := req.GetPartitionId()
		if id < 0 || id >= int64(len(cfg.parts)) {
			return schemeError("no partition %d in topic", id)
		}
		result = &Ydb_Topic.DescribePartitionResult{
			Partition: cfg.parts[id].describe(&cfg.Partitions[id], req.GetIncludeStats(), req.GetIncludeLocation()),
		}
		return nil
	})
	return &Ydb_Topic.DescribePartitionResponse{Operation: operation(result, err)}, nil
}

const describePartitionMethod = "/Ydb.Topic.V1.TopicService/DescribePartition"

// topicService is the service as newer protocols have it: the generated code
// knows the messages of DescribePartition but not the call.
func topicService() *grpc.ServiceDesc {
	desc := Ydb_Topic_V1.TopicService_ServiceDesc
	desc.Methods = append(slices.Clone(desc.Methods), grpc.MethodDesc{
		MethodName: "DescribePartition", Handler: handleDescribePartition,
	})
	return &desc
}

func handleDescribePartition(srv any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) { //nolint:revive // the order that grpc calls it with
	req := new(Ydb_Topic.DescribePartitionRequest)
	if err := decode(req); err != nil {
		return nil, err
	}
	call := func(ctx context.Context, req any) (any, error) {
		return srv.(*Server).DescribePartition(ctx, req.(*Ydb_Topic.DescribePartitionRequest)) //nolint:errcheck // registered for it
	}
	if intercept == nil {
		return call(ctx, req)
	}
	return intercept(ctx, req, &grpc.UnaryServerInfo{Server: srv, FullMethod: describePartitionMethod}, call)
}
