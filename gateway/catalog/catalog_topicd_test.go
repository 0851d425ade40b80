package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/durationpb"

	"sqsgate/gateway/catalog"
	"sqsgate/internal/ydbstatus"
	"sqsgate/internal/ydbtopic"
	"sqsgate/topicd"
)

const consumer = "ydb-sqs-consumer"

// server is a topicd and its stubs.
type server struct {
	t       testing.TB
	topics  Ydb_Topic_V1.TopicServiceClient
	scheme  Ydb_Scheme_V1.SchemeServiceClient
	control *topicd.Control
}

func newServer(t testing.TB) *server {
	t.Helper()
	control := topicd.NewControl()
	s, err := topicd.New(topicd.Options{FS: vfs.NewMem(), Control: control})
	if err != nil {
		t.Fatal(err)
	}
	conn := ydbtopic.InProcess("/local", s.Register)
	t.Cleanup(func() {
		if err := errors.Join(conn.Close(context.WithoutCancel(t.Context())), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return &server{
		t: t, control: control,
		topics: conn.Topics(), scheme: conn.Scheme(),
	}
}

// gateway starts a catalogue and waits until it is ready. stop may be called once
// more by the cleanup.
func (s *server) gateway(change func(*catalog.Options)) (c *catalog.Catalog, stop func()) {
	s.t.Helper()
	o := catalog.Options{
		Topics: s.topics, Scheme: s.scheme, RefreshInterval: time.Hour,
		Logger: slog.New(slog.NewTextHandler(s.t.Output(), nil)),
	}
	if change != nil {
		change(&o)
	}
	c, err := catalog.New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("Run: %v", err)
		}
	})
	s.t.Cleanup(stop)
	// A name that nobody has: the answer needs the log read to its end.
	if _, err := c.Get(s.ctx(), "no-such-queue"); !errors.Is(err, catalog.ErrNotFound) {
		s.t.Fatalf("Get of an unknown queue: %v", err)
	}
	if err := c.Ready(); err != nil {
		s.t.Fatalf("Ready: %v", err)
	}
	return c, stop
}

func (s *server) ctx() context.Context {
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	s.t.Cleanup(cancel)
	return ctx
}

func (s *server) describe(topic string) *Ydb_Topic.DescribeTopicResult {
	s.t.Helper()
	var result Ydb_Topic.DescribeTopicResult
	resp, err := s.topics.DescribeTopic(s.ctx(), &Ydb_Topic.DescribeTopicRequest{Path: topic, IncludeStats: true})
	if err := ydbstatus.Operation(resp.GetOperation(), err, &result); err != nil {
		if ydbstatus.Is(err, Ydb.StatusIds_SCHEME_ERROR) {
			return nil
		}
		s.t.Fatal(err)
	}
	return &result
}

func (s *server) createTopic(topic string, consumers ...string) {
	s.t.Helper()
	req := &Ydb_Topic.CreateTopicRequest{Path: topic, RetentionPeriod: durationpb.New(2 * time.Hour)}
	for _, name := range consumers {
		req.Consumers = append(req.Consumers, &Ydb_Topic.Consumer{Name: name})
	}
	resp, err := s.topics.CreateTopic(s.ctx(), req)
	if err := ydbstatus.Operation(resp.GetOperation(), err, nil); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) dropTopic(topic string) {
	s.t.Helper()
	resp, err := s.topics.DropTopic(s.ctx(), &Ydb_Topic.DropTopicRequest{Path: topic})
	if err := ydbstatus.Operation(resp.GetOperation(), err, nil); err != nil {
		s.t.Fatal(err)
	}
}

// eventually asks until the answer is yes; events of the catalogue come with no
// signal a test could wait for from outside.
func (s *server) eventually(what string, yes func() bool) {
	s.t.Helper()
	ctx := s.ctx()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-ctx.Done():
			s.t.Fatalf("not seen: %s", what)
		case <-tick.C:
		}
	}
}

func names(c *catalog.Catalog) []string { return c.List("", "", 1000) }

