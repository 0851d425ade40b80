package topicd

import (
	"context"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
)

// fuzzServer has a topic that may split, with messages, and a consumer.
func fuzzServer(f *testing.F) *Server {
	f.Helper()
	s, err := New(Options{FS: vfs.NewMem()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.Error(err)
		}
	})
	res, err := s.CreateTopic(context.Background(), &Ydb_Topic.CreateTopicRequest{
		Path: "t", Consumers: []*Ydb_Topic.Consumer{{Name: "c"}},
		PartitioningSettings: &Ydb_Topic.PartitioningSettings{
			MinActivePartitions: 2, AutoPartitioningSettings: &Ydb_Topic.AutoPartitioningSettings{Strategy: scaleUp},
		},
	})
	wantStatus(f, Ydb.StatusIds_SUCCESS)(res, err)
	return s
}

// script is a stream whose client sends the messages that the input decodes
// to, one after the other, and then closes its half.
type script[In, Out any] struct {
	grpc.ServerStream
	ctx  context.Context //nolint:containedctx // of the call
	in   []*In
	mu   sync.Mutex
	sent []*Out
}

func (s *script[In, Out]) Context() context.Context { return s.ctx }

func (s *script[In, Out]) Recv() (*In, error) {
	if len(s.in) == 0 {
		return nil, io.EOF
	}
	m := s.in[0]
	s.in = s.in[1:]
	return m, nil
}

func (s *script[In, Out]) Send(m *Out) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, m)
	return nil
}

// cut takes length-prefixed pieces off the input.
func cut(data []byte) [][]byte {
	var out [][]byte
	for len(data) > 1 && len(out) < 32 {
		n := min(int(data[0]), len(data)-1)
		out = append(out, data[1:1+n])
		data = data[1+n:]
	}
	return out
}

func seeds(f *testing.F, msgs ...proto.Message) []byte {
	f.Helper()
	var out []byte
	for _, m := range msgs {
		b, err := proto.Marshal(m)
		if err != nil || len(b) > 255 {
			f.Fatalf("seed of %d bytes: %v", len(b), err)
		}
		out = append(append(out, byte(len(b))), b...)
	}
	return out
}

// FuzzStreamWrite plays any sequence of client messages: the stream ends with
// a status and nothing panics.
func FuzzStreamWrite(f *testing.F) {
	s := fuzzServer(f)
	init := &writeFromClient{ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_InitRequest{
		InitRequest: &Ydb_Topic.StreamWriteMessage_InitRequest{Path: "t", ProducerId: "p"},
	}}
	write := &writeFromClient{ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{
		WriteRequest: &Ydb_Topic.StreamWriteMessage_WriteRequest{Codec: 1, Messages: []*Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData{{
			SeqNo: 1, Data: []byte("x"), MetadataItems: []*Ydb_Topic.MetadataItem{{Key: dedupKey, Value: []byte("id")}},
		}}},
	}}
	token := &writeFromClient{ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_UpdateTokenRequest{}}
	f.Add(seeds(f, init, write, token))
	f.Add(seeds(f, write, init))
	f.Add(seeds(f, init, init))
	f.Add(seeds(f, &writeFromClient{}))
	f.Fuzz(func(t *testing.T, data []byte) {
		stream := &script[writeFromClient, writeFromServer]{ctx: t.Context()}
		for _, b := range cut(data) {
			m := new(writeFromClient)
			if proto.Unmarshal(b, m) == nil {
				stream.in = append(stream.in, m)
			}
		}
		if err := s.StreamWrite(stream); err != nil {
			t.Errorf("the call failed: %v", err)
		}
		for i, m := range stream.sent {
			if m.GetStatus() == Ydb.StatusIds_STATUS_CODE_UNSPECIFIED || m.GetStatus() == Ydb.StatusIds_INTERNAL_ERROR ||
				(m.GetStatus() != Ydb.StatusIds_SUCCESS && i != len(stream.sent)-1) {
				t.Errorf("answer %d of %d is %v", i, len(stream.sent), m)
			}
		}
	})
}

