package topictest

import (
	"context"
	"errors"
	"io"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

type (
	fromServer = Ydb_Topic.StreamReadMessage_FromServer
	fromClient = Ydb_Topic.StreamReadMessage_FromClient
	incoming   = Ydb_Topic.StreamReadMessage_ReadResponse_MessageData
)

// reader is a read session that knows of splits.
type reader struct {
	s       *subject
	stream  Ydb_Topic_V1.TopicService_StreamReadClient
	close   context.CancelFunc
	session string
}

// read opens a session; with an empty consumer the partitions must be named.
func (s *subject) read(consumer string, partitions ...int64) *reader {
	s.Helper()
	r, m := s.tryRead(&Ydb_Topic.StreamReadMessage_InitRequest{
		Consumer: consumer, ReaderName: "topictest", AutoPartitioningSupport: true,
		TopicsReadSettings: []*Ydb_Topic.StreamReadMessage_InitRequest_TopicReadSettings{{Path: s.path, PartitionIds: partitions}},
	})
	if m.GetInitResponse() == nil {
		s.Fatalf("a read session is refused: %v", m)
	}
	return r
}

func (s *subject) tryRead(init *Ydb_Topic.StreamReadMessage_InitRequest) (*reader, *fromServer) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	s.Cleanup(cancel)
	stream, err := s.topics.StreamRead(ctx)
	if err != nil {
		s.Fatal(err)
	}
	r := &reader{s: s, stream: stream, close: cancel}
	r.send(&fromClient{ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_InitRequest{InitRequest: init}})
	m := r.recv()
	r.session = m.GetInitResponse().GetSessionId()
	return r, m
}

func (r *reader) send(m *fromClient) {
	r.s.Helper()
	if err := r.stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
		r.s.Fatal(err)
	}
}

func (r *reader) recv() *fromServer {
	r.s.Helper()
	m, err := r.stream.Recv()
	if err != nil {
		r.s.Fatal(err)
	}
	return m
}

// refused waits for the end of the session with BAD_REQUEST.
func (r *reader) refused() {
	r.s.Helper()
	if m := r.recv(); m.GetStatus() != Ydb.StatusIds_BAD_REQUEST {
		r.s.Fatalf("got %v, want the end with BAD_REQUEST", m)
	}
}

func (r *reader) start() *Ydb_Topic.StreamReadMessage_StartPartitionSessionRequest {
	r.s.Helper()
	m := r.recv()
	if m.GetStartPartitionSessionRequest() == nil {
		r.s.Fatalf("got %v, want a partition", m)
	}
	return m.GetStartPartitionSessionRequest()
}

// accept takes the next partition and returns its session and number.
func (r *reader) accept() (session, partition int64) {
	r.s.Helper()
	st := r.start().GetPartitionSession()
	r.confirm(st.GetPartitionSessionId(), nil, nil)
	return st.GetPartitionSessionId(), st.GetPartitionId()
}

func (r *reader) confirm(session int64, read, commit *int64) {
	r.s.Helper()
	r.send(&fromClient{ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_StartPartitionSessionResponse{
		StartPartitionSessionResponse: &Ydb_Topic.StreamReadMessage_StartPartitionSessionResponse{
			PartitionSessionId: session, ReadOffset: read, CommitOffset: commit,
		},
	}})
}

func (r *reader) release(session int64) {
	r.s.Helper()
	r.send(&fromClient{ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_StopPartitionSessionResponse{
		StopPartitionSessionResponse: &Ydb_Topic.StreamReadMessage_StopPartitionSessionResponse{PartitionSessionId: session},
	}})
}

func (r *reader) credit(bytes int64) {
	r.s.Helper()
	r.send(&fromClient{ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_ReadRequest{
		ReadRequest: &Ydb_Topic.StreamReadMessage_ReadRequest{BytesSize: bytes},
	}})
}

func (r *reader) commit(session, from, to int64) {
	r.s.Helper()
	r.send(&fromClient{ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_CommitOffsetRequest{
		CommitOffsetRequest: &Ydb_Topic.StreamReadMessage_CommitOffsetRequest{
			CommitOffsets: []*Ydb_Topic.StreamReadMessage_CommitOffsetRequest_PartitionCommitOffset{{
				PartitionSessionId: session, Offsets: []*Ydb_Topic.OffsetsRange{{Start: from, End: to}},
			}},
		},
	}})
}

// committedTo waits until the server has answered commits up to an offset.
func (r *reader) committedTo(session, offset int64) {
	r.s.Helper()
	for {
		m := r.recv()
		if m.GetStatus() != Ydb.StatusIds_SUCCESS {
			r.s.Fatalf("got %v, want a commit up to %d", m, offset)
		}
		for _, c := range m.GetCommitOffsetResponse().GetPartitionsCommittedOffsets() {
			if c.GetPartitionSessionId() == session && c.GetCommittedOffset() >= offset {
				return
			}
		}
	}
}

// take reads n messages.
func (r *reader) take(n int) []*incoming {
	r.s.Helper()
	var out []*incoming
	for len(out) < n {
		m := r.recv()
		res := m.GetReadResponse()
		if res == nil {
			r.s.Fatalf("got %v, want data", m)
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

// quiet fails when the server has sent something; what it sends because of
// earlier requests comes ahead of the answer to this one.
func (r *reader) quiet(session int64) {
	r.s.Helper()
	r.send(&fromClient{ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_PartitionSessionStatusRequest{
		PartitionSessionStatusRequest: &Ydb_Topic.StreamReadMessage_PartitionSessionStatusRequest{PartitionSessionId: session},
	}})
	if m := r.recv(); m.GetPartitionSessionStatusResponse() == nil {
		r.s.Fatalf("got %v, want nothing", m)
	}
}
