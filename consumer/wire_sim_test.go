package consumer_test

import (
	"context"
	"sync"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sqsgate/internal/ydbtopic"
)

// wire is one gateway's connection to the topic server. It can be cut, which
// ends its streams, and it can stall, which holds whatever passes in either
// direction: to the server a stalled gateway is a process that stands still.
type wire struct {
	conn func() *ydbtopic.Conn // the server may be another one after a crash
	tap  tap

	mu      sync.Mutex
	down    bool
	life    context.Context // of what is open; ends with a cut
	kill    context.CancelFunc
	stalled chan struct{} // closed when the wire goes on; nil when it does
}

func newWire(conn func() *ydbtopic.Conn, tap tap) *wire {
	w := &wire{conn: conn, tap: tap}
	w.life, w.kill = context.WithCancel(context.Background())
	return w
}

// cut ends what is open. Nothing the server sends passes after it.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	w.kill()
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		w.down = false
		w.life, w.kill = context.WithCancel(context.Background())
	}
}

// stall holds the wire until the returned function is called.
func (w *wire) stall() (goOn func()) {
	gate := make(chan struct{})
	w.mu.Lock()
	w.stalled = gate
	w.mu.Unlock()
	return sync.OnceFunc(func() {
		w.mu.Lock()
		if w.stalled == gate {
			w.stalled = nil
		}
		w.mu.Unlock()
		close(gate)
	})
}

var errCut = status.Error(codes.Unavailable, "the wire is cut")

