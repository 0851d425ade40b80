package worker

import (
	"context"
	"slices"
)

// group is the messages of one FIFO group that are here, in order. Only the
// first may be in a handler.
type group struct {
	id   string
	here []*delivery
}

// hands is what is here. A head is a message that could be in a handler: of a
// FIFO group the first, of a standard queue every one.
type hands struct {
	ready    []*delivery // heads without a handler, in order of arrival
	groups   map[string]*group
	heads    int // with those that receives under way may bring
	handlers int // running
	active   int // in handlers or being settled
	stopping bool
	changed  chan struct{} // closed and replaced when heads or active shrink
}

func (w *Worker) changedLocked() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// reserve waits until there is room, and takes it for a receive of up to n
// messages.
func (w *Worker) reserve(ctx context.Context) (n int, err error) {
	for {
		w.mu.Lock()
		room, batch := w.roomLocked()
		changed := w.changed
		if room > 0 {
			n = min(room, batch)
			w.heads += n
		}
		w.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// roomLocked is how many heads there is room for, and how many messages a receive
// may ask for. With messages kept ready, a receive waits until half of them are
// used up, so that it brings several.
func (w *Worker) roomLocked() (room, batch int) {
	q := w.state.Load()
	counted := q.maxReceives > 0 && w.opts.Prefetch <= 0 // a receive is a try
	ready := w.opts.Prefetch
	if ready == 0 && !counted {
		ready = defaultPrefetch
	}
	ready = max(ready, 0)
	room = w.opts.Concurrency + ready - w.heads
	if room < max(ready/2, 1) {
		return 0, 0
	}
	if counted && q.fifo {
		return room, 1
	}
	return room, maxBatch
}

// admit takes over what a receive has brought, and the room it had reserved. When
// the Worker stops, it gives the messages back.
func (w *Worker) admit(ctx context.Context, list []*delivery, reserved int) {
	fifo := w.state.Load().fifo
	w.mu.Lock()
	w.heads -= reserved
	stopping := w.stopping
	for _, d := range list {
		w.background.Go(func() { w.keep(ctx, d) })
		if stopping {
			d.stage = gone
			continue
		}
		w.addLocked(d, fifo)
	}
	w.startLocked(ctx)
	w.changedLocked()
	w.mu.Unlock()
	if stopping {
		w.giveBack(ctx, list)
	}
}

func (w *Worker) addLocked(d *delivery, fifo bool) {
	if fifo {
		g := w.groups[d.message.GroupID]
		if g == nil {
			g = &group{id: d.message.GroupID}
			w.groups[g.id] = g
		}
		d.group = g
		g.here = append(g.here, d)
		if len(g.here) > 1 {
			return
		}
	}
	w.heads++
	w.ready = append(w.ready, d)
}

// startLocked gives ready messages to handlers.
func (w *Worker) startLocked(ctx context.Context) {
	for w.handlers < w.opts.Concurrency && len(w.ready) > 0 && !w.stopping {
		d := w.ready[0]
		w.ready[0] = nil
		w.ready = w.ready[1:]
		handling, cancel := context.WithCancelCause(ctx)
		d.stage, d.cancel = running, cancel
		w.handlers++
		w.active++
		w.inHandlers[d] = struct{}{}
		w.metrics.handlers.Inc()
		go w.process(ctx, handling, d) // joined by Run through active
	}
}

// returned notes that the handler of d has returned.
func (w *Worker) returned(ctx context.Context, d *delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d.cancel(context.Canceled)
	delete(w.inHandlers, d)
	w.handlers--
	w.metrics.handlers.Dec()
	w.startLocked(ctx)
}

// settled lets the next of d's group go on.
func (w *Worker) settled(ctx context.Context, d *delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active--
	w.removeLocked(ctx, d)
}

// removeLocked forgets d. A head is followed by the next of its group.
func (w *Worker) removeLocked(ctx context.Context, d *delivery) {
	head := d.group == nil
	if g := d.group; g != nil {
		at := slices.Index(g.here, d)
		g.here = slices.Delete(g.here, at, at+1)
		switch {
		case len(g.here) == 0:
			delete(w.groups, g.id)
			head = true
		case at == 0:
			w.ready = append(w.ready, g.here[0])
		}
	}
	if d.stage == waiting {
		if at := slices.Index(w.ready, d); at >= 0 {
			w.ready = slices.Delete(w.ready, at, at+1)
		}
	}
	d.stage = gone
	if head {
		w.heads--
	}
	w.startLocked(ctx)
	w.changedLocked()
}

// followersLocked takes the messages behind d in its group that must not be
// handled, because d is not done. It does so once: what comes later has been
// delivered after d came back.
func (w *Worker) followersLocked(d *delivery) []*delivery {
	if d.group == nil || d.broken {
		return nil
	}
	d.broken = true
	at := slices.Index(d.group.here, d)
	followers := slices.Clone(d.group.here[at+1:])
	for _, f := range followers {
		f.stage = gone
	}
	clear(d.group.here[at+1:])
	d.group.here = d.group.here[:at+1]
	return followers
}

// halt ends the start of handlers and takes everything that waits for one.
func (w *Worker) halt() (left []*delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopping = true
	for _, g := range w.groups {
		if head := g.here[0]; head.stage == running {
			left = append(left, g.here[1:]...)
			clear(g.here[1:])
			g.here = g.here[:1]
			continue
		}
		left = append(left, g.here...)
		w.heads--
		delete(w.groups, g.id)
	}
	for _, d := range w.ready {
		if d.group == nil {
			left = append(left, d)
			w.heads--
		}
	}
	w.ready = nil
	for _, d := range left {
		d.stage = gone
	}
	return left
}

// cancelHandlers ends the contexts of all handlers.
func (w *Worker) cancelHandlers() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for d := range w.inHandlers {
		d.cancel(ErrStopping)
	}
}

// idle waits until no handler runs and everything is settled, and tells how many
// messages are not when ctx ends first.
func (w *Worker) idle(ctx context.Context) (left int) {
	for {
		w.mu.Lock()
		left = w.active
		changed := w.changed
		w.mu.Unlock()
		if left == 0 || ctx.Err() != nil {
			return left
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}
