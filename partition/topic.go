package partition

import (
	"sync"
	"sync/atomic"
	"time"
)

// topic is what the pool knows of one topic: the map and the writers.
type topic struct {
	pool        *Pool
	path        string
	incarnation uint64
	turn        atomic.Uint64 // spreads messages without a group
	used        atomic.Int64  // unix nanoseconds of the last use

	mu      sync.RWMutex
	dead    error // why the state is of no use any more
	current *Map  // nil before the first describe
	fetched time.Time
	ends    map[int64]int64 // end offset of each partition when the map was fetched
	pending *description    // the describe call under way
	writers map[int64]*writer
	// retiring holds writers of inactive partitions, oldest first, until all
	// their lanes have handed over.
	retiring []*writer
}

func newTopic(p *Pool, path string, incarnation uint64) *topic {
	t := &topic{pool: p, path: path, incarnation: incarnation, writers: make(map[int64]*writer)}
	t.used.Store(time.Now().UnixNano())
	return t
}

// place puts the waiting messages of a call on lanes.
func (t *topic) place(c *call) error {
	var own *writer // of the call's messages without a group
	var ownLane *lane
	var run []*pending // consecutive messages of one lane
	var runLane *lane
	flush := func() {
		if len(run) > 0 {
			runLane.push(run)
			run = run[:0]
		}
	}
	reopen := func(id int64) {
		flush()
		own = nil // the map may change now
		t.mu.RUnlock()
		t.open(id)
		t.mu.RLock()
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for i := 0; i < len(c.items); {
		if t.dead != nil {
			flush()
			return t.dead
		}
		item := &c.items[i]
		if !item.waiting() {
			i++
			continue
		}
		var w *writer
		var l *lane
		switch {
		case item.grouped:
			var id int64
			if w, l, id = t.route(item.key); w == nil {
				reopen(id)
				continue
			}
		case own == nil:
			id := t.spread()
			if w = t.writers[id]; w == nil {
				reopen(id)
				continue
			}
			own, ownLane = w, w.spread(c.size())
			l = ownLane
		default:
			w, l = own, ownLane
		}
		i++
		if !w.reserve(item.size) {
			item.finish(Result{Err: ErrOverloaded})
			continue
		}
		if l != runLane {
			flush()
			runLane = l
		}
		if run == nil {
			run = make([]*pending, 0, len(c.items))
		}
		run = append(run, item)
	}
	flush()
	return nil
}

// route finds the lane of a group. A nil writer means that the one of the
// partition must be opened first. The caller holds mu.
func (t *topic) route(key position) (*writer, *lane, int64) {
	for _, w := range t.retiring {
		if w.span.contains(key) {
			if l := w.laneFor(key); !l.drained {
				return w, l, w.id
			}
		}
	}
	id, _ := t.current.at(key)
	w := t.writers[id]
	if w == nil {
		return nil, nil, id
	}
	return w, w.laneFor(key), id
}

// spread picks the partition for messages without a group: in turn, but not one
// that is much further behind than its neighbour. The caller holds mu.
func (t *topic) spread() int64 {
	const much = 256 << 10
	active := t.current.Active()
	n := uint64(len(active))
	turn := t.turn.Add(1)
	id := active[turn%n]
	if n == 1 {
		return id
	}
	other := active[(turn+1)%n]
	if t.queued(id) > t.queued(other)+much {
		return other
	}
	return id
}

func (t *topic) queued(id int64) int64 {
	if w := t.writers[id]; w != nil {
		return w.queued.Load()
	}
	return 0
}

// open makes the writer of an active partition.
func (t *topic) open(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.openLocked(id)
}

func (t *topic) openLocked(id int64) *writer {
	if w := t.writers[id]; w != nil {
		return w
	}
	keys, ok := t.current.span(id)
	if !ok {
		return nil // the map has changed meanwhile
	}
	w := newWriter(t, id, keys, t.current.Depth(id), t.ends[id])
	t.writers[id] = w
	return w
}

// end stops the topic for good: messages on their way get err.
func (t *topic) end(err error) {
	t.pool.drop(t)
	t.mu.Lock()
	if t.dead == nil {
		t.dead = err
	}
	var lanes []*lane
	for _, w := range t.writers {
		lanes = append(lanes, w.lanes...)
	}
	for _, w := range t.retiring {
		lanes = append(lanes, w.lanes...)
	}
	if t.pending != nil {
		t.pending.cancel()
	}
	t.mu.Unlock()
	for _, l := range lanes {
		l.stop(err)
	}
}

// sweep drops unused writers and reports whether the topic itself is unused,
// which ends it.
func (t *topic) sweep(before time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, w := range t.writers {
		if w.idle() {
			delete(t.writers, id)
		}
	}
	if len(t.writers) > 0 || len(t.retiring) > 0 || t.pending != nil || t.used.Load() > before.UnixNano() {
		return false
	}
	if t.dead == nil {
		t.dead = errEvicted
	}
	return true
}
