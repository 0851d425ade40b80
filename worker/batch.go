package worker

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	minSenders = 2
	maxSenders = 16
	// callTimeout bounds one call, the SDK's own repetitions included.
	callTimeout = 15 * time.Second
	queuedMost  = 100
)

// entry is one message of a batch call.
type entry struct {
	handle  string
	seconds int32 // of a visibility change
	result  chan error
	left    atomic.Bool // nobody waits for the result any more
}

// batcher makes batch calls of single changes.
type batcher struct {
	queued chan *entry
	// call returns the errors of the entries that failed, by their place.
	call func(ctx context.Context, batch []*entry) (failed map[string]*entryError, err error)
}

func newBatcher(call func(context.Context, []*entry) (map[string]*entryError, error)) *batcher {
	return &batcher{queued: make(chan *entry, queuedMost), call: call}
}

// senders is how many calls of one kind are under way at once. While they are,
// entries gather for the next: batches come by themselves, without a wait. So
// there are only as many as fill two batches each when all handlers return at once.
func senders(concurrency int) int {
	return min(max(concurrency/(2*maxBatch), minSenders), maxSenders)
}

// run sends what is queued until ctx ends.
func (b *batcher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-b.queued:
			if batch := b.gather(first); len(batch) > 0 {
				b.send(ctx, batch)
			}
		}
	}
}

// gather makes a batch of what is queued. An entry that was left is not sent: a
// renewal that comes too late would be of somebody else's lease, or of none.
func (b *batcher) gather(first *entry) []*entry {
	batch := make([]*entry, 0, maxBatch)
	for e := first; ; {
		if !e.left.Load() {
			batch = append(batch, e)
		}
		if len(batch) == maxBatch {
			return batch
		}
		select {
		case e = <-b.queued:
		default:
			return batch
		}
	}
}

func (b *batcher) send(ctx context.Context, batch []*entry) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	failed, err := b.call(ctx, batch)
	for i, e := range batch {
		result := err
		if f, ok := failed[strconv.Itoa(i)]; ok && err == nil {
			result = f
		}
		e.result <- result // has room
	}
}

// do makes one change and returns what became of it.
func (b *batcher) do(ctx context.Context, handle string, seconds int32) error {
	e := &entry{handle: handle, seconds: seconds, result: make(chan error, 1)}
	select {
	case b.queued <- e:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-e.result:
		return err
	case <-ctx.Done():
		e.left.Store(true)
		return ctx.Err()
	}
}