func TestCreate(t *testing.T) {
	s := newServer(t)
	c, _ := s.gateway(nil)
	before := time.Now().Unix()
	q, created, err := c.Create(s.ctx(), catalog.CreateRequest{
		Name: "dir/sub/a.fifo", FIFO: true,
		Attributes: map[string]string{
			"MessageRetentionPeriod": "7200", "VisibilityTimeout": "5", "Policy": "",
			"YdbMinActivePartitions": "3", "YdbMaxActivePartitions": "7", "YdbPartitionWriteSpeedBytes": "2097152", "YdbTopicRetentionSeconds": "600",
		},
		Tags: map[string]string{"k": ""},
	})
	if err != nil || !created {
		t.Fatalf("created %v, %v", created, err)
	}
	if q.Name != "dir/sub/a.fifo" || q.Topic != "/local/dir/sub/a.fifo" || q.Consumer != consumer || !q.FIFO ||
		q.Incarnation == 0 || q.Created < before || q.Modified != q.Created {
		t.Errorf("queue %+v", q)
	}
	if _, ok := q.Attributes["Policy"]; ok || q.Attributes["VisibilityTimeout"] != "5" || len(q.Tags) != 1 {
		t.Errorf("attributes %v, tags %v", q.Attributes, q.Tags)
	}
	topic := s.describe(q.Topic)
	p, auto := topic.GetPartitioningSettings(), topic.GetPartitioningSettings().GetAutoPartitioningSettings()
	if p.GetMinActivePartitions() != 3 || p.GetMaxActivePartitions() != 7 || len(topic.GetPartitions()) != 3 ||
		auto.GetStrategy() != Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_SCALE_UP ||
		auto.GetPartitionWriteSpeed().GetUpUtilizationPercent() != 80 || auto.GetPartitionWriteSpeed().GetDownUtilizationPercent() != 20 ||
		auto.GetPartitionWriteSpeed().GetStabilizationWindow().AsDuration() != 30*time.Second {
		t.Errorf("partitioning %v", p)
	}
	if topic.GetPartitionWriteSpeedBytesPerSecond() != 2097152 || topic.GetPartitionWriteBurstBytes() != 2097152 ||
		topic.GetRetentionPeriod().AsDuration() != 10*time.Minute || len(topic.GetSupportedCodecs().GetCodecs()) != 0 {
		t.Errorf("topic %v", topic)
	}
	if got := topic.GetConsumers()[0].GetAvailabilityPeriod().AsDuration(); got != 3*time.Hour {
		t.Errorf("messages are kept for %v", got)
	}

	again, created, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "dir/sub/a.fifo", FIFO: true, Attributes: map[string]string{"VisibilityTimeout": "6"}})
	if err != nil || created {
		t.Fatalf("again: created %v, %v", created, err)
	}
	if diff := cmp.Diff(q, again); diff != "" {
		t.Errorf("the queue that was there is changed:\n%s", diff)
	}
}

func TestCreateDefaults(t *testing.T) {
	s := newServer(t)
	c, _ := s.gateway(nil)
	q, _, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "plain"})
	if err != nil {
		t.Fatal(err)
	}
	topic := s.describe(q.Topic)
	p := topic.GetPartitioningSettings()
	if p.GetMinActivePartitions() != 1 || p.GetMaxActivePartitions() != 10 || topic.GetPartitionWriteSpeedBytesPerSecond() != 1<<20 ||
		topic.GetRetentionPeriod().AsDuration() != 24*time.Hour || topic.GetConsumers()[0].GetAvailabilityPeriod().AsDuration() != 97*time.Hour {
		t.Errorf("topic %v", topic)
	}
}

