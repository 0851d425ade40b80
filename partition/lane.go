package partition

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

const (
	maxRequestMessages = 1000
	maxRequestBytes    = 4 << 20
	// maxRequests is how many requests a lane has on the wire at most. While one
	// is, the next waits for worthMessages, or until the last was sent
	// requestGap ago: a server that answers within the gap gets few large
	// requests instead of many small ones, and one that is further away still
	// gets several at a time.
	maxRequests   = 4
	worthMessages = 256
	requestGap    = time.Millisecond
)

// lane is one write session of a partition, with its own producer id. The
// struct outlives the stream and the goroutine: both come with work and go
// after idling.
type lane struct {
	w      *writer
	prefix string // of the producer id
	part   span   // where the MD5 of the producer id lies
	wake   chan struct{}
	// progress is set when messages get their results from the server, and ends a
	// series of failures.
	progress atomic.Bool

	// drained says that the partition is inactive and the lane has handed over;
	// guarded by topic.mu.
	drained bool

	mu       sync.Mutex
	running  bool
	cancel   context.CancelCauseFunc
	queue    deque[*pending] // to be sent, those with a seqno again
	flight   deque[*pending] // on the wire, by seqno
	skipped  []*pending      // written before, offset not known yet
	requests deque[time.Time]
	bytes    int64 // of flight
	solo     int   // as many messages are sent one by one to find the one refused

	// The run goroutine alone:
	producer string
	seq      int64 // last assigned
}

func newLane(w *writer, prefix string, part span) *lane {
	return &lane{w: w, prefix: prefix, part: part, wake: make(chan struct{}, 1)}
}

// push queues messages and starts the lane when it rests. Their bytes are
// reserved. The caller holds topic.mu.
func (l *lane) push(items []*pending) {
	l.mu.Lock()
	for _, p := range items {
		l.queue.push(p)
	}
	if !l.running {
		l.running = true
		ctx, cancel := context.WithCancelCause(context.Background())
		l.cancel = cancel
		l.w.topic.pool.wg.Add(1)
		go l.run(ctx, cancel)
	}
	l.mu.Unlock()
	l.nudge()
}

func (l *lane) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// stop ends the lane; what is on its way gets err.
func (l *lane) stop(err error) {
	l.mu.Lock()
	if l.cancel != nil {
		l.cancel(err)
	}
	l.mu.Unlock()
}

func (l *lane) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running
}

// run serves the lane until it has nothing left.
func (l *lane) run(ctx context.Context, cancel context.CancelCauseFunc) {
	pool := l.w.topic.pool
	defer pool.wg.Done()
	defer cancel(nil)
	pool.metrics.lanes.Inc()
	defer pool.metrics.lanes.Dec()
	if pool.aborted() {
		cancel(ErrUnavailable)
	}
	if l.producer == "" {
		l.producer = producerID(l.prefix, l.part)
	}
	var b backoff
	for handed := false; ; {
		var err error
		seen := l.w.topic.known()
		if l.w.retiring.Load() {
			if err = l.drain(ctx); err == nil {
				handed = true
			}
		} else {
			err = l.session(ctx)
		}
		switch {
		case ctx.Err() != nil:
			l.fail(context.Cause(ctx))
			handed = true
		case err != nil:
			progress := l.progress.Swap(false)
			if progress {
				b.reset()
			}
			l.recover(ctx, err, seen, progress, &b)
		}
		if l.rest(handed) {
			return
		}
	}
}

// rest ends the run when nothing is left to do. A lane of a retiring writer must
// have handed over first.
func (l *lane) rest(handed bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.emptyLocked() || l.w.retiring.Load() && !handed {
		return false
	}
	l.running, l.cancel = false, nil
	return true
}

func (l *lane) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.emptyLocked()
}

func (l *lane) emptyLocked() bool {
	return l.queue.len() == 0 && l.flight.len() == 0 && len(l.skipped) == 0
}

// recover decides what a failed session means and pauses before the next. The
// session has made progress when anything was acknowledged in it.
func (l *lane) recover(ctx context.Context, err error, seen *Map, progress bool, b *backoff) {
	t := l.w.topic
	t.pool.metrics.reconnects.Inc()
	t.pool.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "write session ended",
		slog.String("topic", t.path), slog.Int64("partition", l.w.id), slog.String("producer", l.producer), slog.Any("error", err))
	switch classify(err) {
	case failureFatal:
		// After progress it is the session that has aged, such as its token.
		if !progress && l.refuse(err) {
			return
		}
	case failureBad:
		if l.refuse(err) {
			return
		}
	case failureOverloaded, failureGone:
		// A split partition and a missing one look alike from here. When the map
		// shows either, it has retired this writer or ended the topic.
		if _, err := t.refresh(ctx, seen); err == nil && l.w.retiring.Load() {
			return
		}
	case failureRetry:
	}
	b.pause(ctx, t.pool.abort)
}

