package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"sqsgate/codec"
	"sqsgate/consumer/journal"
	"sqsgate/consumer/lease"
	"sqsgate/internal/logread"
	"sqsgate/internal/ydbstatus"
)

const (
	appendTimeout = 5 * time.Second
	// commitDelay and commitBatch bound how far the server's committed offset may
	// be behind.
	commitDelay = time.Second
	commitBatch = 10_000
	// feedCredit bounds the bytes of messages under way to a shard.
	feedCredit = 4 << 20
	// aheadBytes and aheadMessages bound what is read before it is asked for, where
	// something is ready; the larger counts.
	aheadBytes    = 64 << 20
	aheadMessages = 32
	// maxRereads bounds the sessions that read bodies again, per shard.
	maxRereads = 4

	deduplicationWindow = 5 * time.Minute
	// movesPerMilli: the moves of a journal are numbered from the time of its first
	// owner on, ms << movesPerMilli. That is above all of an earlier journal of the
	// partition, which had fewer than 65,536 moves a millisecond.
	movesPerMilli = 16
)

// errSilent ends a tenure whose journal does not answer.
var errSilent = errors.New("the journal has not answered in time")

// tenure is one time of serving a partition: the state machine, the journal
// behind it and the feed before it. Its fields belong to the shard's goroutine.
type tenure struct {
	s       *shard
	id      int64
	ctx     context.Context // of this tenure; for its tasks
	tasks   sync.WaitGroup
	journal *journal.Log
	machine *lease.Machine
	source  source
	feed    *feed
	bodies  bodies
	rereads chan struct{}
	clock   int64 // the latest now, ms
	average int64 // bytes of a message
	items   []codec.Item
	events  []event

	// What waits to be durable stands in pending until the next append, then in
	// sealed until that append is acknowledged.
	pending, sealed batch
	ops             []lease.Op
	appending       bool
	appendedAt      int64
	barriers        []*barrier
	mover           mover
	moving          []*call // MoveOuts whose moves are not over
	elders          elders
	ended           bool // the partition was split and is loaded to its end
	heirs           []*heir
	// unborn: what was inherited is not durable. Until then the journal is kept from
	// where it begins, since the ancestors' part of it is still needed.
	unborn bool
	begin  int64

	snapshots snapshotPolicy
	commits   commitProgress
}

// batch is what becomes true with one append to the journal.
type batch struct {
	calls   []*call      // to answer
	moves   []move       // to carry out
	drained []lease.Hash // groups that the children need not hold any more
	moved   uint64       // moves up to this one are over
	asked   []asked      // children that asked which groups they must hold
	heirs   []*heir      // children that asked what they inherit
}

func (b *batch) reset() {
	clear(b.calls)
	*b = batch{calls: b.calls[:0], moves: b.moves[:0], drained: b.drained[:0]}
}

// tenure serves the partition until it is released (nil) or something fails.
func (s *shard) tenure(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	s.tenures++
	t := &tenure{
		s: s, id: s.tenures, ctx: ctx,
		bodies:  newBodies(s.q.c.bodies),
		rereads: make(chan struct{}, maxRereads),
		average: 1024,
	}
	t.mover.t = t
	s.ended.Store(false)
	t.source = s.q.source(s.partition)
	defer func() {
		cancel()
		if t.journal != nil {
			t.journal.Close()
		}
		t.tasks.Wait()
		t.bodies.clear()
		t.failAll()
	}()
	if err := t.open(ctx); err != nil {
		return err
	}
	s.trouble.Store(nil)
	s.serving.Store(true)
	// A change since the machine was made was told to those who served only.
	t.machine.Configure(t.now(), s.q.config())
	s.q.shardChanged()
	return t.loop(ctx)
}