// pass waits until a message of the connection that life belongs to may pass.
func (w *wire) pass(ctx, life context.Context) error {
	for {
		w.mu.Lock()
		gate := w.stalled
		w.mu.Unlock()
		if life.Err() != nil {
			return errCut
		}
		if gate == nil {
			return ctx.Err()
		}
		select {
		case <-gate:
		case <-ctx.Done():
		case <-life.Done():
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// open begins a call. cancel must be called in the end.
func (w *wire) open(ctx context.Context) (callCtx, life context.Context, cancel func(), err error) {
	w.mu.Lock()
	life = w.life
	w.mu.Unlock()
	if err := w.pass(ctx, life); err != nil {
		return nil, nil, nil, err
	}
	callCtx, stop := context.WithCancel(ctx)
	detach := context.AfterFunc(life, stop)
	return callCtx, life, func() { detach(); stop() }, nil
}

func invoke[C, Q, R any](ctx context.Context, w *wire, client C, in *Q, method func(C, context.Context, *Q, ...grpc.CallOption) (*R, error)) (*R, error) {
	callCtx, life, cancel, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	out, err := method(client, callCtx, in)
	if err := w.pass(ctx, life); err != nil {
		return nil, err
	}
	return out, err
}

// topics is the topic service over the wire. What the gateway does not call is
// not there.
func (w *wire) topics() Ydb_Topic_V1.TopicServiceClient { return &wiredTopics{w: w} }

type wiredTopics struct {
	Ydb_Topic_V1.TopicServiceClient
	w *wire
}

type topicService = Ydb_Topic_V1.TopicServiceClient

func (t *wiredTopics) DescribeTopic(ctx context.Context, in *Ydb_Topic.DescribeTopicRequest, _ ...grpc.CallOption) (*Ydb_Topic.DescribeTopicResponse, error) {
	return invoke(ctx, t.w, t.w.conn().Topics(), in, topicService.DescribeTopic)
}

func (t *wiredTopics) DescribeConsumer(ctx context.Context, in *Ydb_Topic.DescribeConsumerRequest, _ ...grpc.CallOption) (*Ydb_Topic.DescribeConsumerResponse, error) {
	return invoke(ctx, t.w, t.w.conn().Topics(), in, topicService.DescribeConsumer)
}

func (t *wiredTopics) CreateTopic(ctx context.Context, in *Ydb_Topic.CreateTopicRequest, _ ...grpc.CallOption) (*Ydb_Topic.CreateTopicResponse, error) {
	return invoke(ctx, t.w, t.w.conn().Topics(), in, topicService.CreateTopic)
}

func (t *wiredTopics) DropTopic(ctx context.Context, in *Ydb_Topic.DropTopicRequest, _ ...grpc.CallOption) (*Ydb_Topic.DropTopicResponse, error) {
	return invoke(ctx, t.w, t.w.conn().Topics(), in, topicService.DropTopic)
}

func (t *wiredTopics) CommitOffset(ctx context.Context, in *Ydb_Topic.CommitOffsetRequest, _ ...grpc.CallOption) (*Ydb_Topic.CommitOffsetResponse, error) {
	return invoke(ctx, t.w, t.w.conn().Topics(), in, topicService.CommitOffset)
}

func (t *wiredTopics) StreamRead(ctx context.Context, _ ...grpc.CallOption) (Ydb_Topic_V1.TopicService_StreamReadClient, error) {
	return openWired[*Ydb_Topic.StreamReadMessage_FromClient, *Ydb_Topic.StreamReadMessage_FromServer](ctx, t.w,
		func(ctx context.Context) (Ydb_Topic_V1.TopicService_StreamReadClient, error) {
			return t.w.conn().Topics().StreamRead(ctx)
		})
}

func (t *wiredTopics) StreamWrite(ctx context.Context, _ ...grpc.CallOption) (Ydb_Topic_V1.TopicService_StreamWriteClient, error) {
	s, err := openWired[*Ydb_Topic.StreamWriteMessage_FromClient, *Ydb_Topic.StreamWriteMessage_FromServer](ctx, t.w,
		func(ctx context.Context) (Ydb_Topic_V1.TopicService_StreamWriteClient, error) {
			return t.w.conn().Topics().StreamWrite(ctx)
		})
	if err != nil {
		return nil, err
	}
	return &tappedWrite{TopicService_StreamWriteClient: s, tap: t.w.tap}, nil
}

type stream[Q, R any] interface {
	Send(Q) error
	Recv() (R, error)
	grpc.ClientStream
}

type wiredStream[Q, R any] struct {
	stream[Q, R]
	w         *wire
	ctx, life context.Context
	cancel    func()
}

// openWired opens a stream. Its context ends with the caller's, at the latest
// with the wire.
func openWired[Q, R any, S stream[Q, R]](ctx context.Context, w *wire, open func(context.Context) (S, error)) (*wiredStream[Q, R], error) {
	callCtx, life, cancel, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	s, err := open(callCtx)
	if err != nil {
		cancel()
		return nil, err
	}
	return &wiredStream[Q, R]{stream: s, w: w, ctx: ctx, life: life, cancel: cancel}, nil
}

func (s *wiredStream[Q, R]) Send(m Q) error {
	if err := s.w.pass(s.ctx, s.life); err != nil {
		return err
	}
	return s.stream.Send(m)
}

func (s *wiredStream[Q, R]) Recv() (R, error) {
	m, err := s.stream.Recv()
	if passed := s.w.pass(s.ctx, s.life); passed != nil {
		var none R
		m, err = none, passed
	}
	if err != nil {
		s.cancel()
	}
	return m, err
}

// scheme is the scheme service over the wire.
func (w *wire) scheme() Ydb_Scheme_V1.SchemeServiceClient { return &wiredScheme{w: w} }

type wiredScheme struct {
	Ydb_Scheme_V1.SchemeServiceClient
	w *wire
}

func (s *wiredScheme) MakeDirectory(ctx context.Context, in *Ydb_Scheme.MakeDirectoryRequest, _ ...grpc.CallOption) (*Ydb_Scheme.MakeDirectoryResponse, error) {
	return invoke(ctx, s.w, s.w.conn().Scheme(), in, Ydb_Scheme_V1.SchemeServiceClient.MakeDirectory)
}
