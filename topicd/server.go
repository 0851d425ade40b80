package topicd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Auth_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"sqsgate/topicd/store"
)

const (
	nodeID     = 1
	generation = 1 // of every partition: nothing ever moves to another node

	// maxRecvBytes is what ydb-go-sdk may send in one message.
	maxRecvBytes = 64_000_000
	// closeGrace is how long Close waits for calls to notice it.
	closeGrace = 5 * time.Second
)

// ErrLocked is returned by New when another process has the data directory open.
var ErrLocked = store.ErrLocked

// Server is the topic server. Its methods for gRPC are not called directly.
type Server struct {
	Ydb_Auth_V1.UnimplementedAuthServiceServer
	Ydb_Discovery_V1.UnimplementedDiscoveryServiceServer
	Ydb_Scheme_V1.UnimplementedSchemeServiceServer
	Ydb_Topic_V1.UnimplementedTopicServiceServer

	opts    Options
	log     *slog.Logger
	metrics *metrics
	store   *store.Store
	tree    *tree
	tails   tailCache
	tokens  *tokens
	grpc    *grpc.Server
	cookie  atomic.Uint64
	sending atomic.Int64    // bytes of responses that readers may not have taken yet
	splits  chan *partition // that have too much to do

	handlers  waitGroup
	closeOnce sync.Once
	closeErr  error
	closed    chan struct{} // closed when Close begins
}

// New opens the store. Errors: ErrLocked when the data directory is in use; a
// *store.DamagedError that names the file when the store cannot be trusted.
func New(o Options) (*Server, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	st, err := store.Open(store.Options{
		Dir: o.DataDir, FS: o.FS, CacheBytes: o.CacheBytes, MemTableBytes: o.MemTableBytes, MinFreeBytes: o.MinFreeBytes,
		Logger: o.Logger, Registerer: o.Registerer,
	})
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts: o, log: o.Logger, metrics: m, store: st, tree: newTree(o.Database),
		tails: tailCache{max: o.TailBytes}, closed: make(chan struct{}),
		tokens: newTokens(o.User, o.Password),
		splits: make(chan *partition, 64),
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	transport := insecure.NewCredentials()
	if o.TLS != nil {
		transport = credentials.NewTLS(o.TLS)
	}
	s.grpc = grpc.NewServer(
		grpc.Creds(transport),
		grpc.UnaryInterceptor(s.tokens.unary),
		grpc.StreamInterceptor(s.tokens.stream),
		grpc.MaxRecvMsgSize(maxRecvBytes),
		grpc.MaxSendMsgSize(1<<31-1),
		// YDB's SDKs ping every ten seconds, with and without streams.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}),
		// Larger windows than the default 64 KiB: one connection carries many
		// sessions, and messages of a megabyte are common.
		grpc.InitialWindowSize(4<<20),
		grpc.InitialConnWindowSize(16<<20),
	)
	s.Register(s.grpc)
	s.handlers.Go(s.scale)
	s.handlers.Go(s.retain)
	o.Control.attach(s)
	return s, nil
}

// Register adds the services to r, such as an in-process channel. Messages
// received are treated as immutable, messages sent are never used again.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	for _, desc := range []*grpc.ServiceDesc{
		&Ydb_Discovery_V1.DiscoveryService_ServiceDesc, &Ydb_Scheme_V1.SchemeService_ServiceDesc,
		&Ydb_Auth_V1.AuthService_ServiceDesc, topicService(),
	} {
		if s.opts.Control != nil {
			desc = s.opts.Control.faulty(desc)
		}
		r.RegisterService(desc, s)
	}
}

// Serve accepts gRPC connections on lis until Close, and then returns nil. It
// may be called for several listeners.
func (s *Server) Serve(lis net.Listener) error {
	if err := s.grpc.Serve(lis); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serving the topic API on %s: %w", lis.Addr(), err)
	}
	return nil
}

