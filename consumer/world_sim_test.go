package consumer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/consumer"
	"sqsgate/internal/topicid"
	"sqsgate/internal/ydbstatus"
	"sqsgate/internal/ydbtopic"
	"sqsgate/partition"
	"sqsgate/topicd"
)

// world is one simulation: a topic server on a disk that can lose power, a few
// gateways and the clients of two queues, in a synctest bubble. Every choice
// comes from the seed; only the order in which goroutines run at one instant
// does not.
type world struct {
	t    *testing.T
	seed uint64
	plan plan
	h    *history

	fs      *vfs.MemFS
	control *topicd.Control
	server  *topicd.Server
	conn    atomic.Pointer[ydbtopic.Conn]

	queues   []*simQueue
	mu       sync.Mutex
	gateways []*gateway
	started  int
	crashes  atomic.Int32
}

// plan is what a seed decides on before anything happens.
type plan struct {
	partitions int64
	gateways   int
	bodyCache  int64
	duration   time.Duration
	pace       time.Duration // the longest pause of a client
	calm       time.Duration // the longest pause between two faults
	crashes    bool
	splits     bool
	tasks      bool // messages are moved out
	drops      bool // the dead-letter topics are dropped and made again
	remakes    bool // the queues are, too
}

func newPlan(rnd, more *rand.Rand) plan {
	p := plan{
		partitions: 1 + rnd.Int64N(2),
		gateways:   1 + rnd.IntN(3),
		bodyCache:  64 << 20,
		duration:   time.Duration(20+rnd.IntN(60)) * time.Second,
		pace:       time.Duration(200+rnd.IntN(1500)) * time.Millisecond,
		calm:       time.Duration(1+rnd.IntN(8)) * time.Second,
		crashes:    rnd.IntN(2) == 0,
		splits:     rnd.IntN(3) > 0,
	}
	if rnd.IntN(6) == 0 { // long enough for ids to be forgotten and old snapshots to be renewed
		p.duration, p.pace, p.calm = 20*time.Minute, 20*time.Second, time.Minute
	}
	if rnd.IntN(3) == 0 {
		p.bodyCache = 2 << 10 // most bodies are read again
	}
	p.tasks, p.drops, p.remakes = more.IntN(3) == 0, more.IntN(3) == 0, more.IntN(4) == 0
	return p
}

// simQueue is a queue with its dead-letter queue, from when it is made until it is
// deleted. One made again under the name is another simQueue.
type simQueue struct {
	name  string
	topic string
	dead  string // topic of the dead-letter queue
	fifo  bool
	spec  consumer.Spec // Retention aside
	// retention changes, ns.
	retention atomic.Int64
	born      moment
	// deleted is set before the topic is dropped.
	deleted atomic.Bool
	depth   map[int64]int // of partitions, by splits; set in the end
}

func (w *world) newQueue(name string, fifo bool, rnd *rand.Rand) *simQueue {
	q := &simQueue{name: name, topic: "/local/" + name, dead: "/local/dead-" + name, fifo: fifo}
	q.spec = consumer.Spec{Topic: q.topic, Consumer: shared, Incarnation: 7, FIFO: fifo}
	q.retention.Store(int64(4 * 24 * time.Hour))
	q.spec.Settings.SourceARN = "arn:aws:sqs:us-east-1:000000000000:" + name
	if rnd.IntN(3) == 0 {
		q.spec.Settings.Delay = time.Duration(1+rnd.IntN(5)) * time.Second
	}
	if rnd.IntN(2) == 0 {
		q.spec.Settings.MaxReceiveCount = 1 + rnd.IntN(4)
		q.spec.Settings.DeadLetterTopic, q.spec.Settings.DeadLetterConsumer = q.dead, shared
	}
	q.spec.Settings.DeduplicationPerGroup = fifo && rnd.IntN(3) == 0
	w.createTopic(q.topic, w.plan.partitions)
	q.spec.TopicCreated = w.identity(q.topic)
	w.createTopic(q.dead, 1)
	return q
}

// life is the queue that has the name of q now.
func (w *world) life(q *simQueue) *simQueue {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, now := range w.queues {
		if now.name == q.name {
			return now
		}
	}
	return q
}

