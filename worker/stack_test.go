package worker_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"sqsgate/codec"
	"sqsgate/consumer"
	"sqsgate/gateway"
	"sqsgate/gateway/catalog"
	"sqsgate/internal/ydbtopic"
	"sqsgate/partition"
	"sqsgate/topicd"
	"sqsgate/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stack is a gateway over an embedded topic server in memory, behind a real HTTP
// server on pipes. It lives in a bubble: time passes when everything waits.
type stack struct {
	t      testing.TB
	listen *pipes
	pool   *partition.Pool
	client *sqs.Client
}

// bubble runs test in virtual time with a stack.
func bubble(t *testing.T, test func(t *testing.T, s *stack)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newStack(t)) })
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
func destination(queues *catalog.Catalog, target uint64) (consumer.Destination, bool) {
	names := queues.Select("", 1, func(q catalog.Queue) bool { return target == consumer.TargetOf(q.Name) })
	if len(names) == 0 {
		return consumer.Destination{}, false
	}
	q, err := queues.Get(context.Background(), names[0])
	return consumer.Destination{Topic: q.Topic, Consumer: q.Consumer}, err == nil
}

func newStack(t testing.TB) *stack {
	t.Helper()
	s, closeAll, err := open(slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	must(t, err)
	s.t = t
	t.Cleanup(func() {
		if err := closeAll(); err != nil {
			t.Error(err)
		}
	})
	s.client, _ = s.connect()
	return s
}

// seldom is the period of the server's housekeeping: in hours of virtual time its
// usual seconds are thousands of rounds.
const seldom = time.Hour

// open starts everything. The function ends it.
func open(log *slog.Logger) (*stack, func() error, error) {
	server, err := topicd.New(topicd.Options{FS: vfs.NewMem(), RetentionEvery: seldom})
	if err != nil {
		return nil, nil, err
	}
	conn := ydbtopic.InProcess("/local", server.Register)
	queues, err := catalog.New(catalog.Options{Topics: conn.Topics(), Scheme: conn.Scheme(), Logger: log, RefreshInterval: seldom})
	if err != nil {
		return nil, nil, err
	}
	pool, err := partition.New(partition.Options{Topics: conn.Topics(), Logger: log})
	if err != nil {
		return nil, nil, err
	}
	shared, err := consumer.New(consumer.Options{
		Topics: conn.Topics(), Scheme: conn.Scheme(), Database: "/local", Logger: log,
		Sequence: func(topic, producer string) consumer.SequenceWriter { return numbered{pool.Sequence(topic, producer)} },
		Resolve:  func(target uint64, _ string) (consumer.Destination, bool) { return destination(queues, target) },
	})
	if err != nil {
		return nil, nil, err
	}
	edge, err := gateway.New(gateway.Options{Catalog: queues, Consumer: shared, Pool: pool, Logger: log})
	if err != nil {
		return nil, nil, err
	}
	web := &http.Server{Handler: edge.Handler(), ReadHeaderTimeout: time.Minute}
	s := &stack{listen: newPipes(), pool: pool}
	running, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- queues.Run(running) }()
	go func() {
		err := web.Serve(s.listen)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		ended <- err
	}()
	return s, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		err := errors.Join(web.Close(), pool.Close(ctx), shared.Close(ctx))
		stop()
		return errors.Join(err, <-ended, <-ended, conn.Close(ctx), server.Close())
	}, nil
}

// write puts a record into the topic of a standard queue, as a Topic API writer
// does.
func (s *stack) write(ctx context.Context, queue string, r codec.Record) error {
	return s.pool.Write(ctx, partition.Topic{Path: "/local/" + queue}, []partition.Message{{Record: r}})[0].Err
}

// connect returns a client of its own, and a function that cuts it off: its
// connections break and it makes no more.
func (s *stack) connect() (*sqs.Client, func()) {
	s.t.Helper()
	client, idle, cut := s.dial()
	s.t.Cleanup(idle)
	return client, cut
}

// dial is connect with a function that closes the connections at the end.
func (s *stack) dial() (client *sqs.Client, idle, cut func()) {
	var dead atomic.Bool
	var mu sync.Mutex
	var open []net.Conn
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		if dead.Load() {
			return nil, errors.New("cut off")
		}
		c, err := s.listen.dial(ctx)
		mu.Lock()
		defer mu.Unlock()
		open = append(open, c)
		return c, err
	}}
	client = sqs.New(sqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://gateway"),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient:  &http.Client{Transport: transport},
	})
	return client, transport.CloseIdleConnections, func() {
		dead.Store(true)
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			if c != nil {
				_ = c.Close() // that is the point
			}
		}
	}
}