// A server without availability periods keeps messages by the topic's retention.
func TestCreateOnOldServer(t *testing.T) {
	s := newServer(t)
	c, _ := s.gateway(nil)
	s.control.Fail("CreateTopic", 1, Ydb.StatusIds_BAD_REQUEST)
	q, created, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "q"})
	if err != nil || !created {
		t.Fatalf("created %v, %v", created, err)
	}
	topic := s.describe(q.Topic)
	if topic.GetConsumers()[0].GetAvailabilityPeriod() != nil || topic.GetRetentionPeriod().AsDuration() != 97*time.Hour {
		t.Errorf("topic %v", topic)
	}
}

func TestCreateRefused(t *testing.T) {
	s := newServer(t)
	c, _ := s.gateway(nil)
	s.control.Fail("CreateTopic", 2, Ydb.StatusIds_BAD_REQUEST)
	if _, _, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "q"}); !errors.Is(err, catalog.ErrRefused) {
		t.Errorf("refused by the server: %v", err)
	}
	if len(names(c)) != 0 {
		t.Errorf("a queue without a topic is listed: %v", names(c))
	}
	if _, created, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "q"}); err != nil || !created {
		t.Errorf("afterwards: %v, %v", created, err)
	}
}

// The creator dies between its record and the topic: whoever asks for the queue
// next makes the topic, with the attributes of the record.
func TestCreateIsFinished(t *testing.T) {
	s := newServer(t)
	a, stop := s.gateway(nil)
	s.control.Fail("CreateTopic", 8, Ydb.StatusIds_UNAVAILABLE)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := a.Create(ctx, catalog.CreateRequest{Name: "q", Attributes: map[string]string{"YdbMinActivePartitions": "2"}}); !errors.Is(err, catalog.ErrUnavailable) {
		t.Fatalf("without the server: %v", err)
	}
	stop()
	b, _ := s.gateway(nil)
	q, err := b.Get(s.ctx(), "q")
	if err != nil || q.Attributes["YdbMinActivePartitions"] != "2" {
		t.Fatalf("%+v, %v", q, err)
	}
	if n := len(s.describe(q.Topic).GetPartitions()); n != 2 {
		t.Errorf("the topic has %d partitions", n)
	}
}

func TestCreateConcurrently(t *testing.T) {
	s := newServer(t)
	a, _ := s.gateway(nil)
	b, _ := s.gateway(nil)
	const callers = 32
	ctx := s.ctx()
	var wg sync.WaitGroup
	queues := make([]catalog.Queue, callers)
	created := make([]bool, callers)
	errs := make([]error, callers)
	for i := range callers {
		wg.Go(func() {
			c := a
			if i%2 == 1 {
				c = b
			}
			queues[i], created[i], errs[i] = c.Create(ctx, catalog.CreateRequest{
				Name: "q", Attributes: map[string]string{"VisibilityTimeout": fmt.Sprint(i), "YdbMinActivePartitions": fmt.Sprint(1 + i%4)},
			})
		})
	}
	wg.Wait()
	made := 0
	for i := range callers {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if created[i] {
			made++
		}
		if diff := cmp.Diff(queues[0], queues[i]); diff != "" {
			t.Fatalf("caller %d has another queue:\n%s", i, diff)
		}
	}
	if made != 1 {
		t.Errorf("%d callers created it", made)
	}
	if got := fmt.Sprint(s.describe("/local/q").GetPartitioningSettings().GetMinActivePartitions()); got != queues[0].Attributes["YdbMinActivePartitions"] {
		t.Errorf("the topic has %s partitions, the queue says %s", got, queues[0].Attributes["YdbMinActivePartitions"])
	}
}