// FuzzStreamRead is the same for read sessions.
func FuzzStreamRead(f *testing.F) {
	s := fuzzServer(f)
	settings := []*topicToRead{{Path: "t", PartitionIds: []int64{0}}}
	init := &readFromClient{ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_InitRequest{
		InitRequest: &readInit{Consumer: "c", AutoPartitioningSupport: true, TopicsReadSettings: settings},
	}}
	direct := &readFromClient{ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_InitRequest{
		InitRequest: &readInit{TopicsReadSettings: settings},
	}}
	started := &readFromClient{ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_StartPartitionSessionResponse{
		StartPartitionSessionResponse: &Ydb_Topic.StreamReadMessage_StartPartitionSessionResponse{PartitionSessionId: 1, ReadOffset: ptr(int64(-1))},
	}}
	credit := &readFromClient{ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_ReadRequest{
		ReadRequest: &Ydb_Topic.StreamReadMessage_ReadRequest{BytesSize: 1 << 40},
	}}
	commit := &readFromClient{ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_CommitOffsetRequest{
		CommitOffsetRequest: &Ydb_Topic.StreamReadMessage_CommitOffsetRequest{
			CommitOffsets: []*Ydb_Topic.StreamReadMessage_CommitOffsetRequest_PartitionCommitOffset{{
				PartitionSessionId: 1, Offsets: []*Ydb_Topic.OffsetsRange{{Start: 0, End: 1 << 62}},
			}},
		},
	}}
	stopped := &readFromClient{ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_StopPartitionSessionResponse{
		StopPartitionSessionResponse: &Ydb_Topic.StreamReadMessage_StopPartitionSessionResponse{PartitionSessionId: 1},
	}}
	f.Add(seeds(f, init, credit, started, commit, stopped))
	f.Add(seeds(f, direct, started, credit, commit))
	f.Add(seeds(f, credit))
	f.Add(seeds(f, init, credit, credit, init))
	f.Fuzz(func(t *testing.T, data []byte) {
		stream := &script[readFromClient, readFromServer]{ctx: t.Context()}
		for _, b := range cut(data) {
			m := new(readFromClient)
			if proto.Unmarshal(b, m) == nil {
				stream.in = append(stream.in, m)
			}
		}
		if err := s.StreamRead(stream); err != nil {
			t.Errorf("the call failed: %v", err)
		}
		for i, m := range stream.sent {
			if m.GetStatus() == Ydb.StatusIds_STATUS_CODE_UNSPECIFIED || m.GetStatus() == Ydb.StatusIds_INTERNAL_ERROR ||
				(m.GetStatus() != Ydb.StatusIds_SUCCESS && i != len(stream.sent)-1) {
				t.Errorf("answer %d of %d is %v", i, len(stream.sent), m)
			}
		}
	})
}

// FuzzUnary sends any request to every unary call of topics.
func FuzzUnary(f *testing.F) {
	s := fuzzServer(f)
	add := func(kind byte, m proto.Message) {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(kind, b)
	}
	add(0, &Ydb_Topic.CreateTopicRequest{Path: "u/v", RetentionStorageMb: 1, Consumers: []*Ydb_Topic.Consumer{{Name: "c", Important: true}}})
	add(1, &Ydb_Topic.AlterTopicRequest{Path: "t", AddConsumers: []*Ydb_Topic.Consumer{{Name: "d"}}, DropConsumers: []string{"c"}})
	add(2, &Ydb_Topic.CommitOffsetRequest{Path: "t", Consumer: "c", PartitionId: 1, Offset: 1})
	add(3, &Ydb_Topic.DescribeTopicRequest{Path: "t", IncludeStats: true})
	add(4, &Ydb_Topic.DescribeConsumerRequest{Path: "t", Consumer: "c", IncludeStats: true})
	add(5, &Ydb_Topic.DescribePartitionRequest{Path: "t", PartitionId: 1})
	add(6, &Ydb_Topic.DropTopicRequest{Path: "u/v"})
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		var res call
		var err error
		switch kind % 7 {
		case 0:
			res, err = decoded(data, func(m *Ydb_Topic.CreateTopicRequest) (call, error) {
				// A thousand partitions more each time would only fill memory.
				if set := m.GetPartitioningSettings(); set.GetMinActivePartitions() > 10 && set.GetMinActivePartitions() <= maxPartitions {
					set.MinActivePartitions = 10
				}
				return s.CreateTopic(ctx, m)
			})
		case 1:
			res, err = decoded(data, func(m *Ydb_Topic.AlterTopicRequest) (call, error) {
				if set := m.GetAlterPartitioningSettings(); set.GetSetMinActivePartitions() > 10 && set.GetSetMinActivePartitions() <= maxPartitions {
					set.SetMinActivePartitions = nil
				}
				return s.AlterTopic(ctx, m)
			})
		case 2:
			res, err = decoded(data, func(m *Ydb_Topic.CommitOffsetRequest) (call, error) { return s.CommitOffset(ctx, m) })
		case 3:
			res, err = decoded(data, func(m *Ydb_Topic.DescribeTopicRequest) (call, error) { return s.DescribeTopic(ctx, m) })
		case 4:
			res, err = decoded(data, func(m *Ydb_Topic.DescribeConsumerRequest) (call, error) { return s.DescribeConsumer(ctx, m) })
		case 5:
			res, err = decoded(data, func(m *Ydb_Topic.DescribePartitionRequest) (call, error) { return s.DescribePartition(ctx, m) })
		default:
			res, err = decoded(data, func(m *Ydb_Topic.DropTopicRequest) (call, error) { return s.DropTopic(ctx, m) })
		}
		if err != nil {
			t.Errorf("the call failed: %v", err)
		}
		if res == nil {
			return
		}
		got := res.GetOperation().GetStatus()
		if got == Ydb.StatusIds_STATUS_CODE_UNSPECIFIED || got == Ydb.StatusIds_INTERNAL_ERROR {
			t.Errorf("answered %v", res)
		}
	})
}