// remake deletes a queue as gateways do, and makes it again.
func (w *world) remake(ctx context.Context, q *simQueue, rnd *rand.Rand) {
	q.depth = w.depths(q.topic)
	q.deleted.Store(true)
	resp, err := w.conn.Load().Topics().DropTopic(context.Background(), &Ydb_Topic.DropTopicRequest{Path: q.topic})
	if err := ydbstatus.Operation(resp.GetOperation(), err, nil); err != nil {
		w.t.Errorf("dropping %s: %v", q.topic, err)
	}
	by := rnd.IntN(len(w.gateways))
	for i, g := range w.gateways {
		g.pool.Forget(q.topic)
		switch {
		case i == by:
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			w.h.note("%s removes the journal of %s: %v", g.name, q.name, g.consumer.Drop(ctx, q.topic, shared))
			cancel()
		case rnd.IntN(2) == 0: // the others hear of it some time
			g.consumer.Forget(q.topic, shared, q.spec.Incarnation)
		}
	}
	next := &simQueue{name: q.name, topic: q.topic, dead: q.dead, fifo: q.fifo, spec: q.spec, born: w.h.moment()}
	next.retention.Store(q.retention.Load())
	next.spec.Incarnation++
	w.createTopic(q.topic, w.plan.partitions)
	next.spec.TopicCreated = w.identity(q.topic)
	w.h.retain(next, time.Duration(next.retention.Load()))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queues[slices.Index(w.queues, q)] = next
}

// identity tells the topic from a later one at the path.
func (w *world) identity(path string) string {
	for {
		resp, err := w.conn.Load().Topics().DescribeTopic(context.Background(), &Ydb_Topic.DescribeTopicRequest{Path: path})
		var result Ydb_Topic.DescribeTopicResult
		if ydbstatus.Operation(resp.GetOperation(), err, &result) == nil {
			return topicid.Of(result.GetSelf())
		}
		rest(context.Background(), time.Second)
	}
}

// depths tells how many splits each partition of a topic came from.
func (w *world) depths(topic string) map[int64]int {
	depth := make(map[int64]int)
	for _, p := range w.describe(topic) { // parents come first
		for _, parent := range p.GetParentPartitionIds() {
			depth[p.GetPartitionId()] = depth[parent] + 1
		}
	}
	return depth
}

// resolve finds the dead-letter queues, where messages are moved out to.
func (w *world) resolve(target uint64, _ string) (consumer.Destination, bool) {
	for _, name := range []string{"std", "fifo"} {
		if dead := "/local/dead-" + name; target == consumer.TargetOf(dead) {
			return consumer.Destination{Topic: dead, Consumer: shared}, true
		}
	}
	return consumer.Destination{}, false
}

// gateway is one process: a shared consumer and a pool of writers.
type gateway struct {
	name     string
	wire     *wire
	consumer *consumer.Consumer
	pool     *partition.Pool
}

func (g *gateway) queue(q *simQueue) *consumer.Queue {
	of := q.spec
	of.Settings.Retention = time.Duration(q.retention.Load())
	return g.consumer.Queue(of)
}

// moves writes dead letters through the pool.
type moves struct{ *partition.Sequence }

func (m moves) Write(ctx context.Context, messages []consumer.Numbered) error {
	list := make([]partition.Numbered, len(messages))
	for i, n := range messages {
		list[i] = partition.Numbered{Number: n.Number, Group: n.Group, Key: n.Key, Record: n.Record}
	}
	return m.Sequence.Write(ctx, list)
}

func newWorld(t *testing.T, seed uint64) *world {
	rnd := rand.New(rand.NewPCG(seed, 0))                                                 //nolint:gosec // not for security
	w := &world{t: t, seed: seed, plan: newPlan(rnd, rand.New(rand.NewPCG(seed, 1<<32))), //nolint:gosec // not for security
		h: newHistory(), fs: vfs.NewCrashableMem()}
	w.boot()
	w.queues = []*simQueue{w.newQueue("std", false, rnd), w.newQueue("fifo", true, rnd)}
	for _, q := range w.queues {
		w.h.note("queue %s: %+v", q.name, q.spec.Settings)
	}
	w.h.note("plan %+v", w.plan)
	for range w.plan.gateways {
		w.addGateway()
	}
	return w
}

