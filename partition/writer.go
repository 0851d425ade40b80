package partition

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// spreadBytes is how much goes to one lane before messages without a group move
// on to the next. Few streams at a time make large requests; YDB still sees
// several producers within the five seconds it looks at before a split.
const spreadBytes = 128 << 10

// writer owns the lanes of one partition.
type writer struct {
	topic *topic
	id    int64
	span  span
	depth int
	lanes []*lane
	cuts  []position // first key of each lane

	limiter *rate.Limiter
	queued  atomic.Int64 // bytes from acceptance to result
	spreads atomic.Int64 // bytes placed without a group
	// acked is 1 + the highest acknowledged offset, at first the end of the
	// partition as it was described: new messages are not below.
	acked atomic.Int64

	retiring atomic.Bool
	// vanished says that the partition is not even listed any more.
	vanished atomic.Bool
}

func newWriter(t *topic, id int64, keys span, depth int, end int64) *writer {
	o := &t.pool.opts
	w := &writer{
		topic:   t,
		id:      id,
		span:    keys,
		depth:   depth,
		limiter: rate.NewLimiter(rate.Limit(o.FIFORate), o.FIFOBurst),
	}
	w.acked.Store(end)
	for i := range o.Lanes {
		part := keys.part(i, o.Lanes)
		prefix := fmt.Sprintf("sqsgate/%s/%d/%d/%d/", t.pool.process, t.incarnation, id, i)
		w.cuts = append(w.cuts, part.first)
		w.lanes = append(w.lanes, newLane(w, prefix, part))
	}
	return w
}

// laneFor returns the lane of a key of the partition.
func (w *writer) laneFor(key position) *lane {
	i := len(w.cuts) - 1
	for i > 0 && key.less(w.cuts[i]) {
		i--
	}
	return w.lanes[i]
}

// spread returns the lane for size bytes without a group.
func (w *writer) spread(size int64) *lane {
	at := w.spreads.Add(size) - size
	return w.lanes[at/spreadBytes%int64(len(w.lanes))]
}

// reserve takes size bytes of the queue; false when it is full. A message larger
// than the whole queue is taken when the queue is empty.
func (w *writer) reserve(size int64) bool {
	total := w.queued.Add(size)
	if total > w.topic.pool.opts.MaxQueuedBytes && total != size {
		w.queued.Add(-size)
		return false
	}
	return true
}

func (w *writer) release(size int64) { w.queued.Add(-size) }

// idle reports whether no lane runs.
func (w *writer) idle() bool {
	for _, l := range w.lanes {
		if l.busy() {
			return false
		}
	}
	return true
}

// raise notes the highest acknowledged offset.
func (w *writer) raise(offset int64) {
	for {
		old := w.acked.Load()
		if offset < old || w.acked.CompareAndSwap(old, offset+1) {
			return
		}
	}
}
