package topicd

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/fullstorydev/grpchan/inprocgrpc"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

// The services work through a channel that shares messages, and Close ends
// its streams too.
func TestInProcess(t *testing.T) {
	s, err := New(Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	ch := new(inprocgrpc.Channel).WithCloner(sharing{})
	s.Register(ch)
	ts := &testServer{Server: s, client: Ydb_Topic_V1.NewTopicServiceClient(ch)}
	ts.createTopic(t, "t", 1, "c")
	w := ts.mustWriter(t, "t", "p", 0)
	w.request(1, message(1, "a"), message(2, "b"))
	w.acks()
	r := ts.mustReader(t, "t", "c")
	r.confirm(r.recvStart().GetPartitionSession().GetPartitionSessionId(), nil, nil)
	r.credit(1 << 20)
	if got := r.take(2); string(got[1].GetData()) != "b" {
		t.Errorf("read %v", got)
	}
	done := make(chan error, 1)
	go func() { done <- s.Close() }()
	w.wantEnd(Ydb.StatusIds_UNAVAILABLE, "shutting down")
	r.wantEnd(Ydb.StatusIds_UNAVAILABLE, "shutting down")
	if err := <-done; err != nil {
		t.Error(err)
	}
	res, err := ts.client.DescribeTopic(t.Context(), &Ydb_Topic.DescribeTopicRequest{Path: "t"})
	wantStatus(t, Ydb.StatusIds_UNAVAILABLE)(res, err)
}

// A client that reads and gives credit in one thread does not lock itself up
// on a channel without buffers: its credit is taken while the server sends.
func TestInProcessOneThread(t *testing.T) {
	virtual(t, Options{}, func(t *testing.T, ts *testServer) {
		ts.createTopic(t, "t", 1)
		w := ts.mustWriter(t, "t", "p", 0)
		const n = 500
		for i := range n {
			w.write(int64(i+1), string(benchBody()))
		}
		r := ts.mustReader(t, "t", "", 0)
		r.accept(0)
		for range 64 {
			r.credit(16 << 10)
		}
		r.take(n)
	})
}
