package ydbtopic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var errClosed = errors.New("connection is closed")

// errConnecting is the state before the first attempt has ended.
var errConnecting = errors.New("not connected yet")

// Dial returns a connection to the cluster of o.DSN. It fails only for options
// that can never work; a cluster that is down is tried again in the background
// until Close. Cancelling ctx later does not touch the connection.
func Dial(ctx context.Context, o Options) (*Conn, error) {
	o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("connecting to YDB: %w", err)
	}
	t, err := parseTarget(o.DSN)
	if err != nil {
		return nil, fmt.Errorf("connecting to YDB: %w", err)
	}
	driverOpts, err := o.driverOptions(t.secure)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", t, err)
	}

	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &link{
		target: t,
		opts:   o,
		driver: driverOpts,
		log:    o.Logger.With(slog.String("cluster", t.String())),
		cancel: cancel,
		done:   make(chan struct{}),
	}
	l.why.Store(&errConnecting)
	go l.run(runCtx)
	return newConn(t.database, l, l), nil
}

// link is a ClientConnInterface that exists before its driver does.
//
// run is its only goroutine. It alone sets conn and why; callers load them.
type link struct {
	target target
	opts   Options
	driver []ydb.Option
	log    *slog.Logger

	conn atomic.Pointer[grpc.ClientConnInterface] // nil until the driver is open
	why  atomic.Pointer[error]                    // nil while the cluster answers

	cancel  context.CancelFunc
	done    chan struct{} // closed when run has returned and the driver is closed
	closing sync.Once
}

func (l *link) state() error {
	if why := l.why.Load(); why != nil {
		return fmt.Errorf("%s: %w", l.target, *why)
	}
	return nil
}

func (l *link) close(ctx context.Context) error {
	first := false
	l.closing.Do(func() { first = true; l.cancel() })
	if !first {
		return nil
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("closing the connection to %s: %w", l.target, ctx.Err())
	}
}

func (l *link) run(ctx context.Context) {
	defer close(l.done)
	driver := l.open(ctx)
	if driver == nil {
		l.why.Store(&errClosed)
		return
	}
	cc := ydb.GRPCConn(driver)
	l.conn.Store(&cc)
	l.watch(ctx, Ydb_Discovery_V1.NewDiscoveryServiceClient(cc))

	l.conn.Store(nil)
	l.why.Store(&errClosed)
	// The caller has gone: the driver gets a bounded time of its own.
	closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.opts.ConnectTimeout)
	defer cancel()
	if err := driver.Close(closeCtx); err != nil {
		l.log.Warn("driver did not close cleanly", slog.Any("error", err))
	}
}

// open tries until the driver is open. It returns nil when ctx has ended.
func (l *link) open(ctx context.Context) *ydb.Driver {
	pause := 100 * time.Millisecond
	for {
		attempt, cancel := context.WithTimeout(ctx, l.opts.ConnectTimeout)
		driver, err := ydb.Open(attempt, l.target.String(), l.driver...)
		cancel()
		if err == nil {
			l.why.Store(nil)
			l.log.Info("connected to the cluster")
			return driver
		}
		if ctx.Err() != nil {
			return nil
		}
		l.why.Store(&err)
		l.log.Warn("cluster cannot be reached", slog.Any("error", err), slog.Duration("retry_in", pause))
		if !wait(ctx, jitter(pause)) {
			return nil
		}
		pause = min(2*pause, l.opts.MaxBackoff)
	}
}

// watch keeps why true to the facts until ctx ends. The SDK reconnects by
// itself; what it lacks is a way to ask whether it has.
func (l *link) watch(ctx context.Context, discovery Ydb_Discovery_V1.DiscoveryServiceClient) {
	for wait(ctx, jitter(l.opts.ProbeInterval)) {
		err := l.probe(ctx, discovery)
		if ctx.Err() != nil {
			return
		}
		was := l.why.Load()
		switch {
		case err == nil && was != nil:
			l.why.Store(nil)
			l.log.Info("cluster answers again")
		case err != nil && was == nil:
			l.why.Store(&err)
			l.log.Warn("cluster does not answer", slog.Any("error", err))
		case err != nil:
			l.why.Store(&err)
		}
	}
}

func (l *link) probe(ctx context.Context, discovery Ydb_Discovery_V1.DiscoveryServiceClient) error {
	ctx, cancel := context.WithTimeout(ctx, l.opts.ConnectTimeout)
	defer cancel()
	r, err := discovery.ListEndpoints(ctx, &Ydb_Discovery.ListEndpointsRequest{Database: l.target.database})
	if err != nil {
		return err
	}
	if code := r.GetOperation().GetStatus(); code != Ydb.StatusIds_SUCCESS {
		return fmt.Errorf("discovery answers %s", code)
	}
	return nil
}

// Invoke and NewStream pass to the driver, once there is one.

func (l *link) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	cc, err := l.ready()
	if err != nil {
		return err
	}
	return cc.Invoke(ctx, method, args, reply, opts...)
}

func (l *link) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	cc, err := l.ready()
	if err != nil {
		return nil, err
	}
	return cc.NewStream(ctx, desc, method, opts...)
}

func (l *link) ready() (grpc.ClientConnInterface, error) {
	if cc := l.conn.Load(); cc != nil {
		return *cc, nil
	}
	reason := errConnecting
	if why := l.why.Load(); why != nil {
		reason = *why
	}
	return nil, status.Errorf(codes.Unavailable, "%s: %v", l.target, reason)
}

// jitter spreads the clients of a cluster that comes back: 75-125 % of d.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1)
}

// wait returns false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
