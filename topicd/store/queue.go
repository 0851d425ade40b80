package store

import (
	"context"
	"sync"
)

// Op is one unit of the commit queue.
type Op interface {
	// Size is the number of payload bytes the op holds while it waits. Ops of
	// size 0 are small control writes: they pass even when the disk is full, as
	// commits and deletions are what frees space again.
	Size() int
	// Apply decides and writes into the batch. It is called once, by the
	// committer, in the order of Submit, and must not block.
	Apply(b *Batch)
	// Done is called once: with nil when all that Apply wrote is on disk;
	// with ErrDiskFull when Apply was not called; with ErrFailed or ErrClosed when
	// the outcome is unknown. It must not block.
	Done(err error)
}

// queue is the bounded line in front of the committer.
type queue struct {
	maxOps   int
	maxBytes int64
	ready    chan struct{} // holds a token when ops may be waiting

	mu     sync.Mutex
	ops    []Op
	bytes  int64
	closed bool
	space  chan struct{} // closed when ops were taken; nil while nobody waits
}

func newQueue(maxOps int, maxBytes int64) *queue {
	return &queue{maxOps: maxOps, maxBytes: maxBytes, ready: make(chan struct{}, 1)}
}

// put appends op, waiting for room. An op larger than the whole bound is
// taken when the queue is empty.
func (q *queue) put(ctx context.Context, stop <-chan struct{}, op Op) error {
	size := int64(op.Size())
	for {
		q.mu.Lock()
		if q.closed {
			q.mu.Unlock()
			return ErrClosed
		}
		if len(q.ops) == 0 || (len(q.ops) < q.maxOps && q.bytes+size <= q.maxBytes) {
			q.ops = append(q.ops, op)
			q.bytes += size
			q.mu.Unlock()
			select {
			case q.ready <- struct{}{}:
			default:
			}
			return nil
		}
		if q.space == nil {
			q.space = make(chan struct{})
		}
		space := q.space
		q.mu.Unlock()
		select {
		case <-space:
		case <-stop:
			return ErrFailed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take moves waiting ops into dst, up to about maxBytes of payload.
func (q *queue) take(dst []Op, maxBytes int64) (ops []Op, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, taken := 0, int64(0)
	for n < len(q.ops) && (n == 0 || taken < maxBytes) {
		taken += int64(q.ops[n].Size())
		n++
	}
	dst = append(dst, q.ops[:n]...)
	rest := copy(q.ops, q.ops[n:])
	clear(q.ops[rest:])
	q.ops = q.ops[:rest]
	q.bytes -= taken
	if q.space != nil && n > 0 {
		close(q.space)
		q.space = nil
	}
	if rest > 0 {
		select {
		case q.ready <- struct{}{}:
		default:
		}
	}
	return dst, q.closed && rest == 0
}

// close refuses further ops; those already in are still taken.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	if q.space != nil {
		close(q.space)
		q.space = nil
	}
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
}