// refuse handles a refused request. One message on the wire is the one meant
// and gets the error; of several, each is sent again alone to find it.
func (l *lane) refuse(err error) bool {
	err = fmt.Errorf("writing to %s: %w", l.w.topic.path, err)
	if isInit(err) {
		l.fail(err)
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flight.len() == 1 {
		l.finishLocked(l.flight.pop(), Result{Err: err})
		return true
	}
	l.solo = l.flight.len()
	return l.solo > 0
}

// take moves what may be sent now into one request; nil when nothing may.
func (l *lane) take() *Ydb_Topic.StreamWriteMessage_WriteRequest {
	o := &l.w.topic.pool.opts
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.requests.len(); n >= maxRequests || l.bytes >= o.MaxInFlightBytes || l.w.retiring.Load() {
		return nil
	} else if n > 0 && l.queue.len() < worthMessages && now.Sub(l.requests.at(n-1)) < requestGap {
		return nil
	}
	limit := min(l.queue.len(), maxRequestMessages)
	if l.solo > 0 {
		if l.flight.len() > 0 {
			return nil
		}
		limit = min(limit, 1)
	}
	var request *Ydb_Topic.StreamWriteMessage_WriteRequest
	bytes := int64(0)
	for l.queue.len() > 0 {
		p := l.queue.at(0)
		if !p.waiting() {
			l.w.release(l.queue.pop().size)
			continue
		}
		switch {
		case request == nil:
			request = &Ydb_Topic.StreamWriteMessage_WriteRequest{Codec: p.codec, Messages: make([]*messageData, 0, limit)}
		case len(request.Messages) >= limit, request.Codec != p.codec, bytes+p.size > maxRequestBytes:
			goto full
		}
		l.queue.pop()
		if p.seq == 0 {
			l.seq++
			p.seq, p.data.SeqNo = l.seq, l.seq
			p.floor, p.sent = l.w.acked.Load(), now
		}
		request.Messages = append(request.Messages, p.data)
		l.flight.push(p)
		bytes += p.size
	}
full:
	if request == nil {
		return nil
	}
	if l.solo > 0 {
		l.solo--
	}
	l.bytes += bytes
	l.requests.push(now)
	l.w.topic.pool.metrics.batch.Observe(float64(len(request.Messages)))
	return request
}

// acknowledge gives the oldest messages on the wire their results.
func (l *lane) acknowledge(response *Ydb_Topic.StreamWriteMessage_WriteResponse) error {
	m := l.w.topic.pool.metrics
	written, bytes := 0, 0
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.requests.len() == 0 {
		return fmt.Errorf("%w: nothing was asked", errProtocol)
	}
	m.latency.Observe(time.Since(l.requests.pop()).Seconds())
	for _, ack := range response.GetAcks() {
		if l.flight.len() == 0 || l.flight.at(0).seq != ack.GetSeqNo() {
			return fmt.Errorf("%w: unexpected seqno %d", errProtocol, ack.GetSeqNo())
		}
		w := ack.GetWritten()
		p := l.flight.pop()
		l.bytes -= p.size
		if w == nil {
			l.skipped = append(l.skipped, p)
			continue
		}
		l.w.raise(w.GetOffset())
		written++
		bytes += len(p.data.GetData())
		l.finishLocked(p, l.result(w.GetOffset()))
	}
	l.progress.Store(true)
	m.messages.Add(float64(written))
	m.bytes.Add(float64(bytes))
	if l.queue.len() > 0 || len(l.skipped) > 0 || l.flight.len() == 0 {
		l.nudge()
	}
	return nil
}

// gap returns how long to wait for news: until the next request may be sent, else
// until the lane counts as idle.
func (l *lane) gap() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := &l.w.topic.pool.opts
	if n := l.requests.len(); n > 0 && n < maxRequests && l.queue.len() > 0 &&
		l.bytes < o.MaxInFlightBytes && l.solo == 0 && !l.w.retiring.Load() {
		return max(requestGap-time.Since(l.requests.at(n-1)), requestGap/8)
	}
	return o.IdleTimeout
}

func (l *lane) result(offset int64) Result {
	return Result{Partition: l.w.id, Offset: offset, Depth: l.w.depth}
}

// finishLocked ends a message that is on no list of the lane any more.
func (l *lane) finishLocked(p *pending, r Result) {
	l.w.release(p.size)
	p.finish(r)
}

// fail ends everything on the lane.
func (l *lane) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range [][]*pending{l.skipped, l.flight.items(), l.queue.items()} {
		for _, p := range list {
			l.finishLocked(p, Result{Err: err})
		}
	}
	l.skipped = nil
	l.flight.set(nil)
	l.queue.set(nil)
	l.requests.set(nil)
	l.bytes, l.solo = 0, 0
}
