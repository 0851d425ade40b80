package topicd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fullstorydev/grpchan/inprocgrpc"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

// BenchmarkOpen opens a store of 100 topics with 1,000 partitions, 100
// consumers and 1,000,000 messages of 200 bytes.
func BenchmarkOpen(b *testing.B) {
	const topics, partitions, requests, perRequest = 100, 10, 10, 100
	dir := b.TempDir()
	s, err := New(Options{DataDir: dir})
	if err != nil {
		b.Fatal(err)
	}
	ch := new(inprocgrpc.Channel).WithCloner(sharing{})
	s.Register(ch)
	ts := &testServer{Server: s, client: Ydb_Topic_V1.NewTopicServiceClient(ch)}
	data := strings.Repeat("x", 200)
	for i := range topics {
		path := fmt.Sprint("t", i)
		ts.createTopic(b, path, partitions, "c")
		for p := range int64(partitions) {
			w := ts.mustWriter(b, path, fmt.Sprint("p", p), p)
			for r := range requests {
				msgs := make([]*Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData, perRequest)
				for m := range msgs {
					msgs[m] = message(int64(r*perRequest+m+1), data)
				}
				w.request(1, msgs...)
			}
			for range requests {
				w.acks()
			}
			if err := w.stream.CloseSend(); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := New(Options{DataDir: dir})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