// boot starts a topic server on the disk.
func (w *world) boot() {
	w.control = topicd.NewControl()
	server, err := topicd.New(topicd.Options{FS: w.fs, Control: w.control, MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	if err != nil {
		w.t.Fatalf("starting the topic server: %v", err)
	}
	w.server = server
	w.conn.Store(ydbtopic.InProcess("/local", server.Register))
}

func (w *world) shutDown() error {
	return errors.Join(w.conn.Load().Close(context.Background()), w.server.Close())
}

func (w *world) addGateway() {
	w.started++
	g := &gateway{name: fmt.Sprintf("gw%d", w.started)}
	g.wire = newWire(w.conn.Load, tap{w.h, g.name})
	var err error
	if g.pool, err = partition.New(partition.Options{Topics: g.wire.topics(), Lanes: 2, IdleTimeout: time.Hour}); err != nil {
		w.t.Fatal(err)
	}
	g.consumer, err = consumer.New(consumer.Options{
		Topics: g.wire.topics(), Scheme: g.wire.scheme(), Database: "/local",
		Address: g.name, BodyCacheBytes: w.plan.bodyCache, Logger: w.logger(g.name), Resolve: w.resolve,
		Sequence: func(topic, producer string) consumer.SequenceWriter {
			return moves{g.pool.Sequence(topic, producer)}
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	w.gateways = append(w.gateways, g)
	w.mu.Unlock()
	for _, q := range w.queues {
		g.queue(q)
	}
}

// logger writes to the history when one seed is replayed.
func (w *world) logger(name string) *slog.Logger {
	if *simSeed == 0 {
		return nil
	}
	return slog.New(slog.NewTextHandler(noteWriter{w.h}, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == "consumer" {
				return slog.Attr{}
			}
			return a
		},
	})).With(slog.String("gateway", name))
}

type noteWriter struct{ h *history }

func (n noteWriter) Write(line []byte) (int, error) {
	n.h.note("%s", bytes.TrimSpace(line))
	return len(line), nil
}

// all are the queues there are now.
func (w *world) all() []*simQueue {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.queues)
}

// pick chooses a gateway for a request.
func (w *world) pick(rnd *rand.Rand) (g *gateway, alone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gateways[rnd.IntN(len(w.gateways))], len(w.gateways) == 1
}

// take removes a gateway from those that clients see.
func (w *world) take(i int) *gateway {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.gateways[i]
	w.gateways = append(w.gateways[:i:i], w.gateways[i+1:]...)
	return g
}

// stop ends a gateway: gracefully, or as a killed process ends.
func (g *gateway) stop(graceful bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !graceful {
		g.wire.cut()
		cancel()
	}
	// Closing late is no failure: a stop that takes too long is cut short.
	late, cancelLate := context.WithTimeout(ctx, 10*time.Second)
	defer cancelLate()
	_ = g.consumer.Close(late)
	_ = g.pool.Close(late)
}

// crash cuts the power of the topic server. The gateways fall with it, or see
// only that their connections have ended.
func (w *world) crash(rnd *rand.Rand, gateways bool) {
	w.mu.Lock()
	all := append([]*gateway(nil), w.gateways...)
	w.mu.Unlock()
	// First no more answers pass, then comes the moment of the disk: so all that
	// was answered is on it.
	for _, g := range all {
		g.wire.cut()
	}
	disk := w.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rnd.IntN(101), RNG: rnd})
	_ = w.shutDown() // its disk is thrown away
	w.fs = disk
	w.crashes.Add(1)
	w.boot()
	if !gateways {
		for _, g := range all {
			g.wire.mend()
		}
		return
	}
	for range all {
		w.addGateway()
	}
	for range all {
		w.take(0).stop(false)
	}
}

func (w *world) createTopic(path string, partitions int64) {
	w.t.Helper()
	resp, err := w.conn.Load().Topics().CreateTopic(context.Background(), &Ydb_Topic.CreateTopicRequest{
		Path: path,
		PartitioningSettings: &Ydb_Topic.PartitioningSettings{
			MinActivePartitions: partitions, MaxActivePartitions: 6,
			AutoPartitioningSettings: &Ydb_Topic.AutoPartitioningSettings{
				Strategy: Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_SCALE_UP,
			},
		},
		Consumers: []*Ydb_Topic.Consumer{{Name: shared}},
	})
	if err := ydbstatus.Operation(resp.GetOperation(), err, nil); err != nil {
		w.t.Fatalf("creating %s: %v", path, err)
	}
}

// describe asks for the partitions of a topic until no fault is in the way.
func (w *world) describe(path string) []*Ydb_Topic.DescribeTopicResult_PartitionInfo {
	for {
		resp, err := w.conn.Load().Topics().DescribeTopic(context.Background(), &Ydb_Topic.DescribeTopicRequest{Path: path, IncludeStats: true})
		var result Ydb_Topic.DescribeTopicResult
		err = ydbstatus.Operation(resp.GetOperation(), err, &result)
		if err == nil {
			return result.GetPartitions()
		}
		w.h.note("describing %s: %v", path, err)
		rest(context.Background(), time.Second)
	}
}

// watch looks at the committed offsets of the queues every now and then.
func (w *world) watch(ctx context.Context) {
	for rest(ctx, 3*time.Second) {
		for _, q := range w.all() {
			server := int(w.crashes.Load())
			resp, err := w.conn.Load().Topics().DescribeConsumer(ctx, &Ydb_Topic.DescribeConsumerRequest{
				Path: q.topic, Consumer: shared, IncludeStats: true,
			})
			var result Ydb_Topic.DescribeConsumerResult
			if ydbstatus.Operation(resp.GetOperation(), err, &result) != nil || server != int(w.crashes.Load()) || q.deleted.Load() {
				continue
			}
			for _, p := range result.GetPartitions() {
				w.h.committed(q, server, p.GetPartitionId(), p.GetPartitionConsumerStats().GetCommittedOffset())
			}
		}
	}
}

// rest waits in virtual time, or returns false when ctx ends.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
