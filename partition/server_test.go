package partition

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sqsgate/internal/ydbtopic"
)

// scripted is the server side of the topic service with the rules that matter
// to a writer, and with faults that a test calls for. It keeps one topic.
type scripted struct {
	Ydb_Topic_V1.UnimplementedTopicServiceServer

	mu        sync.Mutex
	missing   bool
	parts     map[int64]*scriptedPart
	describes int
	amnesia   bool // counts messages but keeps none, for benchmarks
	count     int64
	opened    []string // producer ids, as sessions began

	// onWrite decides the fate of a request; nil writes and acknowledges.
	onWrite func(producer string, r *Ydb_Topic.StreamWriteMessage_WriteRequest) fate
	// onOpen refuses a session when it returns an error.
	onOpen func(partition int64) error
	// onRead runs before a read session answers.
	onRead func()
}

// fate is what happens to one write request.
type fate struct {
	before error         // the stream ends with it, nothing is written
	after  error         // written, then the stream ends without an answer
	hold   chan struct{} // written, answered when closed
}

type scriptedPart struct {
	info     Info
	log      []scriptedMessage
	seqs     map[string]int64
	sessions map[string]context.CancelCauseFunc
}

type scriptedMessage struct {
	producer string
	data     *messageData
	codec    int32
	at       time.Time
}

// ydbError is an error that the stream reports with a YDB status.
type ydbError struct {
	code Ydb.StatusIds_StatusCode
	text string
}

func (e ydbError) Error() string { return e.text }

func (e ydbError) issues() []*Ydb_Issue.IssueMessage {
	return []*Ydb_Issue.IssueMessage{{Message: e.text}}
}

var (
	errInactive    = ydbError{Ydb.StatusIds_OVERLOADED, "Partition is inactive"}
	errBusy        = ydbError{Ydb.StatusIds_OVERLOADED, "try later"}
	errNoTopic     = ydbError{Ydb.StatusIds_SCHEME_ERROR, "no such topic"}
	errKilled      = ydbError{Ydb.StatusIds_BAD_REQUEST, "ownership session is killed by another session"}
	errRefused     = ydbError{Ydb.StatusIds_BAD_REQUEST, "metadata size is limited"}
	errRestart     = ydbError{Ydb.StatusIds_UNAVAILABLE, "partition restarts"}
	errDenied      = ydbError{Ydb.StatusIds_UNAUTHORIZED, "access denied"}
	errNetworkLoss = status.Error(codes.Unavailable, "connection lost")
)

func newScripted(infos ...Info) *scripted {
	s := &scripted{parts: make(map[int64]*scriptedPart)}
	for _, i := range infos {
		s.addPart(i)
	}
	return s
}

func (s *scripted) addPart(i Info) *scriptedPart {
	p := &scriptedPart{info: i, seqs: make(map[string]int64), sessions: make(map[string]context.CancelCauseFunc)}
	s.parts[i.ID] = p
	return p
}

func (s *scripted) client() Ydb_Topic_V1.TopicServiceClient {
	return ydbtopic.InProcess("/local", func(r grpc.ServiceRegistrar) {
		Ydb_Topic_V1.RegisterTopicServiceServer(r, s)
	}).Topics()
}

// split makes a partition inactive and adds two children; mid is their border.
func (s *scripted) split(id int64, mid []byte, left, right int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.parts[id]
	p.info.Active = false
	p.info.Children = []int64{left, right}
	s.addPart(Info{ID: left, Active: true, From: p.info.From, To: mid, Parents: []int64{id}})
	s.addPart(Info{ID: right, Active: true, From: mid, To: p.info.To, Parents: []int64{id}})
}

func (s *scripted) DescribeTopic(context.Context, *Ydb_Topic.DescribeTopicRequest) (*Ydb_Topic.DescribeTopicResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.describes++
	op := &Ydb_Operations.Operation{Ready: true, Status: Ydb.StatusIds_SUCCESS}
	if s.missing {
		op.Status, op.Issues = errNoTopic.code, errNoTopic.issues()
		return &Ydb_Topic.DescribeTopicResponse{Operation: op}, nil
	}
	result := &Ydb_Topic.DescribeTopicResult{}
	for _, p := range s.parts {
		result.Partitions = append(result.Partitions, &Ydb_Topic.DescribeTopicResult_PartitionInfo{
			PartitionId: p.info.ID, Active: p.info.Active,
			ParentPartitionIds: p.info.Parents, ChildPartitionIds: p.info.Children,
			PartitionStats: &Ydb_Topic.PartitionStats{PartitionOffsets: &Ydb_Topic.OffsetsRange{End: int64(len(p.log))}},
			KeyRange:       &Ydb_Topic.PartitionKeyRange{FromBound: p.info.From, ToBound: p.info.To},
		})
	}
	op.Result, _ = anypb.New(result)
	return &Ydb_Topic.DescribeTopicResponse{Operation: op}, nil
}

