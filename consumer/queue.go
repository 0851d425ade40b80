package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/consumer/journal"
	"sqsgate/internal/topicid"
	"sqsgate/internal/ydbstatus"
)

// prepareTimeout bounds the calls that come before a read session.
const prepareTimeout = 10 * time.Second

// Queue is the shared consumer of one queue: a read session, the shards of the
// partitions it was given, and the receives that wait.
type Queue struct {
	c    *Consumer
	log  *slog.Logger
	spec Spec // Settings aside, which are in settings

	settings atomic.Pointer[Settings]
	cancel   context.CancelFunc
	stopping chan struct{} // closed first on stop: shards end gracefully
	done     chan struct{} // closed when everything has ended
	stopOnce sync.Once

	journalTopic      string
	journalPartitions int64

	trims  *trims
	dedup  *deduplicator // FIFO queues only
	waits  waitList
	rotate atomic.Uint32

	mu         sync.Mutex
	shards     map[int64]*shard
	partitions topology        // of the topic; nil before the first describe
	purged     map[int64]int64 // up to where a partition served here was purged
	current    *session        // the read session; nil while there is none
	err        error           // why there is none
	final      error           // set when the queue has been stopped
	changed    chan struct{}   // closed and replaced when one of the above changes
}

func newQueue(c *Consumer, spec Spec) *Queue {
	q := &Queue{
		c:        c,
		log:      c.log.With(slog.String("topic", spec.Topic), slog.String("consumer", spec.Consumer)),
		spec:     spec,
		cancel:   func() {},
		stopping: make(chan struct{}),
		done:     make(chan struct{}),
		shards:   make(map[int64]*shard),
		purged:   make(map[int64]int64),
		changed:  make(chan struct{}),
	}
	q.journalTopic = c.journalPath(spec.Topic, spec.Consumer)
	q.trims = newTrims()
	q.dedup = newDeduplicator(deduplicationCapacity)
	settings := spec.Settings
	q.settings.Store(&settings)
	return q
}

// start runs the queue until stop; it begins once after, if any, is closed.
func (q *Queue) start(after <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	q.cancel = cancel
	go func() {
		defer close(q.done)
		defer cancel()
		if after != nil {
			<-after
		}
		q.run(ctx)
	}()
}

// stop ends the queue gracefully: every call that waits is answered with final,
// journals get their snapshots. It returns when everything has ended; what does
// not end by itself is cut short.
func (q *Queue) stop(final error) {
	q.stopOnce.Do(func() {
		q.fail(final)
		close(q.stopping)
	})
	t := time.NewTimer(releaseTimeout + 2*drainTimeout)
	defer t.Stop()
	select {
	case <-q.done:
	case <-t.C:
		q.cancel()
		<-q.done
	}
}

// fail ends what waits with final, and everything that comes after.
func (q *Queue) fail(final error) {
	q.mu.Lock()
	q.final = final
	q.notify()
	q.mu.Unlock()
	q.waits.close(final)
}

// run keeps a read session open until the queue is stopped.
func (q *Queue) run(ctx context.Context) {
	missing := 0
	for attempt := 0; ; attempt++ {
		opened, err := q.session(ctx)
		if opened {
			attempt = 0
		}
		select {
		case <-q.stopping:
			return
		case <-ctx.Done():
			return
		default:
		}
		gone := isGone(err)
		if gone {
			missing++
		} else {
			missing = 0
		}
		if err != nil && missing < 2 {
			q.log.Warn("read session ended", slog.Any("error", err), slog.Int("attempt", attempt))
		}
		q.setError(err)
		if gone {
			q.waits.answerAll(ErrQueueGone)
		}
		if missing == maxMissing {
			q.log.Warn("queue is given up: it is not there", slog.Any("error", err))
			q.c.Forget(q.spec.Topic, q.spec.Consumer, q.spec.Incarnation)
			return
		}
		if !q.pauseOrStop(ctx, attempt) {
			return
		}
	}
}

// maxMissing is how often a topic or consumer is looked for in vain before the queue
// ends: about a minute. Who asks for it again opens it again.
const maxMissing = 30

// errAnotherTopic: the topic was made again since the queue was opened.
var errAnotherTopic = errors.New("there is another topic at the path")

// isGone tells that the topic or the consumer of the queue does not exist (any more).
func isGone(err error) bool {
	return ydbstatus.Missing(err) || errors.Is(err, errAnotherTopic)
}