func decoded[M any, P interface {
	*M
	proto.Message
}](data []byte, f func(P) (call, error)) (call, error) {
	m := P(new(M))
	if proto.Unmarshal(data, m) != nil {
		return nil, nil //nolint:nilnil // not a request
	}
	return f(m)
}

// A client that gives huge credit and never reads costs the server no more
// than what the transport holds.
func TestHostileReaderNeverReads(t *testing.T) {
	ts := start(t, Options{DataDir: t.TempDir(), TailBytes: 1 << 20, CacheBytes: 1 << 20, MemTableBytes: 1 << 20})
	ts.createTopic(t, "t", 1, "c")
	w := ts.mustWriter(t, "t", "p", 0)
	for i := range 160 {
		var msgs []*Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData
		for k := range 16 {
			msgs = append(msgs, message(int64(16*i+k+1), strings.Repeat("x", 8<<10)))
		}
		w.request(1, msgs...)
		w.acks()
	}
	// Fixed windows: what grows is the server, not this client.
	conn, err := grpc.NewClient(ts.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(1<<16), grpc.WithInitialConnWindowSize(1<<16))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	hostile := &testServer{Server: ts.Server, client: Ydb_Topic_V1.NewTopicServiceClient(conn)}
	before := heap()
	const readers = 100
	for range readers {
		r := hostile.mustReader(t, "t", "", 0)
		r.accept(0)
		r.credit(1 << 50)
	}
	// A writer that never reads its answers stops being read itself.
	mute := ts.mustWriter(t, "t", "mute", 0) // on a connection that is read
	sent := make(chan int, 1)
	go func() {
		n := 0
		for ; n < 4096; n++ {
			if mute.stream.Send(&writeFromClient{ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_UpdateTokenRequest{
				UpdateTokenRequest: &Ydb_Topic.UpdateTokenRequest{Token: strings.Repeat("t", 4096)},
			}}) != nil {
				break
			}
		}
		sent <- n
	}()
	// Others are served meanwhile.
	for i := range 8 {
		w.write(int64(100_000+i), strings.Repeat("x", 1<<20))
	}
	// What is on the way is in memory as messages and as bytes, and buffers are larger
	// than what is in them. The readers have asked for 100 PiB.
	if grown := heap() - before; grown > 6*sendBytes {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
	_ = mute.stream.CloseSend() // ends with the connection
	_ = conn.Close()            // a stop would wait for its readers
	ts.stop()
	<-sent
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Thousands of sessions come and go; nothing of them is left.
func TestHostileManySessions(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 4, "c")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for round := range 2 {
		streams, stop := context.WithCancel(ctx)
		for range 1000 {
			r, err := ts.client.StreamRead(streams)
			if err == nil {
				err = r.Send(&readFromClient{ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_InitRequest{
					InitRequest: &readInit{Consumer: "c", TopicsReadSettings: []*topicToRead{{Path: "t"}}},
				}})
			}
			if err == nil {
				_, err = r.Recv()
			}
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		stop()
	}
	// The partitions are free for a well-behaved one.
	r := ts.mustReader(t, "t", "c")
	for range 4 {
		r.recvStart()
	}
	tt, err := ts.tree.topic("/local/t")
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		tt.mu.Lock()
		n := len(tt.sessions)
		tt.mu.Unlock()
		if n == 1 {
			return
		}
		ts.describe(t, "t")
	}
	t.Error("sessions are left")
}