func (s *scripted) StreamWrite(stream Ydb_Topic_V1.TopicService_StreamWriteServer) error {
	err := s.serveWrite(stream)
	var known ydbError
	if errors.As(err, &known) {
		return stream.Send(&Ydb_Topic.StreamWriteMessage_FromServer{Status: known.code, Issues: known.issues()})
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (s *scripted) serveWrite(stream Ydb_Topic_V1.TopicService_StreamWriteServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	init := first.GetInitRequest()
	part, killed, err := s.openSession(stream.Context(), init)
	if err != nil {
		return err
	}
	s.mu.Lock()
	last := part.seqs[init.GetProducerId()]
	s.mu.Unlock()
	if err := stream.Send(&Ydb_Topic.StreamWriteMessage_FromServer{
		Status: Ydb.StatusIds_SUCCESS,
		ServerMessage: &Ydb_Topic.StreamWriteMessage_FromServer_InitResponse{InitResponse: &Ydb_Topic.StreamWriteMessage_InitResponse{
			LastSeqNo: last, PartitionId: part.info.ID, SessionId: "s",
		}},
	}); err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		select {
		case <-killed:
			return errKilled
		default:
		}
		request := m.GetWriteRequest()
		f := fate{}
		s.mu.Lock()
		hook := s.onWrite
		s.mu.Unlock()
		if hook != nil {
			f = hook(init.GetProducerId(), request)
		}
		if f.before != nil {
			return f.before
		}
		response, err := s.append(part, init.GetProducerId(), request)
		if err != nil {
			return err
		}
		if f.after != nil {
			return f.after
		}
		if f.hold != nil {
			select {
			case <-f.hold:
			case <-stream.Context().Done():
				return stream.Context().Err()
			}
		}
		if err := stream.Send(&Ydb_Topic.StreamWriteMessage_FromServer{
			Status:        Ydb.StatusIds_SUCCESS,
			ServerMessage: &Ydb_Topic.StreamWriteMessage_FromServer_WriteResponse{WriteResponse: response},
		}); err != nil {
			return err
		}
	}
}

func (s *scripted) openSession(ctx context.Context, init *Ydb_Topic.StreamWriteMessage_InitRequest) (*scriptedPart, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	producer := init.GetProducerId()
	if s.missing {
		return nil, nil, errNoTopic
	}
	part := s.parts[init.GetPartitionId()]
	switch {
	case part == nil:
		return nil, nil, errNoTopic
	case !part.info.Active:
		return nil, nil, errInactive
	case s.onOpen != nil:
		if err := s.onOpen(part.info.ID); err != nil {
			return nil, nil, err
		}
	}
	s.opened = append(s.opened, producer)
	if kill := part.sessions[producer]; kill != nil {
		kill(errKilled)
	}
	session, kill := context.WithCancelCause(ctx)
	part.sessions[producer] = kill
	return part, session.Done(), nil
}

func (s *scripted) append(part *scriptedPart, producer string, r *Ydb_Topic.StreamWriteMessage_WriteRequest) (*Ydb_Topic.StreamWriteMessage_WriteResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !part.info.Active {
		return nil, errInactive
	}
	response := &Ydb_Topic.StreamWriteMessage_WriteResponse{PartitionId: part.info.ID}
	for _, m := range r.GetMessages() {
		ack := &Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck{SeqNo: m.GetSeqNo()}
		response.Acks = append(response.Acks, ack)
		if m.GetSeqNo() <= part.seqs[producer] || part.repeats(m) {
			ack.MessageWriteStatus = &Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck_Skipped_{
				Skipped: &Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck_Skipped{
					Reason: Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck_Skipped_REASON_ALREADY_WRITTEN,
				},
			}
			part.seqs[producer] = max(part.seqs[producer], m.GetSeqNo())
			continue
		}
		part.seqs[producer] = m.GetSeqNo()
		ack.MessageWriteStatus = &Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck_Written_{
			Written: &Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck_Written{Offset: int64(len(part.log))},
		}
		if s.amnesia {
			ack.GetWritten().Offset = s.count
			s.count++
			continue
		}
		part.log = append(part.log, scriptedMessage{producer, m, r.GetCodec(), time.Now()})
	}
	return response, nil
}

func (p *scriptedPart) repeats(m *messageData) bool {
	id, ok := content(m.GetMetadataItems())
	return ok && slices.ContainsFunc(p.log, func(old scriptedMessage) bool {
		other, ok := content(old.data.GetMetadataItems())
		return ok && other == id
	})
}

func (s *scripted) StreamRead(stream Ydb_Topic_V1.TopicService_StreamReadServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	settings := first.GetInitRequest().GetTopicsReadSettings()[0]
	s.mu.Lock()
	log := slices.Clone(s.parts[settings.GetPartitionIds()[0]].log)
	hook := s.onRead
	s.mu.Unlock()
	if hook != nil {
		hook()
	}
	if err := stream.Send(&Ydb_Topic.StreamReadMessage_FromServer{
		Status:        Ydb.StatusIds_SUCCESS,
		ServerMessage: &Ydb_Topic.StreamReadMessage_FromServer_InitResponse{InitResponse: &Ydb_Topic.StreamReadMessage_InitResponse{SessionId: "r"}},
	}); err != nil {
		return err
	}
	if err := stream.Send(&Ydb_Topic.StreamReadMessage_FromServer{
		Status: Ydb.StatusIds_SUCCESS,
		ServerMessage: &Ydb_Topic.StreamReadMessage_FromServer_StartPartitionSessionRequest{
			StartPartitionSessionRequest: &Ydb_Topic.StreamReadMessage_StartPartitionSessionRequest{
				PartitionSession: &Ydb_Topic.StreamReadMessage_PartitionSession{PartitionSessionId: 1},
				PartitionOffsets: &Ydb_Topic.OffsetsRange{End: int64(len(log))},
			},
		},
	}); err != nil {
		return err
	}
	from := int64(-1)
	for from < 0 {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		if start := m.GetStartPartitionSessionResponse(); start != nil {
			from = start.GetReadOffset()
		}
	}
	go func() {
		for { // grants are taken and not counted
			if _, err := stream.Recv(); err != nil {
				return
			}
		}
	}()
	// One message an answer makes a reader go the whole way.
	for i := from; i < int64(len(log)); i++ {
		if log[i].at.Before(settings.GetReadFrom().AsTime()) {
			continue
		}
		if err := stream.Send(&Ydb_Topic.StreamReadMessage_FromServer{
			Status: Ydb.StatusIds_SUCCESS,
			ServerMessage: &Ydb_Topic.StreamReadMessage_FromServer_ReadResponse{ReadResponse: &Ydb_Topic.StreamReadMessage_ReadResponse{
				BytesSize: 1,
				PartitionData: []*Ydb_Topic.StreamReadMessage_ReadResponse_PartitionData{{
					PartitionSessionId: 1,
					Batches: []*readBatch{{
						ProducerId: log[i].producer, Codec: log[i].codec, WrittenAt: timestamppb.New(log[i].at),
						MessageData: []*Ydb_Topic.StreamReadMessage_ReadResponse_MessageData{{
							Offset: i, SeqNo: log[i].data.GetSeqNo(), Data: log[i].data.GetData(), MetadataItems: log[i].data.GetMetadataItems(),
						}},
					}},
				}},
			}},
		}); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

type readBatch = Ydb_Topic.StreamReadMessage_ReadResponse_Batch

// bodies returns what a partition holds, as text.
func (s *scripted) bodies(id int64) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, m := range s.parts[id].log {
		all = append(all, string(m.data.GetData()))
	}
	return all
}

// check asserts that a result names the place where the body lies.
func (s *scripted) check(t *testing.T, r Result, body string) {
	t.Helper()
	if r.Err != nil {
		t.Errorf("%s: %v", body, r.Err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.parts[r.Partition].log
	if r.Offset < 0 || r.Offset >= int64(len(log)) || !bytes.Equal(log[r.Offset].data.GetData(), []byte(body)) {
		t.Errorf("%s is not at partition %d offset %d", body, r.Partition, r.Offset)
	}
}
