package ydbtopic

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/anypb"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// server answers the few methods the tests call: DropTopic with success,
// StreamWrite with one response for each request, echoing the data length as
// offset, and discovery with its own address.
type server struct {
	Ydb_Topic_V1.UnimplementedTopicServiceServer
	Ydb_Discovery_V1.UnimplementedDiscoveryServiceServer

	port    uint32
	request atomic.Pointer[Ydb_Topic.DropTopicRequest]
	header  atomic.Pointer[metadata.MD]
}

func (s *server) register(r grpc.ServiceRegistrar) {
	Ydb_Topic_V1.RegisterTopicServiceServer(r, s)
	Ydb_Discovery_V1.RegisterDiscoveryServiceServer(r, s)
}

func (s *server) DropTopic(ctx context.Context, r *Ydb_Topic.DropTopicRequest) (*Ydb_Topic.DropTopicResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	s.header.Store(&md)
	s.request.Store(r)
	return &Ydb_Topic.DropTopicResponse{Operation: &Ydb_Operations.Operation{Ready: true, Status: Ydb.StatusIds_SUCCESS}}, nil
}

func (s *server) StreamWrite(stream Ydb_Topic_V1.TopicService_StreamWriteServer) error {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var acks []*Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck
		for _, msg := range m.GetWriteRequest().GetMessages() {
			acks = append(acks, &Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck{
				SeqNo: msg.GetSeqNo(),
				MessageWriteStatus: &Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck_Written_{
					Written: &Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck_Written{Offset: int64(len(msg.GetData()))},
				},
			})
		}
		err = stream.Send(&Ydb_Topic.StreamWriteMessage_FromServer{
			Status: Ydb.StatusIds_SUCCESS,
			ServerMessage: &Ydb_Topic.StreamWriteMessage_FromServer_WriteResponse{
				WriteResponse: &Ydb_Topic.StreamWriteMessage_WriteResponse{Acks: acks},
			},
		})
		if err != nil {
			return err
		}
	}
}

func (s *server) ListEndpoints(context.Context, *Ydb_Discovery.ListEndpointsRequest) (*Ydb_Discovery.ListEndpointsResponse, error) {
	result, err := anypb.New(&Ydb_Discovery.ListEndpointsResult{
		Endpoints: []*Ydb_Discovery.EndpointInfo{{Address: "127.0.0.1", Port: s.port, NodeId: 1}},
	})
	if err != nil {
		return nil, err
	}
	return &Ydb_Discovery.ListEndpointsResponse{
		Operation: &Ydb_Operations.Operation{Ready: true, Status: Ydb.StatusIds_SUCCESS, Result: result},
	}, nil
}

// start serves s on addr and returns a function that stops it.
func (s *server) start(t *testing.T, addr string) (listening string, stop func()) {
	t.Helper()
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	tcp, ok := lis.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("listener address is a %T", lis.Addr())
	}
	s.port = uint32(tcp.Port)
	g := grpc.NewServer()
	s.register(g)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := g.Serve(lis); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("serving: %v", err)
		}
	}()
	return lis.Addr().String(), func() {
		g.Stop()
		<-done
	}
}

func writeRequest(data []byte) *Ydb_Topic.StreamWriteMessage_FromClient {
	return &Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{
			WriteRequest: &Ydb_Topic.StreamWriteMessage_WriteRequest{
				Codec:    1,
				Messages: []*Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData{{SeqNo: 1, Data: data}},
			},
		},
	}
}
