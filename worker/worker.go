package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"sqsgate/codec"
)

const (
	// settleTimeout bounds what is left to do when the handlers have been
	// cancelled.
	settleTimeout = 5 * time.Second
	// fewReceivers is the default where a receive takes one message.
	fewReceivers = 4
)

// Worker handles the messages of one queue. Make it with New, run it once.
type Worker struct {
	opts    Options
	queue   string
	log     *slog.Logger
	metrics *metrics
	state   atomic.Pointer[queueState]
	deletes *batcher
	visible *batcher

	background sync.WaitGroup // goroutines that end with the calls' context

	mu sync.Mutex
	hands
	inHandlers map[*delivery]struct{}
	cancel     context.CancelFunc // of Run; nil before
	closed     bool
	done       chan struct{} // closed when Run has returned
}

// New returns a Worker that does nothing before Run. The error names the option
// that is wrong.
func New(o Options) (*Worker, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	w := &Worker{
		opts:       o,
		queue:      queueName(o.QueueURL),
		hands:      hands{groups: map[string]*group{}, changed: make(chan struct{})},
		inHandlers: map[*delivery]struct{}{},
		done:       make(chan struct{}),
	}
	w.log = o.Logger.With(slog.String("queue", w.queue))
	w.deletes, w.visible = newBatcher(w.deleteCall), newBatcher(w.visibilityCall)
	if o.Decode == nil {
		d, err := codec.NewDecoder(codec.DecoderOptions{})
		if err != nil {
			return nil, err
		}
		w.opts.Decode = d.Decode
	}
	var err error
	if w.metrics, err = newMetrics(o.Registerer, w.queue); err != nil {
		return nil, err
	}
	return w, nil
}

// Run handles messages until ctx ends or Close is called, then stops gracefully
// and returns nil. It returns an error when the queue is not there
// (types.QueueDoesNotExist), when SQS refuses to tell the queue's attributes at
// the start, or when handlers had to be left behind (ErrAbandoned). Everything
// else is tried again: an outage is logged and sat out.
func (w *Worker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := w.begin(cancel); err != nil {
		return err
	}
	defer close(w.done)
	if err := w.learn(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	calls, endCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer endCalls()
	for range senders(w.opts.Concurrency) {
		w.background.Go(func() { w.deletes.run(calls) })
		w.background.Go(func() { w.visible.run(calls) })
	}
	tasks, receiving := errgroup.WithContext(ctx)
	for range w.receivers() {
		tasks.Go(func() error { return w.receive(receiving, calls) })
	}
	tasks.Go(func() error { return w.refresh(receiving) })
	<-receiving.Done()

	patience := min(max(w.opts.StopTimeout, 0), maxLease)
	defer time.AfterFunc(patience, w.cancelHandlers).Stop()
	defer time.AfterFunc(patience+settleTimeout, endCalls).Stop()
	w.giveBack(calls, w.halt())
	err := tasks.Wait()
	left := w.idle(calls)
	endCalls()
	w.background.Wait()
	if left > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %d messages of %s", ErrAbandoned, left, w.queue))
	}
	return err
}

func (w *Worker) begin(cancel context.CancelFunc) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.cancel != nil {
		return ErrClosed
	}
	w.cancel = cancel
	return nil
}

func (w *Worker) receivers() int {
	q := w.state.Load()
	switch {
	case w.opts.Receivers > 0:
		return w.opts.Receivers
	case q.fifo && q.maxReceives > 0 && w.opts.Prefetch <= 0:
		return min(fewReceivers, w.opts.Concurrency)
	}
	return 1
}

// Close has Run stop and waits for it. It may be called more than once, and
// before Run, which then does nothing. A handler must not call it.
func (w *Worker) Close() error {
	w.mu.Lock()
	w.closed = true
	cancel := w.cancel
	w.mu.Unlock()
	if cancel != nil {
		cancel()
		<-w.done
	}
	return nil
}
