package consumer

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sqsgate/consumer/journal"
	"sqsgate/consumer/lease"
)

const (
	// releaseTimeout bounds a graceful end of a shard.
	releaseTimeout = 5 * time.Second
	// damagedRetry is how often a partition whose journal is damaged is tried again.
	damagedRetry = 30 * time.Second
)

// shard serves one partition for as long as the read session holds it. Each
// attempt to do so is a tenure: it begins with a fence and ends with the first
// failure of the journal.
type shard struct {
	q                *Queue
	session          *session
	partition        int64
	partitionSession atomic.Int64 // noSession for an adopted child
	log              *slog.Logger
	mailbox          mailbox

	start       func() // call it once
	cancel      context.CancelFunc
	releasing   chan struct{}
	releaseOnce sync.Once
	done        chan struct{}
	tenures     int64

	serving atomic.Bool
	trouble atomic.Pointer[error]
	// committed is the offset the server has confirmed.
	committed atomic.Int64
	// cursor is the offset of the next message to load.
	cursor atomic.Int64
	// ended: the partition was split, and all its messages are loaded.
	ended atomic.Bool
	// hasReady tells that a receive would find a message now.
	hasReady atomic.Bool
	// written is the offset behind the last message this process saw acknowledged.
	written atomic.Int64
	// lag is how many records of others follow what the partition needs of the
	// journal, where it keeps that from being trimmed.
	lag atomic.Int64
}

func newShard(ctx context.Context, s *session, partition, partitionSession int64) *shard {
	ctx, cancel := context.WithCancel(ctx)
	sh := &shard{
		q: s.q, session: s, partition: partition,
		log:       s.q.log.With(slog.Int64("partition", partition)),
		mailbox:   newMailbox(),
		cancel:    cancel,
		releasing: make(chan struct{}),
		done:      make(chan struct{}),
	}
	sh.partitionSession.Store(partitionSession)
	s.q.trims.begin(partition)
	sh.start = func() { sh.serve(ctx) }
	return sh
}

// serve runs the shard until it is released or aborted.
func (s *shard) serve(ctx context.Context) {
	s.session.tasks.Go(func() {
		defer close(s.done)
		defer s.cancel()
		s.run(ctx)
	})
}

func (s *shard) run(ctx context.Context) {
	for attempt := 0; ; attempt++ {
		began := time.Now()
		err := s.tenure(ctx)
		s.serving.Store(false)
		s.hasReady.Store(false)
		if err == nil || ctx.Err() != nil || s.released() {
			break
		}
		s.trouble.Store(&err)
		s.q.shardChanged()
		s.q.c.metrics.tenuresLost.Inc()
		s.log.Error("partition is not served", slog.Any("error", err), slog.Int("attempt", attempt))
		failCalls(s.mailbox.take(nil))
		wait := backOff(attempt)
		if errors.Is(err, journal.ErrDamaged) {
			wait = damagedRetry
		} else if time.Since(began) > time.Minute {
			attempt = 0
		}
		if !pause(ctx, wait) || !s.q.keep(ctx, s) {
			break
		}
	}
	s.q.shardChanged()
	failCalls(s.mailbox.close())
}

// failCalls answers the calls among events with ErrUnavailable.
func failCalls(events []event) {
	for _, e := range events {
		switch {
		case e.call != nil:
			e.call.answer(ErrUnavailable)
		case e.look != nil:
			close(e.look.done)
		case e.barrier != nil:
			close(e.barrier.passed)
		case e.heir != nil:
			close(e.heir.done)
		}
	}
}

// release ends the shard gracefully: what waits is answered, the journal gets a
// snapshot, the offset is committed. It waits for the end.
func (s *shard) release() {
	s.releaseOnce.Do(func() { close(s.releasing) })
	if s.serving.Load() {
		t := time.NewTimer(releaseTimeout)
		defer t.Stop()
		select {
		case <-s.done:
			return
		case <-t.C:
			s.log.Warn("partition was not released in time")
		}
	}
	s.abort()
}

func (s *shard) released() bool {
	select {
	case <-s.releasing:
		return true
	default:
		return false
	}
}

// abort ends the shard at once and waits for the end.
func (s *shard) abort() {
	s.cancel()
	<-s.done
}

// broken tells why the partition is not served; nil while it is, or is being
// opened for the first time.
func (s *shard) broken() error {
	if s.serving.Load() {
		return nil
	}
	if err := s.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *shard) post(e event) bool { return s.mailbox.put(e) }

// do sends a call and waits for its answer.
func (s *shard) do(ctx context.Context, c *call) error {
	if !s.post(event{kind: eventCall, call: c}) {
		return ErrUnavailable
	}
	return c.wait(ctx)
}

// giveBack ends the leases of messages that did not reach a client: kind is
// Visibility or Return.
func (s *shard) giveBack(kind lease.Kind, leased []lease.Delivery) {
	inputs := make([]lease.Input, len(leased))
	for i, d := range leased {
		inputs[i] = lease.Input{Kind: kind, Offset: d.Offset, Attempt: d.Receives}
	}
	// When it is refused the leases end by themselves.
	s.post(event{kind: eventCall, call: newCall(inputs...)})
}

// wrote notes that offset was acknowledged to a writer of this process.
func (s *shard) wrote(offset int64) {
	for {
		old := s.written.Load()
		if offset < old || s.written.CompareAndSwap(old, offset+1) {
			return
		}
	}
}

// barrier waits until the shard has loaded everything below offset.
type barrier struct {
	offset int64
	passed chan struct{}
}

// caughtUp returns a channel that is closed when everything this process saw
// acknowledged has been loaded; nil when that is so already.
func (s *shard) caughtUp() <-chan struct{} {
	if !s.behind() {
		return nil
	}
	b := &barrier{offset: s.written.Load(), passed: make(chan struct{})}
	if !s.post(event{kind: eventBarrier, barrier: b}) {
		return nil
	}
	return b.passed
}

// behind tells whether something this process saw acknowledged is not loaded.
func (s *shard) behind() bool { return s.cursor.Load() < s.written.Load() }