// Failed is closed when nothing can be made durable any more, or damage was
// met: the process must stop. Err says why.
func (s *Server) Failed() <-chan struct{} { return s.store.Failed() }

// Err returns why the store failed, nil while it works.
func (s *Server) Err() error { return s.store.Err() }

// Close ends all sessions with UNAVAILABLE, waits for the calls and closes the
// store. It is idempotent.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		close(s.closed)
		for _, t := range s.tree.topics() {
			t.endSessions(errShutdown())
		}
		// Calls in progress get the grace; GracefulStop alone would wait for ever
		// for a client that does not read.
		graceful := make(chan struct{})
		go func() { s.grpc.GracefulStop(); close(graceful) }()
		timer := time.NewTimer(closeGrace)
		defer timer.Stop()
		select {
		case <-graceful:
		case <-timer.C:
			s.grpc.Stop()
			<-graceful
		}
		if !s.handlers.wait(closeGrace) {
			s.log.Warn("calls did not end in time")
		}
		s.closeErr = s.store.Close()
	})
	return s.closeErr
}

func (s *Server) closing() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// sessionID makes an id in the form that YDB gives to sessions.
func (s *Server) sessionID(consumer string) string {
	return fmt.Sprintf("%s_%d_%d_%d_v1", consumer, nodeID, s.cookie.Add(1), rand.Uint64())
}

// unary runs one unary call.
func (s *Server) unary(ctx context.Context, method string, f func(ctx context.Context) error) error {
	if !s.handlers.enter() {
		return errShutdown()
	}
	defer s.handlers.leave()
	err := s.opts.Control.check(ctx, method)
	if err == nil {
		err = f(ctx)
	}
	s.finished(ctx, method, err)
	return err
}

// stream runs one stream; an error becomes the last message on it, and the
// gRPC status is always OK.
func (s *Server) stream(ctx context.Context, method string, f func(ctx context.Context) error,
	send func(Ydb.StatusIds_StatusCode, string) error,
) error {
	if !s.handlers.enter() {
		return send(statusOf(errShutdown()))
	}
	defer s.handlers.leave()
	err := s.opts.Control.check(ctx, method)
	if err == nil {
		err = f(ctx)
	}
	s.finished(ctx, method, err)
	if err == nil || ctx.Err() != nil {
		return nil
	}
	// The client may have gone meanwhile; the stream ends either way.
	_ = send(statusOf(err))
	return nil
}

func (s *Server) finished(ctx context.Context, method string, err error) {
	code, text := statusOf(err)
	s.metrics.calls.WithLabelValues(method, code.String()).Inc()
	if err == nil {
		return
	}
	if code == Ydb.StatusIds_INTERNAL_ERROR {
		s.log.LogAttrs(ctx, slog.LevelError, "topic call failed", slog.String("method", method), slog.Any("error", err))
		return
	}
	s.log.LogAttrs(ctx, slog.LevelDebug, "topic call refused",
		slog.String("method", method), slog.String("status", code.String()), slog.String("issue", text))
}

// commit runs apply in the committer and waits until its writes are synced.
func (s *Server) commit(ctx context.Context, apply func(*store.Batch) error) error {
	op := &funcOp{apply: apply, done: make(chan error, 1)}
	if err := s.store.Submit(ctx, op); err != nil {
		return err
	}
	return s.await(op.done)
}

// await waits for an op that has been queued. It does not watch the caller's
// context: the op will happen, and its effect must follow.
func (s *Server) await(done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-s.store.Failed():
		return s.store.Err()
	}
}

// funcOp is an op without payload.
type funcOp struct {
	apply func(*store.Batch) error
	err   error
	done  chan error
}

func (*funcOp) Size() int { return 0 }

func (o *funcOp) Apply(b *store.Batch) { o.err = o.apply(b) }

func (o *funcOp) Done(err error) {
	if err == nil {
		err = o.err
	}
	o.done <- err
}
