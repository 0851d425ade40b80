package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"

	"sqsgate/consumer/journal"
)

// Options of a Consumer.
type Options struct {
	Topics Ydb_Topic_V1.TopicServiceClient
	Scheme Ydb_Scheme_V1.SchemeServiceClient
	// Database is the absolute path of the database, "/local".
	Database string
	// StateRoot is the directory of the journals below the database; default "sqsgate".
	StateRoot string
	// Address is this gateway's internal address: reader_name of its read sessions.
	Address string
	// Sequence opens the writer of moves to a topic. Without it no message is moved,
	// whatever the redrive policies say, and MoveOut must not be called.
	Sequence func(topic, producer string) SequenceWriter
	// Resolve finds the queue of a target of MoveOut. sourceARN is where the message
	// came from, for TargetSources. False: there is no such queue (any more).
	Resolve func(target uint64, sourceARN string) (Destination, bool)
	// BodyCacheBytes bounds the bodies kept in memory, over all queues; default 128 MiB.
	BodyCacheBytes int64
	// MaxAnswerBytes bounds what the messages of one receive have together, as they
	// are returned; default 16 MiB.
	MaxAnswerBytes int64
	// SkipOversized deletes messages that have more by themselves. Without it they
	// go to the dead-letter queue of the redrive policy, where there is one.
	SkipOversized bool
	// Logger; nil discards.
	Logger *slog.Logger
	// Registerer of the metrics; nil keeps them unregistered.
	Registerer prometheus.Registerer
}

func (o Options) withDefaults() Options {
	if o.StateRoot == "" {
		o.StateRoot = "sqsgate"
	}
	if o.Address == "" {
		o.Address = "sqsgate"
	}
	if o.BodyCacheBytes == 0 {
		o.BodyCacheBytes = 128 << 20
	}
	if o.MaxAnswerBytes == 0 {
		o.MaxAnswerBytes = 16 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	if o.Topics == nil || o.Scheme == nil {
		return errors.New("consumer: no connection given")
	}
	if o.Database == "" {
		return errors.New("consumer: no database given")
	}
	if o.MaxAnswerBytes < 0 || o.BodyCacheBytes < 0 {
		return errors.New("consumer: a limit is negative")
	}
	return nil
}

// Consumer holds the shared consumers of all queues in use by this process.
type Consumer struct {
	opts    Options
	log     *slog.Logger
	metrics *metrics
	bodies  *budget

	mu     sync.RWMutex
	queues map[queueKey]*Queue
	topics map[string][]*Queue // by topic, for Wrote
	// dropping holds the queues that are being ended and their journals removed: a
	// queue made again under the name waits for it.
	dropping map[queueKey]chan struct{}
	ending   sync.WaitGroup // the goroutines of Forget
	// impatient: EndWaits was called.
	impatient bool
	closed    bool
}

type queueKey struct{ topic, consumer string }

// New makes a Consumer without queues. Close it.
func New(opts Options) (*Consumer, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	c := &Consumer{
		opts:   opts,
		log:    opts.Logger,
		bodies: &budget{limit: opts.BodyCacheBytes},
		queues: make(map[queueKey]*Queue),
		topics: make(map[string][]*Queue),

		dropping: make(map[queueKey]chan struct{}),
	}
	c.metrics = newMetrics(opts.Registerer, c.unserved)
	return c, nil
}

// unserved counts the partitions that are not served because of a failure.
func (c *Consumer) unserved() float64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	n := 0
	for _, q := range c.queues {
		n += q.broken()
	}
	return float64(n)
}

// Queue returns the shared consumer of a queue, opening it on first use. A Spec
// with other settings updates them; one with another incarnation ends the old.
func (c *Consumer) Queue(spec Spec) *Queue {
	key := queueKey{spec.Topic, spec.Consumer}
	c.mu.RLock()
	q := c.queues[key]
	c.mu.RUnlock()
	if q != nil && q.spec.Incarnation == spec.Incarnation {
		q.configure(spec.Settings)
		return q
	}
	c.mu.Lock()
	old := c.queues[key]
	if old != nil && old.spec.Incarnation == spec.Incarnation {
		c.mu.Unlock()
		old.configure(spec.Settings)
		return old
	}
	q = newQueue(c, spec)
	if c.closed {
		c.mu.Unlock()
		q.fail(ErrUnavailable)
		return q
	}
	if c.impatient {
		q.waits.close(nil)
	}
	c.forget(key)
	c.queues[key] = q
	c.topics[spec.Topic] = append(c.topics[spec.Topic], q)
	q.start(c.dropping[key])
	c.mu.Unlock()
	if old != nil {
		old.stop(ErrQueueGone)
	}
	return q
}

// forget takes a queue out of the maps. c.mu is held.
func (c *Consumer) forget(key queueKey) {
	delete(c.queues, key)
	// A new slice: Wrote reads the old one without the lock.
	var rest []*Queue
	for _, q := range c.topics[key.topic] {
		if q.spec.Consumer != key.consumer {
			rest = append(rest, q)
		}
	}
	if len(rest) == 0 {
		delete(c.topics, key.topic)
		return
	}
	c.topics[key.topic] = rest
}