// open takes the partition over: fence, replay, and the start of the feed.
func (t *tenure) open(ctx context.Context) error {
	s := t.s
	log, replay, err := journal.Open(ctx, journal.Options{
		Topics:    s.q.c.opts.Topics,
		Path:      s.q.journalTopic,
		Partition: s.partition % s.q.journalPartitions,
		Key:       s.q.journalKey(s.partition),
		Owner:     s.q.c.opts.Address,
		Acked:     func(a journal.Ack) { s.post(event{kind: eventAck, tenure: t.id, ack: a}) },
	})
	if err != nil {
		if ydbstatus.Is(err, Ydb.StatusIds_SCHEME_ERROR) {
			s.session.cancel() // the next one makes the journal again
		}
		return err
	}
	t.journal = log
	t.clock = replay.Wallclock
	if err := t.restore(replay); err != nil {
		return err
	}
	t.mover.begun = t.machine.LastMove()
	if err := t.checkAhead(ctx, replay); err != nil {
		return err
	}
	s.q.notePurge(s.partition, t.machine.PurgeMark())
	inherited := t.machine.Inherited()
	if committed := s.committed.Load(); committed > t.machine.Cursor() {
		// Somebody else finished these, or the journal is new to an old topic.
		t.input(t.now(), lease.Input{Kind: lease.Committed, Upto: committed})
	}
	if err := t.inherit(ctx); err != nil {
		return fmt.Errorf("inheriting deduplication ids: %w", err)
	}
	if t.unborn, t.begin = t.machine.Inherited() != inherited, replay.SnapshotOffset; !t.unborn {
		s.q.trims.set(s.partition, replay.SnapshotOffset)
	}
	t.snapshots.begin(replay, t.now())
	t.commits.session, t.commits.sent = s.partitionSession.Load(), s.committed.Load()
	if s.q.spec.FIFO {
		if err := t.loadDeduplication(ctx); err != nil {
			return err
		}
	}
	t.holdForElders()
	t.publish()
	t.feed = &feed{
		open: func(ctx context.Context, offset int64) (*logread.Reader, error) {
			return t.source(ctx, logread.Request{Offset: offset})
		},
		post: t.post,
		log:  s.log,
		next: t.machine.Cursor(),
	}
	t.tasks.Go(func() { t.feed.run(ctx) })
	return nil
}

// restore builds the machine from what the journal holds.
func (t *tenure) restore(replay journal.Replay) error {
	t.machine = lease.New(t.s.q.config())
	if err := replayInto(t.machine, replay); err != nil {
		return err
	}
	t.machine.Replayed(t.now())
	t.machine.MovesFrom(uint64(t.now()) << movesPerMilli)
	return nil
}

func replayInto(m *lease.Machine, replay journal.Replay) error {
	if replay.Snapshot != nil {
		if err := m.Restore(replay.Snapshot); err != nil {
			return fmt.Errorf("%w: snapshot: %w", journal.ErrDamaged, err)
		}
	}
	for _, op := range replay.Ops {
		if err := m.Apply(op); err != nil {
			return fmt.Errorf("%w: %w", journal.ErrDamaged, err)
		}
	}
	return nil
}

func (q *Queue) journalKey(partition int64) journal.Key {
	return journal.Key{Incarnation: q.spec.Incarnation, Partition: partition}
}

// checkAhead refuses a journal that knows of messages which the topic has not
// got: the end of the topic was lost.
func (t *tenure) checkAhead(ctx context.Context, replay journal.Replay) error {
	// The partition may be newer than what is known of the topic, its parents too.
	if err := t.s.q.refresh(ctx); err != nil {
		return err
	}
	end := t.s.q.end(t.s.partition)
	t.s.wrote(end - 1) // a first receive waits for what is there
	last := t.machine.Known()
	for _, op := range replay.Ops {
		switch op.Kind {
		case lease.OpLease, lease.OpDelete, lease.OpAttempt, lease.OpDuplicate:
			last = max(last, op.Offset+op.Count)
		case lease.OpVisible, lease.OpReturn, lease.OpMove, lease.OpDeadLetter, lease.OpUnmoved:
			last = max(last, op.Offset+1)
		case lease.OpPurge:
			last = max(last, op.Offset)
		case lease.OpMoved, lease.OpInherit, lease.OpElderDuplicate:
		}
	}
	if last > end {
		return fmt.Errorf("%w: it knows messages up to offset %d, the topic ends at %d", journal.ErrDamaged, last, end)
	}
	return nil
}

func (q *Queue) config() lease.Config {
	settings := q.settings.Load()
	return lease.Config{
		FIFO:                q.spec.FIFO,
		Delay:               settings.Delay.Milliseconds(),
		Retention:           settings.Retention.Milliseconds(),
		MaxReceives:         q.maxReceives(settings),
		DeadLetters:         settings.DeadLetterTarget,
		DeduplicationWindow: deduplicationWindow.Milliseconds(),
		MaxBytes:            q.c.opts.MaxAnswerBytes,
		MoveOversize:        !q.c.opts.SkipOversized,
	}
}

