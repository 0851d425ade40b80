package partition

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/internal/logwrite"
)

// initError marks a session that was refused before it began.
type initError struct{ err error }

func (e *initError) Error() string { return "opening write session: " + e.err.Error() }
func (e *initError) Unwrap() error { return e.err }

func isInit(err error) bool {
	var e *initError
	return errors.As(err, &e)
}

// session writes over one stream until it breaks, or until nothing is left to
// write for a while. A nil error means the lane has nothing on the wire.
func (l *lane) session(ctx context.Context) error {
	if l.forgetAbandoned() {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, last, err := openStream(ctx, l.w.topic.pool.topics, l.w.topic.path, l.w.id, l.producer)
	if err != nil {
		return err
	}
	if err := l.settle(ctx, last); err != nil {
		return err
	}
	l.requeue()
	broken := make(chan error, 1)
	received := make(chan struct{})
	go func() {
		defer close(received)
		broken <- l.receive(stream)
	}()
	err = l.pump(ctx, stream, broken)
	cancel()
	<-received
	return err
}

// openStream begins a write session and returns the last seqno the server has of
// the producer. Its errors are marked as those of the beginning.
func openStream(ctx context.Context, topics Ydb_Topic_V1.TopicServiceClient, path string, partition int64, producer string) (Ydb_Topic_V1.TopicService_StreamWriteClient, int64, error) {
	stream, last, err := logwrite.Open(ctx, topics, path, partition, producer)
	if err != nil {
		return nil, 0, &initError{err}
	}
	return stream, last, nil
}

// pump sends until the stream breaks or the lane has idled.
func (l *lane) pump(ctx context.Context, stream Ydb_Topic_V1.TopicService_StreamWriteClient, broken <-chan error) error {
	pool := l.w.topic.pool
	closing := pool.closing
	idle := time.NewTimer(pool.opts.IdleTimeout)
	defer idle.Stop()
	for {
		if request := l.take(); request != nil {
			if err := stream.Send(&Ydb_Topic.StreamWriteMessage_FromClient{
				ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{WriteRequest: request},
			}); err != nil {
				if errors.Is(err, io.EOF) {
					return <-broken
				}
				return err
			}
			continue
		}
		if err := l.settleSkipped(ctx); err != nil {
			return err
		}
		if l.done() {
			return nil
		}
		idle.Reset(l.gap())
		select {
		case <-l.wake:
		case err := <-broken:
			return err
		case <-idle.C:
			if l.empty() {
				return nil
			}
		case <-closing:
			closing = nil // from now on done says when to end
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// done reports whether the session should end: the pool closes and everything is
// written, or the partition is inactive and nothing is on the wire.
func (l *lane) done() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w.retiring.Load() && l.flight.len() == 0 {
		return true
	}
	select {
	case <-l.w.topic.pool.closing:
		return l.emptyLocked()
	default:
		return false
	}
}

// receive takes acknowledgements until the stream ends, and returns why.
func (l *lane) receive(stream Ydb_Topic_V1.TopicService_StreamWriteClient) error {
	for {
		answer, err := logwrite.Receive(stream)
		if err != nil {
			return err
		}
		if response := answer.GetWriteResponse(); response != nil {
			if err := l.acknowledge(response); err != nil {
				return err
			}
		}
	}
}

// forgetAbandoned drops messages nobody waits for, on the wire or not, and
// reports whether the lane is empty. No stream may be open.
func (l *lane) forgetAbandoned() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	keep := func(list []*pending) []*pending {
		var kept []*pending
		for _, p := range list {
			if p.waiting() {
				kept = append(kept, p)
			} else {
				l.w.release(p.size)
			}
		}
		return kept
	}
	l.skipped = keep(l.skipped)
	l.flight.set(keep(l.flight.items()))
	l.queue.set(keep(l.queue.items()))
	l.requests.set(nil)
	l.bytes = 0
	return l.emptyLocked()
}

// settle uses the producer's last seqno to learn the outcome of what was on the
// wire when the last stream broke. The server orders a new session behind the
// accepted writes of the old one, so messages up to last are durable and later
// ones never will be.
func (l *lane) settle(ctx context.Context, last int64) error {
	l.seq = max(l.seq, last)
	l.mu.Lock()
	n := 0
	for n < l.flight.len() && l.flight.at(n).seq <= last {
		n++
	}
	for range n {
		l.skipped = append(l.skipped, l.flight.pop())
	}
	l.mu.Unlock()
	return l.settleSkipped(ctx)
}

// settleSkipped finds the offsets of messages that are durable without an
// acknowledgement that says where.
func (l *lane) settleSkipped(ctx context.Context) error {
	l.mu.Lock()
	items := slices.Clone(l.skipped)
	l.mu.Unlock()
	if len(items) == 0 {
		return nil
	}
	offsets, err := l.w.find(ctx, l.producer, items)
	if err != nil && repeatable(err) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress.Store(true)
	// Acknowledgements only ever append.
	l.skipped = l.skipped[len(items):]
	for i, p := range items {
		if err != nil || offsets[i] < 0 {
			l.finishLocked(p, Result{Err: fmt.Errorf("written to partition %d of %s, offset not found: %w", l.w.id, l.w.topic.path, ErrUnavailable)})
			continue
		}
		l.finishLocked(p, l.result(offsets[i]))
	}
	return nil
}

// requeue puts what was on the wire and is not durable in front of the queue.
func (l *lane) requeue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.set(append(slices.Clone(l.flight.items()), l.queue.items()...))
	l.flight.set(nil)
	l.requests.set(nil)
	l.bytes = 0
}