// checkTopic makes sure that the topic is the one the queue was opened for. A read
// session that is open by then ends when another one takes its place.
func (q *Queue) checkTopic(ctx context.Context) error {
	if q.spec.TopicCreated == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	resp, err := q.c.opts.Topics.DescribeTopic(ctx, &Ydb_Topic.DescribeTopicRequest{Path: q.spec.Topic})
	var result Ydb_Topic.DescribeTopicResult
	if err := ydbstatus.Operation(resp.GetOperation(), err, &result); err != nil {
		return fmt.Errorf("describing %s: %w", q.spec.Topic, err)
	}
	if !topicid.Same(q.spec.TopicCreated, topicid.Of(result.GetSelf())) {
		return errAnotherTopic
	}
	return nil
}

// pauseOrStop waits before the next attempt; false = the queue ends.
func (q *Queue) pauseOrStop(ctx context.Context, attempt int) bool {
	t := time.NewTimer(backOff(attempt))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-q.stopping:
	case <-ctx.Done():
	}
	return false
}

// prepare learns the partitions of the data topic and makes the journal topic.
func (q *Queue) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	q.mu.Lock()
	q.partitions = nil // the topic may be another one
	clear(q.purged)
	q.mu.Unlock()
	if err := q.refresh(ctx); err != nil {
		return err
	}
	n, err := journal.Ensure(ctx, q.c.opts.Topics, q.c.opts.Scheme, q.journalTopic)
	if err != nil {
		return err
	}
	q.journalPartitions = n
	return nil
}

// configure takes new settings over.
func (q *Queue) configure(s Settings) {
	if *q.settings.Load() == s {
		return
	}
	changed := s // s itself stays off the heap where nothing has changed
	q.settings.Store(&changed)
	for _, sh := range q.serving() {
		sh.post(event{kind: eventConfigure})
	}
}

// notify wakes who waits for a change of state. q.mu is held.
func (q *Queue) notify() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// opened notes that the server has accepted a read session.
func (q *Queue) opened(s *session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.current, q.err = s, nil
	q.notify()
}

func (q *Queue) setError(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = err
	q.notify()
}

// missing tells whether the read session failed because the queue is not there.
func (q *Queue) missing() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return isGone(q.err)
}

// shardChanged is called by shards when they begin or cease to serve.
func (q *Queue) shardChanged() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.notify()
}

// serving lists the shards that serve now, lowest partition first.
func (q *Queue) serving() []*shard {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.servingLocked()
}

func (q *Queue) servingLocked() []*shard {
	list := make([]*shard, 0, len(q.shards))
	for _, s := range q.shards {
		if s.serving.Load() {
			list = append(list, s)
		}
	}
	sortShards(list)
	return list
}

// ready waits until every partition of the queue is served or known to be broken
// and returns those that are served. It fails with ErrQueueGone, or with
// ErrUnavailable when ctx ends first or no partition is served.
func (q *Queue) ready(ctx context.Context) ([]*shard, error) {
	for {
		q.mu.Lock()
		final, sessionErr, changed := q.final, q.err, q.changed
		settled := q.settled()
		list := q.servingLocked()
		q.mu.Unlock()
		switch {
		case final != nil:
			return nil, final
		case isGone(sessionErr):
			return nil, ErrQueueGone
		case settled && len(list) > 0:
			return list, nil
		case settled:
			return nil, ErrUnavailable
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, q.trouble())
		}
	}
}

// shard waits for the shard of one partition. A partition that the topic does
// not have is ErrHandle.
func (q *Queue) shard(ctx context.Context, partition int64) (*shard, error) {
	q.mu.Lock()
	s := q.shards[partition]
	q.mu.Unlock()
	if s != nil && s.serving.Load() {
		return s, nil
	}
	list, err := q.ready(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if s.partition == partition {
			return s, nil
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, known := q.partitions[partition]; !known {
		return nil, ErrHandle
	}
	return nil, ErrUnavailable
}

// broken counts the partitions that are not served because of a failure.
func (q *Queue) broken() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, s := range q.shards {
		if s.broken() != nil {
			n++
		}
	}
	return n
}

// trouble tells what keeps the queue from being served; nil when nothing does.
func (q *Queue) trouble() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	errs := []error{q.final, q.err}
	for _, s := range q.shards {
		errs = append(errs, s.broken())
	}
	return errors.Join(errs...)
}

func (q *Queue) wrote(partition, offset int64) {
	q.mu.Lock()
	s := q.shards[partition]
	current := q.current
	q.mu.Unlock()
	switch {
	case s != nil:
		s.wrote(offset)
	case current != nil:
		current.look() // a partition that is new to us
	}
}
