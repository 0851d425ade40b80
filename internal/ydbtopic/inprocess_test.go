package ydbtopic

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/emptypb"
)

func TestInProcessUnary(t *testing.T) {
	s := &server{}
	c := InProcess("/local", s.register)
	req := &Ydb_Topic.DropTopicRequest{Path: "/local/q"}
	resp, err := c.Topics().DropTopic(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.GetOperation().GetStatus(); got != Ydb.StatusIds_SUCCESS {
		t.Errorf("status %v", got)
	}
	if diff := cmp.Diff(req, s.request.Load(), protocmp.Transform()); diff != "" {
		t.Errorf("request changed on the way: %s", diff)
	}
	if got := s.header.Load().Get("x-ydb-database"); len(got) != 1 || got[0] != "/local" {
		t.Errorf("database header %q", got)
	}
	if err := c.Ready(); err != nil {
		t.Errorf("not ready: %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestInProcessStream(t *testing.T) {
	c := InProcess("/local", (&server{}).register)
	stream, err := c.Topics().StreamWrite(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := stream.Send(writeRequest(make([]byte, i))); err != nil {
			t.Fatal(err)
		}
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if got := m.GetWriteResponse().GetAcks()[0].GetWritten().GetOffset(); got != int64(i) {
			t.Fatalf("answer %d to request %d", got, i)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err == nil {
		t.Error("the stream goes on after its end")
	}
}

func TestHandOverSharesWithoutCopying(t *testing.T) {
	in := writeRequest([]byte("body"))
	out := &Ydb_Topic.StreamWriteMessage_FromClient{}
	if err := (handOver{}).Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(in, out) {
		t.Errorf("got %v, want %v", out, in)
	}
	if &in.GetWriteRequest().GetMessages()[0].GetData()[0] != &out.GetWriteRequest().GetMessages()[0].GetData()[0] {
		t.Error("the data was copied")
	}
	if err := (handOver{}).Copy(&emptypb.Empty{}, &emptypb.Empty{}); err != nil {
		t.Errorf("empty message: %v", err)
	}
	if err := (handOver{}).Copy(&emptypb.Empty{}, in); err == nil {
		t.Error("a message of another type was taken")
	}
}

// One message may go to many receivers while each looks at it through
// reflection, which writes the message state. Meaningful under -race.
func TestHandOverOneMessageToMany(t *testing.T) {
	in := writeRequest([]byte("body"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			out := &Ydb_Topic.StreamWriteMessage_FromClient{}
			if err := (handOver{}).Copy(out, in); err != nil {
				t.Error(err)
			}
			_ = proto.Size(out) // for its effect on the state
			_ = in.String()
		})
	}
	wg.Wait()
}

func BenchmarkInProcessUnary(b *testing.B) {
	c := InProcess("/local", (&server{}).register)
	req := &Ydb_Topic.DropTopicRequest{Path: "/local/q"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Topics().DropTopic(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInProcessStream(b *testing.B) {
	for _, size := range []int{1 << 10, 256 << 10} {
		b.Run(fmt.Sprintf("round_trip_%dKiB", size>>10), func(b *testing.B) {
			c := InProcess("/local", (&server{}).register)
			stream, err := c.Topics().StreamWrite(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			req := writeRequest(make([]byte, size))
			b.ReportAllocs()
			for b.Loop() {
				if err := stream.Send(req); err != nil {
					b.Fatal(err)
				}
				if _, err := stream.Recv(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
