package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"sqsgate/codec"
	"sqsgate/consumer"
	"sqsgate/gateway"
	"sqsgate/gateway/catalog"
	"sqsgate/internal/ydbtopic"
	"sqsgate/partition"
	"sqsgate/topicd"
)

// stack is a gateway over an embedded topic server in memory, behind a real
// HTTP server.
type stack struct {
	t       testing.TB
	handler http.Handler
	url     string
	client  *http.Client
	pool    *partition.Pool
	edge    *gateway.Server
	control *topicd.Control
	conn    *ydbtopic.Conn
	catalog *catalog.Catalog
	metrics prometheus.Registerer // of the edge; nil unless an option set it
}

func newStack(t testing.TB, change func(*gateway.Options)) *stack {
	t.Helper()
	return parts{gateway: change}.serve(t)
}

// parts says in what a stack differs from the plain one.
type parts struct {
	gateway  func(*gateway.Options)
	consumer func(*consumer.Options)
	catalog  func(*catalog.Options)
	// remote puts gRPC between the gateway and the topic server.
	remote bool
}

func (p parts) serve(t testing.TB) *stack {
	t.Helper()
	s := p.assemble(t)
	web := httptest.NewServer(s.handler)
	t.Cleanup(web.Close)
	s.url, s.client = web.URL, web.Client()
	return s
}

// numbered lets the shared consumer write dead letters through the pool.
type numbered struct{ *partition.Sequence }

func (s numbered) Write(ctx context.Context, messages []consumer.Numbered) error {
	list := make([]partition.Numbered, len(messages))
	for i, m := range messages {
		list[i] = partition.Numbered{Number: m.Number, Group: m.Group, Key: m.Key, Record: m.Record}
	}
	return s.Sequence.Write(ctx, list)
}

// destination finds the queue that messages are moved to.
func destination(queues *catalog.Catalog, target uint64, sourceARN string) (consumer.Destination, bool) {
	names := queues.Select("", 1, func(q catalog.Queue) bool {
		return target == consumer.TargetOf(q.Name) || target == consumer.TargetSources && strings.HasSuffix(sourceARN, ":"+q.Name)
	})
	if len(names) == 0 {
		return consumer.Destination{}, false
	}
	q, err := queues.Get(context.Background(), names[0])
	return consumer.Destination{Topic: q.Topic, Consumer: q.Consumer}, err == nil
}

// connect opens the connection to the topic server.
func (p parts) connect(t testing.TB, server *topicd.Server) *ydbtopic.Conn {
	t.Helper()
	if !p.remote {
		return ydbtopic.InProcess("/local", server.Register)
	}
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	t.Cleanup(func() { must(t, <-served) })
	conn, err := ydbtopic.Dial(t.Context(), ydbtopic.Options{DSN: "grpc://" + lis.Addr().String() + "/local"})
	must(t, err)
	return conn
}

// assemble is newStack without the HTTP server.
func assemble(t testing.TB, change func(*gateway.Options)) *stack {
	t.Helper()
	return parts{gateway: change}.assemble(t)
}

