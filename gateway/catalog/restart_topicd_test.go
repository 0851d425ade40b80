package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/gateway/catalog"
	"sqsgate/internal/ydbstatus"
)

func TestRestart(t *testing.T) {
	s := newServer(t)
	c, stop := s.gateway(func(o *catalog.Options) { o.SnapshotAfter = 10 })
	var want []catalog.Queue
	for i := range 30 {
		q, _, err := c.Create(s.ctx(), catalog.CreateRequest{Name: fmt.Sprintf("q%02d", i), Attributes: map[string]string{"DelaySeconds": fmt.Sprint(i)}})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, q)
	}
	if _, err := c.Delete(s.ctx(), "q00"); err != nil {
		t.Fatal(err)
	}
	want = want[1:]
	committed := func() int64 {
		var result Ydb_Topic.DescribeConsumerResult
		resp, err := s.topics.DescribeConsumer(s.ctx(), &Ydb_Topic.DescribeConsumerRequest{Path: "/local/sqsgate/catalog", Consumer: "catalog", IncludeStats: true})
		if err := ydbstatus.Operation(resp.GetOperation(), err, &result); err != nil {
			t.Fatal(err)
		}
		return result.GetPartitions()[0].GetPartitionConsumerStats().GetCommittedOffset()
	}
	s.eventually("a snapshot near the end of the log", func() bool { return committed() >= 50 })
	stop()

	var mu sync.Mutex
	told := map[string]catalog.Queue{}
	again, _ := s.gateway(func(o *catalog.Options) {
		o.OnChange = func(q catalog.Queue, deleted bool) {
			mu.Lock()
			defer mu.Unlock()
			told[q.Name] = q
			if deleted {
				delete(told, q.Name)
			}
		}
	})
	mu.Lock()
	defer mu.Unlock()
	if len(names(again)) != len(want) || len(told) != len(want) {
		t.Fatalf("%d queues, told of %d, want %d", len(names(again)), len(told), len(want))
	}
	for _, q := range want {
		if got, err := again.Get(s.ctx(), q.Name); err != nil || !cmp.Equal(q, got) || !cmp.Equal(q, told[q.Name]) {
			t.Fatalf("%s after the restart: %+v, %v", q.Name, got, err)
		}
	}
}

// The server's partitions restart under running changes: each is made once, none
// is lost, and the catalogue comes back by itself.
func TestReconnect(t *testing.T) {
	s := newServer(t)
	c, _ := s.gateway(nil)
	q, _, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "q"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, done := s.ctx(), make(chan error, 1)
	go func() {
		for i := range 50 {
			if _, err := c.SetTags(ctx, "q", map[string]string{fmt.Sprint(i): "x"}, nil); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for running := true; running; {
		s.control.KillSessions("/local/sqsgate/catalog")
		timer := time.NewTimer(20 * time.Millisecond)
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		case <-timer.C:
		}
		timer.Stop()
	}
	s.eventually("ready again", func() bool { return c.Ready() == nil })
	if now, err := c.Get(s.ctx(), "q"); err != nil || len(now.Tags) != 50 || now.Incarnation != q.Incarnation {
		t.Errorf("%d tags, %v", len(now.Tags), err)
	}
	// One record each for create and bind; sending again has added none.
	if end := s.describe("/local/sqsgate/catalog").GetPartitions()[0].GetPartitionStats().GetPartitionOffsets().GetEnd(); end != 52 {
		t.Errorf("%d records in the log, want 52", end)
	}
}

// While the server fails a caller waits no longer than its deadline, and what is
// known is answered all the same.
func TestDeadline(t *testing.T) {
	s := newServer(t)
	c, _ := s.gateway(nil)
	if _, _, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "q"}); err != nil {
		t.Fatal(err)
	}
	s.control.Fail("DescribeTopic", 1000, Ydb.StatusIds_UNAVAILABLE)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := c.Create(ctx, catalog.CreateRequest{Name: "new"}); !errors.Is(err, catalog.ErrUnavailable) {
		t.Errorf("while the server fails: %v", err)
	}
	if _, err := c.Get(t.Context(), "q"); err != nil {
		t.Errorf("a queue that is known: %v", err)
	}
}

func TestNotReady(t *testing.T) {
	s := newServer(t)
	c, err := catalog.New(catalog.Options{Topics: s.topics, Scheme: s.scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(); err == nil {
		t.Error("ready before Run")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ctx, "q"); !errors.Is(err, catalog.ErrUnavailable) || !strings.Contains(err.Error(), "not read yet") {
		t.Errorf("Get: %v", err)
	}
}

func BenchmarkGet(b *testing.B) {
	s := newServer(b)
	c, _ := s.gateway(nil)
	if _, _, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "q"}); err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Get(ctx, "q"); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkSetTags is one change through the log and back.
func BenchmarkSetTags(b *testing.B) {
	s := newServer(b)
	c, _ := s.gateway(nil)
	ctx := b.Context()
	if _, _, err := c.Create(ctx, catalog.CreateRequest{Name: "q"}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.SetTags(ctx, "q", map[string]string{"k": "v"}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