func (q *Queue) maxReceives(s *Settings) uint32 {
	if q.c.opts.Sequence == nil || s.DeadLetterTopic == "" {
		return 0
	}
	return uint32(s.MaxReceiveCount)
}

// post sends an event of this tenure's own tasks to the shard.
func (t *tenure) post(e event) {
	e.tenure = t.id
	t.s.post(e)
}

// now is the clock of the machine: it never runs backwards, not even behind an
// earlier owner's.
func (t *tenure) now() int64 {
	t.clock = max(t.clock, time.Now().UnixMilli())
	return t.clock
}

// loop handles events until the shard is released or the journal fails.
func (t *tenure) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	releasing := t.s.releasing
	for released := false; ; {
		select {
		case <-t.s.mailbox.wake:
		case <-timer.C:
		case <-releasing:
			released, releasing = true, nil
			t.snapshots.force()
		case <-ctx.Done():
			return ctx.Err()
		}
		now := t.now()
		if err := t.step(now); err != nil {
			return err
		}
		if t.appending && now-t.appendedAt > appendTimeout.Milliseconds() {
			return errSilent
		}
		if released && !t.appending && len(t.pending.calls) == 0 {
			t.commit(now, true)
			return nil
		}
		timer.Reset(t.wait(now))
	}
}

// step handles what is in the mailbox and what is due, and sends what came of it.
func (t *tenure) step(now int64) error {
	events := t.s.mailbox.take(t.events)
	for i := range events {
		if err := t.handle(now, &events[i]); err != nil {
			failCalls(events[i:])
			return err
		}
	}
	clear(events)
	t.events = events
	t.input(now, lease.Input{Kind: lease.Tick})
	t.publish()
	t.serveWaits(now)
	if err := t.flush(now); err != nil {
		return err
	}
	t.commit(now, false)
	t.read()
	t.publish()
	return nil
}

// publish tells the callers what they look at without asking.
func (t *tenure) publish() {
	cursor := t.machine.Cursor()
	t.s.cursor.Store(cursor)
	t.s.hasReady.Store(t.machine.Ready())
	if len(t.barriers) == 0 {
		return
	}
	full := t.want() == 0 // more will not be loaded soon
	rest := t.barriers[:0]
	for _, b := range t.barriers {
		if full || b.offset <= cursor {
			close(b.passed)
		} else {
			rest = append(rest, b)
		}
	}
	t.barriers = rest
}

// want is how many more messages should be loaded. Of large ones, which would not be
// kept, fewer lie ahead than the machine asks for.
func (t *tenure) want() int64 {
	want := int64(t.machine.Want())
	if want == 0 || !t.machine.Ready() || t.machine.MoveWaits() {
		return want
	}
	ahead := max(aheadMessages, aheadBytes/t.average)
	visible := int64(t.machine.Counts().Visible)
	if visible > ahead/2 {
		return 0
	}
	return min(want, ahead-visible)
}

// read grants the feed as much as the machine wants to load.
func (t *tenure) read() {
	want := min(t.want()*t.average, feedCredit)
	if outstanding := t.feed.outstanding(); want > 0 && outstanding <= want/2 {
		t.feed.grant(want - outstanding)
	}
}

// wait tells how long nothing is due, if no event comes.
func (t *tenure) wait(now int64) time.Duration {
	next := now + time.Hour.Milliseconds()
	if at, ok := t.machine.NextTimer(); ok {
		next = min(next, at)
	}
	if t.appending {
		next = min(next, t.appendedAt+appendTimeout.Milliseconds()+1)
	}
	if at, ok := t.commits.due(); ok {
		next = min(next, at)
	}
	if at, ok := t.snapshots.due(); ok && !t.appending { // else it goes with the next append
		next = min(next, at)
	}
	return time.Duration(max(0, next-time.Now().UnixMilli())) * time.Millisecond
}

// failAll answers what has no answer yet when the tenure ends.
func (t *tenure) failAll() {
	for _, c := range slices.Concat(t.sealed.calls, t.pending.calls, t.moving) {
		c.answer(ErrUnavailable)
	}
	for _, b := range t.barriers {
		close(b.passed)
	}
	for _, h := range slices.Concat(t.sealed.heirs, t.pending.heirs, t.heirs) {
		close(h.done)
	}
	t.heirs = nil
	t.sealed, t.pending, t.moving, t.barriers = batch{}, batch{}, nil, nil
}