func (p parts) assemble(t testing.TB) *stack {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	control := topicd.NewControl()
	server, err := topicd.New(topicd.Options{FS: vfs.NewMem(), Control: control})
	must(t, err)
	conn := p.connect(t, server)
	pool, err := partition.New(partition.Options{Topics: conn.Topics(), Logger: log})
	must(t, err)
	var shared *consumer.Consumer
	co := catalog.Options{
		Topics: conn.Topics(), Scheme: conn.Scheme(), Logger: log,
		OnChange: func(q catalog.Queue, deleted bool) {
			if deleted {
				shared.Forget(q.Topic, q.Consumer, q.Incarnation)
				pool.Forget(q.Topic)
			}
		},
		OnForgotten: func(q catalog.Queue) { shared.Abandon(q.Topic, q.Consumer, q.Incarnation) },
	}
	if p.catalog != nil {
		p.catalog(&co)
	}
	queues, err := catalog.New(co)
	must(t, err)
	so := consumer.Options{
		Topics: conn.Topics(), Scheme: conn.Scheme(), Database: "/local", Logger: log,
		Sequence: func(topic, producer string) consumer.SequenceWriter { return numbered{pool.Sequence(topic, producer)} },
		Resolve:  func(target uint64, arn string) (consumer.Destination, bool) { return destination(queues, target, arn) },
	}
	if p.consumer != nil {
		p.consumer(&so)
	}
	shared, err = consumer.New(so)
	must(t, err)
	o := gateway.Options{Catalog: queues, Consumer: shared, Pool: pool, Logger: log}
	if p.gateway != nil {
		p.gateway(&o)
	}
	edge, err := gateway.New(o)
	must(t, err)
	running, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- queues.Run(running) }()
	s := &stack{t: t, handler: edge.Handler(), pool: pool, edge: edge, control: control, conn: conn, catalog: queues, metrics: o.Registerer}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		err := errors.Join(pool.Close(ctx), shared.Close(ctx))
		stop()
		if err := errors.Join(err, <-done, conn.Close(ctx), server.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// counted is the value of a counter of the edge.
func (s *stack) counted(name string) int {
	s.t.Helper()
	reg, ok := s.metrics.(*prometheus.Registry)
	if !ok {
		s.t.Fatal("the stack has no metrics")
	}
	families, err := reg.Gather()
	must(s.t, err)
	for _, f := range families {
		if f.GetName() == name {
			return int(f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	return 0
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

// object is a JSON object of an answer.
type object = map[string]any

func (s *stack) send(ctx context.Context, r *http.Request) (reply, error) {
	res, err := s.client.Do(r.WithContext(ctx))
	if err != nil {
		return reply{}, err
	}
	body, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, body}, errors.Join(err, res.Body.Close())
}

func (s *stack) request(action string, params object) *http.Request {
	s.t.Helper()
	body, err := json.Marshal(params)
	must(s.t, err)
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url, bytes.NewReader(body))
	must(s.t, err)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	return r
}

// call expects success and returns the answer.
func (s *stack) call(action string, params object) object {
	s.t.Helper()
	got, err := s.send(s.t.Context(), s.request(action, params))
	must(s.t, err)
	if got.status != http.StatusOK {
		s.t.Fatalf("%s: %d %s", action, got.status, got.body)
	}
	var out object
	if len(got.body) > 0 { // else the action has no result
		must(s.t, json.Unmarshal(got.body, &out))
	}
	return out
}

// refused expects an error and returns its query code.
func (s *stack) refused(action string, params object) string {
	s.t.Helper()
	got, err := s.send(s.t.Context(), s.request(action, params))
	must(s.t, err)
	if got.status < 400 {
		s.t.Fatalf("%s succeeded: %s", action, got.body)
	}
	code, _, _ := strings.Cut(got.header.Get("X-Amzn-Query-Error"), ";")
	return code
}

// query sends a request of the Query protocol to a path.
func (s *stack) query(path string, params url.Values) reply {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(params.Encode()))
	must(s.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got, err := s.send(s.t.Context(), r)
	must(s.t, err)
	return got
}

// create makes a queue and returns its URL.
func (s *stack) create(name string, attributes object) string {
	s.t.Helper()
	u, ok := s.call("CreateQueue", object{"QueueName": name, "Attributes": attributes})["QueueUrl"].(string)
	if !ok {
		s.t.Fatal("CreateQueue answers no URL")
	}
	return u
}

// messages receives up to ten messages, waiting up to 5 s for the first.
func (s *stack) messages(queueURL string, params object) []object {
	s.t.Helper()
	ask := object{"QueueUrl": queueURL, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 5}
	for k, v := range params {
		ask[k] = v
	}
	list, _ := s.call("ReceiveMessage", ask)["Messages"].([]any)
	out := make([]object, len(list))
	for i := range list {
		m, ok := list[i].(object)
		if !ok {
			s.t.Fatalf("message %v", list[i])
		}
		out[i] = m
	}
	return out
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func member(o object, name string) object {
	m, _ := o[name].(object)
	return m
}

var gzipped = codec.Record{Codec: codec.Gzip, Data: []byte{0x1f, 0x8b, 0}, ProducerID: ""}
