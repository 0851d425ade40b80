package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"sqsgate/consumer/journal"
	"sqsgate/consumer/lease"
	"sqsgate/internal/logread"
)

// ReceiveOwn is Receive from the partitions that are served here, as a gateway
// answers a peer: it waits for none that others own. The errors are Receive's.
func (q *Queue) ReceiveOwn(ctx context.Context, r ReceiveRequest) ([]Received, error) {
	shards := q.serving()
	if r.AttemptID != "" {
		got, err := q.repeat(ctx, shards, r)
		if err != nil || len(got) > 0 {
			return got, err
		}
	}
	return q.receiveNow(ctx, shards, r)
}

// Still is one tenure to be looked at while nothing moves in the bubble: its
// methods but Rebuilt belong between Park and the end of its channel.
type Still struct{ t *tenure }

// Park makes the tenure stand still until resume is closed. Called when all in the
// bubble is blocked, it stands where it is then. Behind the next synctest.Wait the
// function tells whether it does: not if it ended, or another began in its place.
func (s Still) Park(resume <-chan struct{}) (stands func() bool) {
	var parked atomic.Bool
	s.t.s.look(func(t *tenure) { // false: it has ended
		if t == s.t {
			parked.Store(true)
			<-resume
		}
	})
	return parked.Load
}

// Tenures are the queue's tenures that answer within ctx.
func (q *Queue) Tenures(ctx context.Context) []Still {
	var list []Still
	for _, s := range q.serving() {
		var still Still
		l, posted := s.look(func(t *tenure) { still.t = t })
		if !posted {
			continue
		}
		select {
		case <-l.done:
			if l.ok {
				list = append(list, still)
			}
		case <-ctx.Done():
			return list
		}
	}
	return list
}

// Serves tells whether the tenure goes on.
func (s Still) Serves() bool { return s.t.ctx.Err() == nil && s.t.s.serving.Load() }

// Partition is the one that is served.
func (s Still) Partition() int64 { return s.t.s.partition }

// Epoch is that of the tenure.
func (s Still) Epoch() int64 { return s.t.journal.Epoch() }

// Known is the offset behind the last message the machine knows of.
func (s Still) Known() int64 { return s.t.machine.Known() }

// Recount finds counters and lists that do not hold what they should.
func (s Still) Recount() error { return s.t.machine.Check() }

// Answers tells what is wrong about the answers that wait: what is not durable must
// not have been answered, and what is must have been.
func (s Still) Answers() error {
	t := s.t
	for _, b := range []*batch{&t.sealed, &t.pending} {
		for _, c := range b.calls {
			if c.state.Load() == callAnswered {
				return fmt.Errorf("a call with inputs %+v is answered, and not durable", c.inputs)
			}
		}
	}
	if n := len(t.sealed.calls); n > 0 && !t.appending {
		return fmt.Errorf("%d calls of a durable append are not answered", n)
	}
	return nil
}

// Frozen is what a machine holds that is durable.
type Frozen struct {
	digest    []byte
	counts    lease.Counts
	now       int64
	cursor    int64
	committed int64
	lastMove  uint64
}

func (f Frozen) String() string {
	return fmt.Sprintf("%+v cursor %d snapshot %x", f.counts, f.cursor, f.digest)
}

// Same tells whether clients cannot tell two machines apart.
func (f Frozen) Same(o Frozen) bool {
	return f.counts == o.counts && f.cursor == o.cursor && string(f.digest) == string(o.digest)
}

// Freeze returns what the machine holds; false while some of it is not durable.
func (s Still) Freeze() (Frozen, bool) {
	if s.t.appending {
		return Frozen{}, false
	}
	return freeze(s.t.machine, s.t.clock, s.t.s.committed.Load()), true
}

func freeze(m *lease.Machine, now, committed int64) Frozen {
	counts := m.Counts()
	counts.Unchecked = 0 // it counts from the beginning of a tenure
	return Frozen{digest: m.Snapshot(nil), counts: counts, now: now, cursor: m.Cursor(), committed: committed, lastMove: m.LastMove()}
}

// ErrNotRebuilt: something was in the way.
var ErrNotRebuilt = errors.New("not rebuilt")

// Rebuilt is what the next owner would make of the journal and the log, if it began
// when f was frozen; held is f made comparable with it.
func (s Still) Rebuilt(ctx context.Context, f Frozen) (held, rebuilt Frozen, err error) {
	q := s.t.s.q
	replay, _, err := journal.Look(ctx, q.c.opts.Topics, q.journalTopic, s.Partition()%q.journalPartitions, q.journalKey(s.Partition()))
	if err != nil {
		return f, rebuilt, fmt.Errorf("%w: %w", ErrNotRebuilt, err)
	}
	t := &tenure{
		s: s.t.s, ctx: ctx, clock: f.now, average: 1024, source: q.source(s.Partition()),
		bodies: newBodies(&budget{}), feed: &feed{}, machine: lease.New(q.config()),
	}
	defer t.bodies.clear()
	if err := replayInto(t.machine, replay); err != nil {
		return f, rebuilt, err
	}
	t.machine.Replayed(f.now)
	t.machine.MovesFrom(f.lastMove + 1)
	if f.committed > t.machine.Cursor() {
		t.input(f.now, lease.Input{Kind: lease.Committed, Upto: f.committed})
	}
	if q.spec.FIFO {
		if err := t.loadDeduplication(ctx); err != nil {
			return f, rebuilt, fmt.Errorf("%w: %w", ErrNotRebuilt, err)
		}
	}
	if err := t.loadUpto(ctx, f); err != nil {
		return f, rebuilt, fmt.Errorf("%w: %w", ErrNotRebuilt, err)
	}
	t.input(f.now, lease.Input{Kind: lease.Tick})
	rebuilt = freeze(t.machine, f.now, f.committed)
	last, ok, err := t.source.at(ctx, f.cursor-1)
	if err != nil {
		return f, rebuilt, fmt.Errorf("%w: %w", ErrNotRebuilt, err)
	}
	if ok {
		err = errors.Join(f.forget(q.config(), last.WriteTime), rebuilt.forget(q.config(), last.WriteTime))
	}
	return f, rebuilt, err
}

// forget drops what is known of ids that cannot matter to messages written from
// writeTime on: when a machine does depends on what it loads.
func (f *Frozen) forget(cfg lease.Config, writeTime int64) error {
	m := lease.New(cfg)
	if err := m.Restore(f.digest); err != nil {
		return err
	}
	m.Seen(lease.Hash{}, writeTime, 0)
	f.digest = m.Snapshot(nil)
	return nil
}

// loadUpto loads what the machine of f had loaded.
func (t *tenure) loadUpto(ctx context.Context, f Frozen) error {
	if t.machine.Cursor() >= f.cursor {
		return nil
	}
	reader, err := t.source(ctx, logread.Request{Offset: t.machine.Cursor(), Credit: 1 << 20})
	if err != nil {
		return err
	}
	defer reader.Close()
	start, _ := reader.Bounds()
	t.load(f.now, &event{start: start})
	for t.machine.Cursor() < f.cursor {
		messages, cost, err := reader.Read()
		if err != nil {
			return err
		}
		reader.Grant(cost)
		messages = slices.DeleteFunc(messages, func(m logread.Message) bool { return m.Offset >= f.cursor })
		t.load(f.now, &event{start: -1, messages: messages, cost: cost})
	}
	return nil
}
