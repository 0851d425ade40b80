package topicd

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testServer is a server on a free port of the loopback, with a raw client.
type testServer struct {
	*Server
	addr   string
	client Ydb_Topic_V1.TopicServiceClient
	conn   *grpc.ClientConn
	stop   func() // closes client and server; also done at the end of the test

	mu   sync.Mutex
	keep []any // streams: in a bubble the finalizer of one must not run
}

func (ts *testServer) hold(stream any) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.keep = append(ts.keep, stream)
}

func start(tb testing.TB, o Options) *testServer {
	tb.Helper()
	if o.FS == nil && o.DataDir == "" {
		o.FS = vfs.NewMem()
	}
	s, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	lis, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
	if err != nil {
		tb.Fatal(err)
	}
	stopped := false
	ts := &testServer{Server: s, addr: lis.Addr().String(), client: Ydb_Topic_V1.NewTopicServiceClient(conn), conn: conn}
	ts.stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := errors.Join(conn.Close(), s.Close(), <-served); err != nil {
			tb.Error(err)
		}
	}
	tb.Cleanup(ts.stop)
	return ts
}

// call is any unary answer.
type call interface {
	GetOperation() *Ydb_Operations.Operation
}

func wantStatus(tb testing.TB, want Ydb.StatusIds_StatusCode) func(call, error) *Ydb_Operations.Operation {
	return func(res call, err error) *Ydb_Operations.Operation {
		tb.Helper()
		if err != nil {
			tb.Fatalf("the call failed: %v", err)
		}
		op := res.GetOperation()
		if !op.GetReady() || op.GetStatus() != want {
			tb.Fatalf("status %v, want %v; issues %v", op.GetStatus(), want, op.GetIssues())
		}
		return op
	}
}

func (ts *testServer) createTopic(tb testing.TB, path string, partitions int64, consumers ...string) {
	tb.Helper()
	req := &Ydb_Topic.CreateTopicRequest{
		Path: path, PartitioningSettings: &Ydb_Topic.PartitioningSettings{MinActivePartitions: partitions},
	}
	for _, c := range consumers {
		req.Consumers = append(req.Consumers, &Ydb_Topic.Consumer{Name: c})
	}
	res, err := ts.client.CreateTopic(tb.Context(), req)
	wantStatus(tb, Ydb.StatusIds_SUCCESS)(res, err)
}

func (ts *testServer) describe(tb testing.TB, path string) *Ydb_Topic.DescribeTopicResult {
	tb.Helper()
	res, err := ts.client.DescribeTopic(tb.Context(), &Ydb_Topic.DescribeTopicRequest{Path: path, IncludeStats: true, IncludeLocation: true})
	op := wantStatus(tb, Ydb.StatusIds_SUCCESS)(res, err)
	out := new(Ydb_Topic.DescribeTopicResult)
	if err := op.GetResult().UnmarshalTo(out); err != nil {
		tb.Fatal(err)
	}
	return out
}

func (ts *testServer) describeConsumer(tb testing.TB, path, consumer string) *Ydb_Topic.DescribeConsumerResult {
	tb.Helper()
	res, err := ts.client.DescribeConsumer(tb.Context(), &Ydb_Topic.DescribeConsumerRequest{Path: path, Consumer: consumer, IncludeStats: true})
	op := wantStatus(tb, Ydb.StatusIds_SUCCESS)(res, err)
	out := new(Ydb_Topic.DescribeConsumerResult)
	if err := op.GetResult().UnmarshalTo(out); err != nil {
		tb.Fatal(err)
	}
	return out
}

// writer is a raw write session.
type writer struct {
	tb     testing.TB
	stream Ydb_Topic_V1.TopicService_StreamWriteClient
	init   *Ydb_Topic.StreamWriteMessage_InitResponse
}

func partitionID(id int64) *Ydb_Topic.StreamWriteMessage_InitRequest_PartitionId {
	return &Ydb_Topic.StreamWriteMessage_InitRequest_PartitionId{PartitionId: id}
}

// openWriter sends the init request and returns the first answer.
func (ts *testServer) openWriter(tb testing.TB, init *Ydb_Topic.StreamWriteMessage_InitRequest) (*writer, *Ydb_Topic.StreamWriteMessage_FromServer) {
	tb.Helper()
	stream, err := ts.client.StreamWrite(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	ts.hold(stream)
	w := &writer{tb: tb, stream: stream}
	w.send(&Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_InitRequest{InitRequest: init},
	})
	m := w.recv()
	w.init = m.GetInitResponse()
	return w, m
}

func (ts *testServer) mustWriter(tb testing.TB, path, producer string, partition int64) *writer {
	tb.Helper()
	w, m := ts.openWriter(tb, &Ydb_Topic.StreamWriteMessage_InitRequest{
		Path: path, ProducerId: producer, Partitioning: partitionID(partition),
	})
	if m.GetStatus() != Ydb.StatusIds_SUCCESS || w.init == nil {
		tb.Fatalf("init answered %v", m)
	}
	return w
}

func (w *writer) send(m *Ydb_Topic.StreamWriteMessage_FromClient) {
	w.tb.Helper()
	if err := w.stream.Send(m); err != nil {
		w.tb.Fatal(err)
	}
}

func (w *writer) recv() *Ydb_Topic.StreamWriteMessage_FromServer {
	w.tb.Helper()
	m, err := w.stream.Recv()
	if err != nil {
		w.tb.Fatal(err)
	}
	return m
}

