package topictest

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// patience is how long a test waits for something that has to come, seconds
// on a cluster.
const patience = 30 * time.Second

// Target is the server under test.
type Target struct {
	Conn     grpc.ClientConnInterface // with whatever headers the server asks for
	Database string                   // absolute path; topics are made directly below it
}

// Run runs the whole suite.
func Run(t *testing.T, target Target) {
	t.Helper()
	for _, group := range []struct {
		name  string
		tests []behaviour
	}{
		{"scheme", schemeTests()}, {"write", writeTests()}, {"read", readTests()}, {"commit", commitTests()}, {"split", splitTests()},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, b := range group.tests {
				t.Run(b.name, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					b.run(newSubject(ctx, t, target))
				})
			}
		})
	}
}

// behaviour is one test.
type behaviour struct {
	name string
	run  func(s *subject)
}

// subject is the server as one test sees it, with a topic of its own.
type subject struct {
	*testing.T
	ctx    context.Context //nolint:containedctx // lives as long as the test
	topics Ydb_Topic_V1.TopicServiceClient
	path   string
}

func newSubject(ctx context.Context, t *testing.T, target Target) *subject {
	t.Helper()
	return &subject{
		T: t, ctx: ctx, topics: Ydb_Topic_V1.NewTopicServiceClient(target.Conn),
		path: strings.TrimRight(target.Database, "/") + "/topictest-" + rand.Text(),
	}
}

type answer interface {
	GetOperation() *Ydb_Operations.Operation
}

// must fails the test unless the call has the status, and unpacks its result.
func (s *subject) must(res answer, err error, want Ydb.StatusIds_StatusCode, into proto.Message) {
	s.Helper()
	if err != nil {
		s.Fatalf("the call failed: %v", err)
	}
	if op := res.GetOperation(); op.GetStatus() != want {
		s.Fatalf("status %v, want %v; issues %v", op.GetStatus(), want, op.GetIssues())
	} else if into != nil {
		if err := op.GetResult().UnmarshalTo(into); err != nil {
			s.Fatal(err)
		}
	}
}

// create makes the topic with one consumer "c", and drops it in the end.
func (s *subject) create(change func(*Ydb_Topic.CreateTopicRequest)) {
	s.Helper()
	req := &Ydb_Topic.CreateTopicRequest{
		Path: s.path, PartitioningSettings: &Ydb_Topic.PartitioningSettings{MinActivePartitions: 1},
		Consumers: []*Ydb_Topic.Consumer{{Name: "c"}},
	}
	if change != nil {
		change(req)
	}
	res, err := s.topics.CreateTopic(s.ctx, req)
	s.must(res, err, Ydb.StatusIds_SUCCESS, nil)
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), patience)
		defer cancel()
		// Some tests drop it themselves.
		_, _ = s.topics.DropTopic(ctx, &Ydb_Topic.DropTopicRequest{Path: s.path})
	})
}

func (s *subject) describe() *Ydb_Topic.DescribeTopicResult {
	s.Helper()
	out := new(Ydb_Topic.DescribeTopicResult)
	res, err := s.topics.DescribeTopic(s.ctx, &Ydb_Topic.DescribeTopicRequest{Path: s.path, IncludeStats: true, IncludeLocation: true})
	s.must(res, err, Ydb.StatusIds_SUCCESS, out)
	return out
}

func (s *subject) committed(partition int) int64 {
	s.Helper()
	out := new(Ydb_Topic.DescribeConsumerResult)
	res, err := s.topics.DescribeConsumer(s.ctx, &Ydb_Topic.DescribeConsumerRequest{Path: s.path, Consumer: "c", IncludeStats: true})
	s.must(res, err, Ydb.StatusIds_SUCCESS, out)
	return out.GetPartitions()[partition].GetPartitionConsumerStats().GetCommittedOffset()
}

// writer is a write session.
type writer struct {
	s      *subject
	stream Ydb_Topic_V1.TopicService_StreamWriteClient
	init   *Ydb_Topic.StreamWriteMessage_InitResponse
	status Ydb.StatusIds_StatusCode // of the first answer
}

func (s *subject) open(change func(*Ydb_Topic.StreamWriteMessage_InitRequest)) *writer {
	s.Helper()
	stream, err := s.topics.StreamWrite(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	init := &Ydb_Topic.StreamWriteMessage_InitRequest{Path: s.path}
	if change != nil {
		change(init)
	}
	w := &writer{s: s, stream: stream}
	w.send(&Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_InitRequest{InitRequest: init},
	})
	m := w.recv()
	w.init, w.status = m.GetInitResponse(), m.GetStatus()
	return w
}

// producer opens a session to partition 0.
func (s *subject) producer(id string) *writer {
	s.Helper()
	w := s.open(func(i *Ydb_Topic.StreamWriteMessage_InitRequest) {
		i.ProducerId = id
		i.Partitioning = &Ydb_Topic.StreamWriteMessage_InitRequest_PartitionId{}
	})
	if w.init == nil {
		s.Fatalf("a write session is refused with %v", w.status)
	}
	return w
}

func (w *writer) send(m *Ydb_Topic.StreamWriteMessage_FromClient) {
	w.s.Helper()
	if err := w.stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
		w.s.Fatal(err)
	}
}

func (w *writer) recv() *Ydb_Topic.StreamWriteMessage_FromServer {
	w.s.Helper()
	m, err := w.stream.Recv()
	if err != nil {
		w.s.Fatal(err)
	}
	return m
}

type outgoing = Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData

func msg(seqNo int64, data string) *outgoing { return &outgoing{SeqNo: seqNo, Data: []byte(data)} }

func (w *writer) request(codec int32, msgs ...*outgoing) {
	w.s.Helper()
	w.send(&Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{
			WriteRequest: &Ydb_Topic.StreamWriteMessage_WriteRequest{Codec: codec, Messages: msgs},
		},
	})
}

type ack = Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck

func (w *writer) write(msgs ...*outgoing) []*ack {
	w.s.Helper()
	w.request(int32(Ydb_Topic.Codec_CODEC_RAW), msgs...)
	m := w.recv()
	if m.GetWriteResponse() == nil {
		w.s.Fatalf("a write answered %v", m)
	}
	return m.GetWriteResponse().GetAcks()
}

func (w *writer) ends(want Ydb.StatusIds_StatusCode) {
	w.s.Helper()
	if m := w.recv(); m.GetStatus() != want {
		w.s.Fatalf("got %v, want the end with %v", m, want)
	}
	if _, err := w.stream.Recv(); !errors.Is(err, io.EOF) {
		w.s.Errorf("the stream goes on after its end: %v", err)
	}
}

// fill writes messages 1..n to partition 0 by a producer of its own.
func (s *subject) fill(n int) {
	s.Helper()
	w := s.producer(rand.Text())
	msgs := make([]*outgoing, n)
	for i := range msgs {
		msgs[i] = msg(int64(i+1), "data")
	}
	w.write(msgs...)
}
