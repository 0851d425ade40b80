package topicd

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/fullstorydev/grpchan/inprocgrpc"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/grpc"
)

// sharing passes messages without copying them, as the gateway's channel does.
type sharing struct{}

func (sharing) Clone(in any) (any, error) { return in, nil }

func (sharing) Copy(out, in any) error {
	switch in := in.(type) {
	case *Ydb_Topic.StreamWriteMessage_FromClient:
		out, ok := out.(*Ydb_Topic.StreamWriteMessage_FromClient)
		if !ok {
			return io.ErrUnexpectedEOF
		}
		out.ClientMessage = in.GetClientMessage()
	case *Ydb_Topic.StreamWriteMessage_FromServer:
		out, ok := out.(*Ydb_Topic.StreamWriteMessage_FromServer)
		if !ok {
			return io.ErrUnexpectedEOF
		}
		out.Status, out.Issues, out.ServerMessage = in.GetStatus(), in.GetIssues(), in.GetServerMessage()
	case *Ydb_Topic.StreamReadMessage_FromClient:
		out, ok := out.(*Ydb_Topic.StreamReadMessage_FromClient)
		if !ok {
			return io.ErrUnexpectedEOF
		}
		out.ClientMessage = in.GetClientMessage()
	case *Ydb_Topic.StreamReadMessage_FromServer:
		out, ok := out.(*Ydb_Topic.StreamReadMessage_FromServer)
		if !ok {
			return io.ErrUnexpectedEOF
		}
		out.Status, out.Issues, out.ServerMessage = in.GetStatus(), in.GetIssues(), in.GetServerMessage()
	default:
		return inprocgrpc.ProtoCloner{}.Copy(out, in)
	}
	return nil
}

func benchBody() []byte {
	data := make([]byte, 1024)
	for i := range data {
		data[i] = byte(i*31 + i>>3)
	}
	return data
}

// BenchmarkWrite writes 1 KiB messages to the real disk from 64 sessions on
// 16 partitions; each session has one request in flight.
func BenchmarkWrite(b *testing.B) {
	for _, transport := range []string{"inproc", "grpc"} {
		for _, per := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/batch=%d", transport, per), func(b *testing.B) {
				ts := start(b, Options{DataDir: b.TempDir()})
				client := ts.client
				if transport == "inproc" {
					ch := new(inprocgrpc.Channel).WithCloner(sharing{})
					ts.Register(ch)
					client = Ydb_Topic_V1.NewTopicServiceClient(ch)
				}
				ts.createTopic(b, "t", 16)
				benchWrite(b, client, per)
			})
		}
	}
}

func benchWrite(b *testing.B, client Ydb_Topic_V1.TopicServiceClient, per int) {
	data := benchBody()
	var session atomic.Int64
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.SetBytes(int64(1024 * per))
	b.SetParallelism(32) // times two cores
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		n := session.Add(1)
		stream, err := client.StreamWrite(ctx)
		if err != nil {
			b.Error(err)
			return
		}
		if err := stream.Send(&Ydb_Topic.StreamWriteMessage_FromClient{
			ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_InitRequest{InitRequest: &Ydb_Topic.StreamWriteMessage_InitRequest{
				Path: "t", ProducerId: fmt.Sprint("p", n), Partitioning: partitionID(n % 16),
			}},
		}); err != nil {
			b.Error(err)
			return
		}
		if _, err := stream.Recv(); err != nil {
			b.Error(err)
			return
		}
		seq := int64(0)
		for pb.Next() {
			msgs := make([]*Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData, per)
			for i := range msgs {
				seq++
				msgs[i] = &Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData{SeqNo: seq, Data: data}
			}
			if err := stream.Send(&Ydb_Topic.StreamWriteMessage_FromClient{
				ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{
					WriteRequest: &Ydb_Topic.StreamWriteMessage_WriteRequest{Codec: 1, Messages: msgs},
				},
			}); err != nil {
				b.Error(err)
				return
			}
			m, err := stream.Recv()
			if err != nil || len(m.GetWriteResponse().GetAcks()) != per {
				b.Errorf("%v %v", m, err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N*per)/b.Elapsed().Seconds(), "msg/s")
}

// BenchmarkRead reads a partition of 1 KiB messages from the store (tail off)
// or from the memory tail, with 4 MiB of credit.
func BenchmarkRead(b *testing.B) {
	for _, transport := range []string{"inproc", "grpc"} {
		for _, from := range []string{"store", "tail"} {
			b.Run(transport+"/"+from, func(b *testing.B) {
				const stored = 20_000
				o := Options{DataDir: b.TempDir(), TailBytes: 1}
				if from == "tail" {
					o.TailBytes = 64 << 20
				}
				ts := start(b, o)
				client := ts.client
				if transport == "inproc" {
					ch := new(inprocgrpc.Channel).WithCloner(sharing{})
					ts.Register(ch)
					client = Ydb_Topic_V1.NewTopicServiceClient(ch)
				}
				ts.createTopic(b, "t", 1)
				w := ts.mustWriter(b, "t", "p", 0)
				data := string(benchBody())
				for i := range stored / 100 {
					msgs := make([]*Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData, 100)
					for j := range msgs {
						msgs[j] = message(int64(i*100+j+1), data)
					}
					w.request(1, msgs...)
					w.acks()
				}
				b.ResetTimer()
				for left := b.N; left > 0; left -= stored {
					benchRead(b, client, min(left, stored))
				}
				b.SetBytes(1024)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
			})
		}
	}
}

func benchRead(b *testing.B, client Ydb_Topic_V1.TopicServiceClient, n int) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	stream, err := client.StreamRead(ctx, grpc.MaxCallRecvMsgSize(1<<30))
	if err != nil {
		b.Fatal(err)
	}
	r := &reader{tb: b, stream: stream}
	r.send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_InitRequest{InitRequest: &Ydb_Topic.StreamReadMessage_InitRequest{
			TopicsReadSettings: []*Ydb_Topic.StreamReadMessage_InitRequest_TopicReadSettings{{Path: "t", PartitionIds: []int64{0}}},
		}},
	})
	r.recv()
	r.confirm(r.recvStart().GetPartitionSession().GetPartitionSessionId(), nil, nil)
	r.credit(4 << 20)
	r.take(n)
}