func (w *writer) request(codec int32, msgs ...*Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData) {
	w.tb.Helper()
	w.send(&Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{
			WriteRequest: &Ydb_Topic.StreamWriteMessage_WriteRequest{Codec: codec, Messages: msgs},
		},
	})
}

func message(seqNo int64, data string) *Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData {
	return &Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData{SeqNo: seqNo, Data: []byte(data)}
}

// write writes one message and returns its ack.
func (w *writer) write(seqNo int64, data string) *Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck {
	w.tb.Helper()
	w.request(1, message(seqNo, data))
	return w.acks()[0]
}

func (w *writer) acks() []*Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck {
	w.tb.Helper()
	m := w.recv()
	res := m.GetWriteResponse()
	if m.GetStatus() != Ydb.StatusIds_SUCCESS || res == nil {
		w.tb.Fatalf("write answered %v", m)
	}
	if res.GetWriteStatistics().GetPersistingTime() == nil {
		w.tb.Fatal("write statistics are missing")
	}
	return res.GetAcks()
}

// reader is a raw read session.
type reader struct {
	tb     testing.TB
	stream Ydb_Topic_V1.TopicService_StreamReadClient
	id     string
}

func (ts *testServer) openReader(tb testing.TB, init *Ydb_Topic.StreamReadMessage_InitRequest) (*reader, *Ydb_Topic.StreamReadMessage_FromServer) {
	tb.Helper()
	return ts.openReaderContext(tb.Context(), tb, init)
}

func (ts *testServer) openReaderContext(ctx context.Context, tb testing.TB, init *Ydb_Topic.StreamReadMessage_InitRequest) (*reader, *Ydb_Topic.StreamReadMessage_FromServer) {
	tb.Helper()
	stream, err := ts.client.StreamRead(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	ts.hold(stream)
	r := &reader{tb: tb, stream: stream}
	r.send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_InitRequest{InitRequest: init},
	})
	m := r.recv()
	r.id = m.GetInitResponse().GetSessionId()
	return r, m
}

func (ts *testServer) mustReader(tb testing.TB, path, consumer string, partitions ...int64) *reader {
	tb.Helper()
	r, m := ts.openReader(tb, &Ydb_Topic.StreamReadMessage_InitRequest{
		Consumer: consumer, ReaderName: "reader of " + tb.Name(),
		TopicsReadSettings: []*Ydb_Topic.StreamReadMessage_InitRequest_TopicReadSettings{{Path: path, PartitionIds: partitions}},
	})
	if m.GetStatus() != Ydb.StatusIds_SUCCESS || r.id == "" {
		tb.Fatalf("init answered %v", m)
	}
	return r
}

func (r *reader) send(m *Ydb_Topic.StreamReadMessage_FromClient) {
	r.tb.Helper()
	if err := r.stream.Send(m); err != nil {
		r.tb.Fatal(err)
	}
}

func (r *reader) recv() *Ydb_Topic.StreamReadMessage_FromServer {
	r.tb.Helper()
	m, err := r.stream.Recv()
	if err != nil {
		r.tb.Fatal(err)
	}
	return m
}

func (r *reader) credit(n int64) {
	r.tb.Helper()
	r.send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_ReadRequest{
			ReadRequest: &Ydb_Topic.StreamReadMessage_ReadRequest{BytesSize: n},
		},
	})
}

func (r *reader) recvStart() *Ydb_Topic.StreamReadMessage_StartPartitionSessionRequest {
	r.tb.Helper()
	m := r.recv()
	if m.GetStartPartitionSessionRequest() == nil {
		r.tb.Fatalf("got %v, want a start request", m)
	}
	return m.GetStartPartitionSessionRequest()
}

func (r *reader) confirm(session int64, readOffset, commitOffset *int64) {
	r.tb.Helper()
	r.send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_StartPartitionSessionResponse{
			StartPartitionSessionResponse: &Ydb_Topic.StreamReadMessage_StartPartitionSessionResponse{
				PartitionSessionId: session, ReadOffset: readOffset, CommitOffset: commitOffset,
			},
		},
	})
}

func (r *reader) commit(session, from, to int64) {
	r.tb.Helper()
	r.send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_CommitOffsetRequest{
			CommitOffsetRequest: &Ydb_Topic.StreamReadMessage_CommitOffsetRequest{
				CommitOffsets: []*Ydb_Topic.StreamReadMessage_CommitOffsetRequest_PartitionCommitOffset{{
					PartitionSessionId: session, Offsets: []*Ydb_Topic.OffsetsRange{{Start: from, End: to}},
				}},
			},
		},
	})
}

// recvCommitted returns the offset of the next commit response.
func (r *reader) recvCommitted() int64 {
	r.tb.Helper()
	m := r.recv()
	if m.GetCommitOffsetResponse() == nil {
		r.tb.Fatalf("got %v, want a commit response", m)
	}
	return m.GetCommitOffsetResponse().GetPartitionsCommittedOffsets()[0].GetCommittedOffset()
}

// take reads n messages, giving credit back as it goes.
func (r *reader) take(n int) []*Ydb_Topic.StreamReadMessage_ReadResponse_MessageData {
	r.tb.Helper()
	var out []*Ydb_Topic.StreamReadMessage_ReadResponse_MessageData
	for len(out) < n {
		m := r.recv()
		res := m.GetReadResponse()
		if res == nil {
			r.tb.Fatalf("got %v, want data", m)
		}
		for _, p := range res.GetPartitionData() {
			for _, b := range p.GetBatches() {
				out = append(out, b.GetMessageData()...)
			}
		}
		r.credit(res.GetBytesSize())
	}
	return out
}
