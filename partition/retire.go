package partition

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
)

// retire has a writer hand its messages to the partitions that follow. known is
// false when the partition is not listed any more. The caller holds mu.
func (t *topic) retire(w *writer, known bool) {
	t.pool.opts.Logger.LogAttrs(context.Background(), slog.LevelInfo, "partition is inactive",
		slog.String("topic", t.path), slog.Int64("partition", w.id), slog.Bool("listed", known))
	w.vanished.Store(!known)
	w.retiring.Store(true)
	t.retiring = append(t.retiring, w)
	for _, l := range w.lanes {
		if l.busy() {
			l.nudge()
		} else {
			l.drained = true
		}
	}
	t.dismiss(w)
}

// dismiss drops a retiring writer once all its lanes have handed over. The
// caller holds mu.
func (t *topic) dismiss(w *writer) {
	for _, l := range w.lanes {
		if !l.drained {
			return
		}
	}
	t.retiring = slices.DeleteFunc(t.retiring, func(other *writer) bool { return other == w })
}

// drain hands the lane over to the partitions that follow: it learns the outcome
// of what was on the wire, then moves the rest.
func (l *lane) drain(ctx context.Context) error {
	l.forgetAbandoned()
	if l.w.vanished.Load() {
		l.failSent(fmt.Errorf("partition %d of %s: %w", l.w.id, l.w.topic.path, ErrTopicGone))
	}
	if err := l.settleSkipped(ctx); err != nil {
		return err
	}
	if err := l.settleEnded(ctx); err != nil {
		return err
	}
	l.requeue()
	return l.w.topic.handOver(l)
}

// settleEnded learns the outcome of what was on the wire by reading. Nothing is
// added to an inactive partition, so what is not in it was never written. No
// stream may be open.
func (l *lane) settleEnded(ctx context.Context) error {
	l.mu.Lock()
	items := slices.Clone(l.flight.items())
	l.mu.Unlock()
	if len(items) == 0 {
		return nil
	}
	offsets, err := l.w.find(ctx, l.producer, items)
	if err != nil {
		if !repeatable(err) {
			l.failSent(fmt.Errorf("%w: %w", ErrUnavailable, err))
			return nil
		}
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var rest []*pending
	for i, p := range items {
		if offsets[i] < 0 {
			rest = append(rest, p)
			continue
		}
		l.finishLocked(p, l.result(offsets[i]))
	}
	l.flight.set(rest)
	return nil
}

// failSent ends what was on the wire or is without an offset.
func (l *lane) failSent(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range [][]*pending{l.skipped, l.flight.items()} {
		for _, p := range list {
			l.finishLocked(p, Result{Err: err})
		}
	}
	l.skipped = nil
	l.flight.set(nil)
}

// handOver moves the lane's queue to the lanes its messages belong to now. No
// message can be placed meanwhile, so none overtakes.
func (t *topic) handOver(l *lane) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dead != nil {
		return t.dead
	}
	l.mu.Lock()
	items := l.queue.items()
	l.queue.set(nil)
	l.solo = 0
	l.mu.Unlock()
	l.drained = true

	moved := 0
	for _, p := range items {
		l.w.release(p.size)
		if !p.waiting() {
			continue
		}
		w, target, err := t.successor(p)
		if err != nil {
			p.finish(Result{Err: err})
			continue
		}
		p.renew()
		// The limit was passed once; what was accepted is not refused now.
		w.queued.Add(p.size)
		target.push([]*pending{p})
		moved++
	}
	t.pool.metrics.rerouted.Add(float64(moved))
	t.dismiss(l.w)
	return nil
}

// successor finds the lane of a message anew. The caller holds mu alone.
func (t *topic) successor(p *pending) (*writer, *lane, error) {
	if !p.grouped {
		w := t.openLocked(t.spread())
		if w == nil {
			return nil, nil, errNoSuccessor
		}
		return w, w.spread(p.size), nil
	}
	w, l, id := t.route(p.key)
	if w != nil {
		return w, l, nil
	}
	if w = t.openLocked(id); w == nil {
		return nil, nil, errNoSuccessor
	}
	return w, w.laneFor(p.key), nil
}

var errNoSuccessor = errors.New("no active partition follows")

// known returns the current map.
func (t *topic) known() *Map {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.current
}