// create makes a queue and returns its URL.
func (s *stack) create(name string, attributes map[string]string) string {
	s.t.Helper()
	if strings.HasSuffix(name, ".fifo") {
		all := map[string]string{"FifoQueue": "true"}
		for k, v := range attributes {
			all[k] = v
		}
		attributes = all
	}
	out, err := s.client.CreateQueue(s.t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	must(s.t, err)
	return *out.QueueUrl
}

// redrive is the attribute of a queue whose dead letters go to the named one.
func redrive(deadLetters string, most int) map[string]string {
	return map[string]string{
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:` + deadLetters + `","maxReceiveCount":` + strconv.Itoa(most) + `}`,
	}
}

func (s *stack) send(url string, bodies ...string) {
	s.t.Helper()
	for _, body := range bodies {
		_, err := s.client.SendMessage(s.t.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body})
		must(s.t, err)
	}
}

// sendGroup sends to a FIFO queue.
func (s *stack) sendGroup(url, group string, bodies ...string) {
	s.t.Helper()
	for _, body := range bodies {
		_, err := s.client.SendMessage(s.t.Context(), &sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: aws.String(group + "-" + body),
		})
		must(s.t, err)
	}
}

// counts are the queue's visible messages and those in flight.
func (s *stack) counts(url string) (visible, inFlight string) {
	s.t.Helper()
	out, err := s.client.GetQueueAttributes(s.t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	must(s.t, err)
	return out.Attributes["ApproximateNumberOfMessages"], out.Attributes["ApproximateNumberOfMessagesNotVisible"]
}

// expect compares the counts of a queue.
func (s *stack) expect(url, visible, inFlight string) {
	s.t.Helper()
	if v, f := s.counts(url); v != visible || f != inFlight {
		s.t.Errorf("%s has %s visible and %s in flight, want %s and %s", url, v, f, visible, inFlight)
	}
}

// drain receives and deletes until a wait of 20 s brings nothing.
func (s *stack) drain(url string) (bodies []string) {
	s.t.Helper()
	for {
		out, err := s.client.ReceiveMessage(s.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: 20})
		must(s.t, err)
		if len(out.Messages) == 0 {
			return bodies
		}
		for _, m := range out.Messages {
			bodies = append(bodies, *m.Body)
			_, err := s.client.DeleteMessage(s.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle})
			must(s.t, err)
		}
	}
}

// running is a Worker whose Run goes on.
type running struct {
	t      testing.TB
	worker *worker.Worker
	stop   context.CancelFunc
	result chan error
	log    *lines
}

// run starts a Worker; the client is the stack's unless given. It is stopped at
// the end of the test, where Run has to return nil unless end was called.
func (s *stack) run(o worker.Options) *running {
	s.t.Helper()
	if o.Client == nil {
		o.Client = s.client
	}
	r := &running{t: s.t, result: make(chan error, 1), log: &lines{}}
	o.Logger = slog.New(slog.NewTextHandler(io.MultiWriter(r.log, s.t.Output()), nil))
	var err error
	r.worker, err = worker.New(o)
	must(s.t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(s.t.Context()))
	r.stop = stop
	go func() { r.result <- r.worker.Run(ctx) }()
	s.t.Cleanup(func() {
		stop()
		must(s.t, r.worker.Close())
	})
	return r
}

// end stops the Worker and returns what Run has returned.
func (r *running) end() error {
	r.stop()
	return <-r.result
}

// lines is a log to look at.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// count is how many lines contain text.
func (l *lines) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.all.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// journal notes what handlers see, with the time since it was made.
type journal struct {
	mu    sync.Mutex
	start time.Time
	notes []note
}

type note struct {
	body  string
	count int
	at    time.Duration
}

func newJournal() *journal { return &journal{start: time.Now()} }

// add notes m and returns how often its body was seen.
func (j *journal) add(m worker.Message) (seen int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.notes = append(j.notes, note{m.Body, m.ReceiveCount, time.Since(j.start)})
	for _, n := range j.notes {
		if n.body == m.Body {
			seen++
		}
	}
	return seen
}

func (j *journal) all() []note {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]note(nil), j.notes...)
}

func (j *journal) bodies() string {
	var list []string
	for _, n := range j.all() {
		list = append(list, n.body)
	}
	return strings.Join(list, " ")
}

// pass lets time pass, or returns early with the cause of ctx.
func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *stack) pass(d time.Duration) {
	s.t.Helper()
	must(s.t, pass(s.t.Context(), d))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pipes is a listener in memory.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.accept <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }
