package catalog_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/fullstorydev/grpchan/inprocgrpc"
	"github.com/google/go-cmp/cmp"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sqsgate/gateway/catalog"
	"sqsgate/topicd"
)

// link is a connection whose server can go away and come back.
type link struct {
	to atomic.Pointer[inprocgrpc.Channel]
}

func (l *link) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if ch := l.to.Load(); ch != nil {
		return ch.Invoke(ctx, method, args, reply, opts...)
	}
	return status.Error(codes.Unavailable, "no server")
}

func (l *link) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if ch := l.to.Load(); ch != nil {
		return ch.NewStream(ctx, desc, method, opts...)
	}
	return nil, status.Error(codes.Unavailable, "no server")
}

func (l *link) start(t *testing.T, fs vfs.FS) (stop func()) {
	t.Helper()
	s, err := topicd.New(topicd.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	ch := &inprocgrpc.Channel{}
	s.Register(ch)
	l.to.Store(ch)
	return func() {
		l.to.Store(nil)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The server goes away under a change and comes back: the change is made, and
// nothing that was answered before is lost.
func TestServerRestart(t *testing.T) {
	fs, l := vfs.NewMem(), &link{}
	stop := l.start(t, fs)
	s := &server{
		t: t, topics: Ydb_Topic_V1.NewTopicServiceClient(l), scheme: Ydb_Scheme_V1.NewSchemeServiceClient(l),
	}
	c, stopGateway := s.gateway(nil)
	q, _, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "q", Attributes: map[string]string{"DelaySeconds": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	stop()
	s.eventually("the loss is reported", func() bool { return c.Ready() != nil })
	if known, err := c.Get(s.ctx(), "q"); err != nil || !cmp.Equal(q, known) {
		t.Errorf("meanwhile: %+v, %v", known, err)
	}
	ctx, done := s.ctx(), make(chan error, 1)
	go func() {
		_, err := c.SetAttributes(ctx, "q", map[string]string{"DelaySeconds": "2", "MessageRetentionPeriod": "600"})
		done <- err
	}()
	timer := time.NewTimer(50 * time.Millisecond)
	defer timer.Stop()
	select {
	case err := <-done:
		t.Fatalf("changed without a server: %v", err)
	case <-timer.C:
	}
	stop = l.start(t, fs)
	defer stop()
	defer stopGateway()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	s.eventually("ready again", func() bool { return c.Ready() == nil })
	now, err := c.Get(s.ctx(), "q")
	if err != nil || now.Incarnation != q.Incarnation || now.Attributes["DelaySeconds"] != "2" {
		t.Errorf("afterwards: %+v, %v", now, err)
	}
	if got := s.describe("/local/q").GetConsumers()[0].GetAvailabilityPeriod().AsDuration(); got != 70*time.Minute {
		t.Errorf("messages are kept for %v", got)
	}
}