// Forget ends the shared consumer of a queue that is not there any more, when it
// is open in that incarnation. It does not wait; what happens to the queue's
// journal is the business of whoever deleted it.
func (c *Consumer) Forget(topic, consumer string, incarnation uint64) {
	key := queueKey{topic, consumer}
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[key]
	if q == nil || q.spec.Incarnation != incarnation || c.dropping[key] != nil || c.closed {
		return
	}
	c.forget(key)
	done := make(chan struct{})
	c.dropping[key] = done
	c.ending.Go(func() {
		q.stop(ErrQueueGone)
		c.endDrop(key, done)
	})
}

func (c *Consumer) endDrop(key queueKey, done chan struct{}) {
	c.mu.Lock()
	delete(c.dropping, key)
	c.mu.Unlock()
	close(done)
}

// Abandon is Forget of a queue whose topic or consumer others have removed: its
// journal goes, too, unless the name has a queue of another incarnation by now. It does
// not wait.
func (c *Consumer) Abandon(topic, consumer string, incarnation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.ending.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
		defer cancel()
		if err := c.drop(ctx, queueKey{topic, consumer}, incarnation); err != nil {
			c.log.Warn("the journal of a queue that is gone could not be removed", slog.Any("error", err))
		}
	})
}

// abandonTimeout bounds the removal of a journal that nobody waits for.
const abandonTimeout = 10 * time.Second

// Drop ends the shared consumer of a deleted queue and removes its journal:
// waiting receives are answered with ErrQueueGone.
func (c *Consumer) Drop(ctx context.Context, topic, consumer string) error {
	return c.drop(ctx, queueKey{topic, consumer}, 0)
}

// drop is Drop; with an incarnation it leaves a queue of another one alone.
func (c *Consumer) drop(ctx context.Context, key queueKey, incarnation uint64) error {
	c.mu.Lock()
	for c.dropping[key] != nil {
		other := c.dropping[key]
		c.mu.Unlock()
		<-other
		c.mu.Lock()
	}
	q := c.queues[key]
	if q != nil && incarnation != 0 && q.spec.Incarnation != incarnation {
		c.mu.Unlock()
		return nil
	}
	c.forget(key)
	done := make(chan struct{})
	c.dropping[key] = done
	c.mu.Unlock()

	if q != nil {
		q.stop(ErrQueueGone)
	}
	err := journal.Remove(ctx, c.opts.Topics, c.journalPath(key.topic, key.consumer))

	c.endDrop(key, done)
	if err != nil {
		return fmt.Errorf("removing the journal of %s: %w", key.topic, err)
	}
	return nil
}

func (c *Consumer) journalPath(topic, consumer string) string {
	relative := strings.TrimPrefix(topic, c.opts.Database)
	return journal.Path(path.Join(c.opts.Database, c.opts.StateRoot), relative, consumer)
}

// Wrote notes that the message was acknowledged, so that a receive or count
// that follows sees it. It does not open a queue.
func (c *Consumer) Wrote(topic string, partition, offset int64) {
	c.mu.RLock()
	queues := c.topics[topic]
	c.mu.RUnlock()
	for _, q := range queues {
		q.wrote(partition, offset)
	}
}

// Ready tells why some partition in use is not served; nil when all are.
func (c *Consumer) Ready() error {
	c.mu.RLock()
	queues := make([]*Queue, 0, len(c.queues))
	for _, q := range c.queues {
		queues = append(queues, q)
	}
	c.mu.RUnlock()
	var errs []error
	for _, q := range queues {
		if err := q.trouble(); err != nil {
			errs = append(errs, fmt.Errorf("queue %s consumer %s: %w", q.spec.Topic, q.spec.Consumer, err))
		}
	}
	return errors.Join(errs...)
}

// EndWaits answers the receives that wait, and makes later ones answer at once:
// the process is about to stop.
func (c *Consumer) EndWaits() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.impatient = true
	for _, q := range c.queues {
		q.waits.close(nil)
	}
}

// Close ends every queue: calls that wait are answered, journals are flushed and
// get a snapshot, finished offsets are committed. Leases stand, for the next owner.
// It waits for all of it; what is not over when ctx ends is cut short.
func (c *Consumer) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	queues := c.queues
	c.queues = make(map[queueKey]*Queue)
	c.topics = make(map[string][]*Queue)
	c.mu.Unlock()

	done := make(chan struct{})
	for _, q := range queues {
		c.ending.Go(func() { q.stop(ErrUnavailable) })
	}
	go func() {
		c.ending.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		for _, q := range queues {
			q.cancel()
		}
		<-done
		return fmt.Errorf("closing the shared consumers: %w", ctx.Err())
	}
}

// budget bounds bytes that several shards share.
type budget struct {
	limit int64
	used  atomic.Int64
}

// take reserves n bytes, or says that there is no room.
func (b *budget) take(n int64) bool {
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	return true
}

func (b *budget) give(n int64) { b.used.Add(-n) }

// backOff is how long the n-th attempt (from 0) waits for its turn.
func backOff(n int) time.Duration {
	return min(50*time.Millisecond<<min(n, 6), 2*time.Second)
}

// pause waits for d, or returns false when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
