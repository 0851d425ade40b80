package logread

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sqsgate/internal/ydbstatus"
)

// ErrStopped is returned by Read when the server took the partition back; a new
// Reader may go on.
var ErrStopped = errors.New("the server stopped the partition session")

// EndedError is returned by Read behind the last message of a partition that was
// split: it will get no more messages.
type EndedError struct {
	Children []int64
}

func (e *EndedError) Error() string { return fmt.Sprintf("the partition has ended in %v", e.Children) }

// Message is one message of the log.
type Message struct {
	Offset     int64
	SeqNo      int64
	WriteTime  int64 // when the log accepted it, ms since the epoch
	Codec      int32
	ProducerID string
	Data       []byte
	Metadata   []*Ydb_Topic.MetadataItem
}

// Request says what to read.
type Request struct {
	Path      string // absolute
	Partition int64
	// Offset of the first message wanted. Reading starts later when retention has
	// removed it.
	Offset int64
	// Since skips messages written before it; zero skips none.
	Since time.Time
	// Credit is how many bytes the server may send before the first Grant.
	Credit int64
}

// Reader is one read session.
type Reader struct {
	stream  Ydb_Topic_V1.TopicService_StreamReadClient
	cancel  context.CancelFunc
	session int64
	start   int64
	end     int64

	granted atomic.Int64 // bytes not told to the server yet
	wake    chan struct{}
	granter sync.WaitGroup
}

// Open starts a session and waits until the server has given it the partition.
// ctx bounds the life of the Reader, not only the opening. A topic or partition
// that does not exist is an *ydbstatus.Error with SCHEME_ERROR.
func Open(ctx context.Context, topics Ydb_Topic_V1.TopicServiceClient, req Request) (*Reader, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &Reader{cancel: cancel, wake: make(chan struct{}, 1)}
	if err := r.open(ctx, topics, req); err != nil {
		cancel()
		return nil, fmt.Errorf("reading %s partition %d from %d: %w", req.Path, req.Partition, req.Offset, err)
	}
	r.granter.Go(func() { r.sendGrants(ctx) })
	r.Grant(req.Credit)
	return r, nil
}

func (r *Reader) open(ctx context.Context, topics Ydb_Topic_V1.TopicServiceClient, req Request) error {
	stream, err := topics.StreamRead(ctx)
	if err != nil {
		return err
	}
	r.stream = stream
	settings := &Ydb_Topic.StreamReadMessage_InitRequest_TopicReadSettings{
		Path: req.Path, PartitionIds: []int64{req.Partition},
	}
	if !req.Since.IsZero() {
		settings.ReadFrom = timestamppb.New(req.Since)
	}
	err = stream.Send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_InitRequest{
			InitRequest: &Ydb_Topic.StreamReadMessage_InitRequest{
				TopicsReadSettings:      []*Ydb_Topic.StreamReadMessage_InitRequest_TopicReadSettings{settings},
				AutoPartitioningSupport: true,
			},
		},
	})
	if err != nil {
		return err
	}
	for {
		msg, err := r.receive()
		if err != nil {
			return err
		}
		start := msg.GetStartPartitionSessionRequest()
		if start == nil {
			continue // InitResponse
		}
		r.session = start.GetPartitionSession().GetPartitionSessionId()
		r.start = start.GetPartitionOffsets().GetStart()
		r.end = start.GetPartitionOffsets().GetEnd()
		offset := req.Offset
		return stream.Send(&Ydb_Topic.StreamReadMessage_FromClient{
			ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_StartPartitionSessionResponse{
				StartPartitionSessionResponse: &Ydb_Topic.StreamReadMessage_StartPartitionSessionResponse{
					PartitionSessionId: r.session,
					ReadOffset:         &offset,
				},
			},
		})
	}
}

// Bounds tells the offsets of the first retained message and behind the last
// one, as of Open.
func (r *Reader) Bounds() (start, end int64) { return r.start, r.end }

// Grant lets the server send this many bytes more. It does not block.
func (r *Reader) Grant(bytes int64) {
	r.granted.Add(bytes)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// sendGrants is the only sender once the session is open. It has a goroutine of
// its own because whoever reads must never wait in a send: the server may be in
// a send itself, of the reason why it ends the session.
func (r *Reader) sendGrants(ctx context.Context) {
	for {
		select {
		case <-r.wake:
		case <-ctx.Done():
			return
		}
		bytes := r.granted.Swap(0)
		if bytes == 0 {
			continue // told together with an earlier grant
		}
		err := r.stream.Send(&Ydb_Topic.StreamReadMessage_FromClient{
			ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_ReadRequest{
				ReadRequest: &Ydb_Topic.StreamReadMessage_ReadRequest{BytesSize: bytes},
			},
		})
		if err != nil {
			return // Read tells why
		}
	}
}

// Read waits for messages. It returns those of one answer of the server, in
// offset order, and the bytes they cost of what was granted.
func (r *Reader) Read() (messages []Message, cost int64, err error) {
	for {
		msg, err := r.receive()
		if err != nil {
			return nil, 0, err
		}
		switch {
		case msg.GetReadResponse() != nil:
			response := msg.GetReadResponse()
			return flatten(response), response.GetBytesSize(), nil
		case msg.GetEndPartitionSession() != nil:
			return nil, 0, &EndedError{Children: msg.GetEndPartitionSession().GetChildPartitionIds()}
		case msg.GetStopPartitionSessionRequest() != nil:
			return nil, 0, ErrStopped
		}
	}
}

// Close ends the session and waits for its goroutine. A Read under way fails.
func (r *Reader) Close() {
	r.cancel()
	r.granter.Wait()
}

func (r *Reader) receive() (*Ydb_Topic.StreamReadMessage_FromServer, error) {
	msg, err := r.stream.Recv()
	if err != nil {
		return nil, err
	}
	if err := ydbstatus.Check(msg.GetStatus(), msg.GetIssues()); err != nil {
		return nil, err
	}
	return msg, nil
}

func flatten(response *Ydb_Topic.StreamReadMessage_ReadResponse) []Message {
	n := 0
	for _, p := range response.GetPartitionData() {
		for _, b := range p.GetBatches() {
			n += len(b.GetMessageData())
		}
	}
	messages := make([]Message, 0, n)
	for _, p := range response.GetPartitionData() {
		for _, b := range p.GetBatches() {
			written := b.GetWrittenAt().AsTime().UnixMilli()
			for _, m := range b.GetMessageData() {
				messages = append(messages, Message{
					Offset: m.GetOffset(), SeqNo: m.GetSeqNo(), WriteTime: written,
					Codec: b.GetCodec(), ProducerID: b.GetProducerId(),
					Data: m.GetData(), Metadata: m.GetMetadataItems(),
				})
			}
		}
	}
	return messages
}