func TestSetAttributesAndTags(t *testing.T) {
	s := newServer(t)
	c, _ := s.gateway(nil)
	other, _ := s.gateway(nil)
	q, _, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "q", Attributes: map[string]string{"DelaySeconds": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := c.SetAttributes(s.ctx(), "q", map[string]string{
		"MessageRetentionPeriod": "60", "DelaySeconds": "", "YdbMaxActivePartitions": "20", "YdbPartitionWriteSpeedBytes": "4194304", "YdbTopicRetentionSeconds": "120",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"MessageRetentionPeriod": "60", "YdbMaxActivePartitions": "20", "YdbPartitionWriteSpeedBytes": "4194304", "YdbTopicRetentionSeconds": "120"}
	if diff := cmp.Diff(want, set.Attributes); diff != "" || set.Incarnation != q.Incarnation {
		t.Errorf("incarnation %d of %d, attributes:\n%s", set.Incarnation, q.Incarnation, diff)
	}
	if q.Attributes["DelaySeconds"] != "3" {
		t.Error("attributes that were handed out have changed")
	}
	topic := s.describe(q.Topic)
	if topic.GetConsumers()[0].GetAvailabilityPeriod().AsDuration() != 61*time.Minute || topic.GetPartitioningSettings().GetMaxActivePartitions() != 20 ||
		topic.GetPartitionWriteSpeedBytesPerSecond() != 4194304 || topic.GetPartitionWriteBurstBytes() != 4194304 || topic.GetRetentionPeriod().AsDuration() != 2*time.Minute {
		t.Errorf("topic %v", topic)
	}
	if _, err := c.SetTags(s.ctx(), "q", map[string]string{"a": "1", "b": "2"}, nil); err != nil {
		t.Fatal(err)
	}
	tagged, err := c.SetTags(s.ctx(), "q", map[string]string{"a": "3"}, []string{"b", "none"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "3"}, tagged.Tags); diff != "" {
		t.Error(diff)
	}
	s.eventually("the other gateway has the same queue", func() bool {
		seen, err := other.Get(s.ctx(), "q")
		return err == nil && cmp.Equal(tagged, seen)
	})

	for name, bad := range map[string]map[string]string{
		"fewer partitions than now": {"YdbMinActivePartitions": "30"}, // above the maximum of 20
		"no number":                 {"YdbPartitionWriteSpeedBytes": "fast"},
	} {
		if _, err := c.SetAttributes(s.ctx(), "q", bad); !errors.Is(err, catalog.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now, err := c.Get(s.ctx(), "q"); err != nil || !cmp.Equal(tagged, now) {
		t.Errorf("a refused change was recorded: %v, %v", now, err)
	}
	for _, f := range []func() error{
		func() error { _, err := c.SetAttributes(s.ctx(), "none", map[string]string{"a": "b"}); return err },
		func() error { _, err := c.SetTags(s.ctx(), "none", nil, nil); return err },
		func() error { _, err := c.Delete(s.ctx(), "none"); return err },
		func() error { _, err := c.Check(s.ctx(), "none"); return err },
	} {
		if err := f(); !errors.Is(err, catalog.ErrNotFound) {
			t.Errorf("of no queue: %v", err)
		}
	}
}

func TestDelete(t *testing.T) {
	s := newServer(t)
	c, _ := s.gateway(nil)
	first, _, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "q", Attributes: map[string]string{"DelaySeconds": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "q@second"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"q", "q@second"}, names(c)); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Delete(s.ctx(), "q"); err != nil {
		t.Fatal(err)
	}
	if consumers := s.describe("/local/q").GetConsumers(); len(consumers) != 1 || consumers[0].GetName() != "second" {
		t.Errorf("consumers %v", consumers)
	}
	if _, err := c.Get(s.ctx(), "q"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("Get of a deleted queue: %v", err)
	}
	if _, err := c.Delete(s.ctx(), "q@second"); err != nil {
		t.Fatal(err)
	}
	if s.describe("/local/q") != nil {
		t.Error("the topic is left without a queue")
	}
	again, created, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "q"})
	if err != nil || !created || again.Incarnation == first.Incarnation || len(again.Attributes) != 0 {
		t.Errorf("made again: %+v, %v, %v", again, created, err)
	}
}

// A deletion whose topic could not be dropped is finished by the next Create,
// and meanwhile nobody takes the topic for a queue.
func TestDeleteIsFinished(t *testing.T) {
	s := newServer(t)
	s.createTopic("/local/seen", consumer)
	c, _ := s.gateway(nil)
	// The first walk is past its look at deletions, and the next is an hour away.
	s.eventually("the first walk", func() bool { return len(names(c)) == 1 })
	if _, _, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "q", Attributes: map[string]string{"YdbMinActivePartitions": "2"}}); err != nil {
		t.Fatal(err)
	}
	s.control.Fail("DropTopic", 1, Ydb.StatusIds_GENERIC_ERROR)
	if _, err := c.Delete(s.ctx(), "q"); err != nil {
		t.Fatal(err)
	}
	if s.describe("/local/q") == nil {
		t.Fatal("the topic was dropped in spite of the fault")
	}
	other, _ := s.gateway(nil)
	for _, g := range []*catalog.Catalog{c, other} {
		if _, err := g.Get(s.ctx(), "q"); !errors.Is(err, catalog.ErrNotFound) {
			t.Errorf("Get: %v", err)
		}
	}
	if _, created, err := other.Create(s.ctx(), catalog.CreateRequest{Name: "q"}); err != nil || !created {
		t.Errorf("created %v, %v", created, err)
	}
	if n := len(s.describe("/local/q").GetPartitions()); n != 1 {
		t.Errorf("the new queue has the old topic of %d partitions", n)
	}
}

func TestTopicsOfOthers(t *testing.T) {
	s := newServer(t)
	s.createTopic("/local/early", consumer, "reader")
	c, _ := s.gateway(func(o *catalog.Options) { o.RefreshInterval = 10 * time.Millisecond })
	s.eventually("the topic that was there is listed", func() bool { return slices.Equal(names(c), []string{"early"}) })

	s.createTopic("/local/late.fifo", consumer)
	s.createTopic("/local/plain", "reader")
	late, err := c.Get(s.ctx(), "late.fifo")
	if err != nil || !late.FIFO || len(late.Attributes) != 0 || late.Created == 0 {
		t.Errorf("found at once: %+v, %v", late, err)
	}
	if _, err := c.Get(s.ctx(), "plain"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("a topic without the consumer: %v", err)
	}
	if q, err := c.Get(s.ctx(), "plain@reader"); err != nil || q.Consumer != "reader" || q.Topic != "/local/plain" {
		t.Errorf("by its consumer: %+v, %v", q, err)
	}
	if _, err := c.Get(s.ctx(), "sqsgate/catalog@catalog"); !errors.Is(err, catalog.ErrInvalidName) {
		t.Errorf("the log as a queue: %v", err)
	}
	if got := s.describe("/local/late.fifo").GetRetentionPeriod().AsDuration(); got != 2*time.Hour {
		t.Errorf("retention of a topic of others is now %v", got)
	}
	if _, created, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "plain"}); err != nil || !created {
		t.Errorf("the consumer is added: %v, %v", created, err)
	}

	s.dropTopic("/local/late.fifo")
	s.createTopic("/local/late.fifo", consumer)
	s.eventually("a topic made again is a queue made again", func() bool {
		again, err := c.Get(s.ctx(), "late.fifo")
		return err == nil && again.Incarnation != late.Incarnation
	})
	s.dropTopic("/local/early")
	s.eventually("a dropped topic is forgotten", func() bool { return !slices.Contains(names(c), "early") })
}

// Check finds out at once what the next refresh would.
func TestCheck(t *testing.T) {
	s := newServer(t)
	c, _ := s.gateway(nil)
	q, _, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "q"})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := c.Check(s.ctx(), "q"); err != nil || !cmp.Equal(q, same) {
		t.Errorf("a queue that is there: %+v, %v", same, err)
	}
	s.dropTopic(q.Topic)
	if _, err := c.Check(s.ctx(), "q"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("a queue whose topic is gone: %v", err)
	}
	if len(names(c)) != 0 {
		t.Errorf("still listed: %v", names(c))
	}
	if again, created, err := c.Create(s.ctx(), catalog.CreateRequest{Name: "q"}); err != nil || !created || again.Incarnation == q.Incarnation {
		t.Errorf("made again: %+v, %v, %v", again, created, err)
	}
}
