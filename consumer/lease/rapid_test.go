package lease_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sqsgate/consumer/lease"
)

// TestModel drives the machine and the naive model with the same inputs, on
// each kind of queue.
func TestModel(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		for _, retention := range []int64{0, 500} {
			for _, maxReceives := range []uint32{0, 1, 2} {
				cfg := lease.Config{FIFO: fifo, Retention: retention, MaxReceives: maxReceives}
				t.Run(fmt.Sprintf("fifo=%v,retention=%d,max_receives=%d", fifo, retention, maxReceives),
					func(t *testing.T) { checkModel(t, cfg) })
			}
		}
	}
}

func checkModel(t *testing.T, cfg lease.Config) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t, cfg)
		t.Repeat(map[string]func(*rapid.T){
			"load":       d.load,
			"load2":      d.load,
			"gap":        d.gap,
			"receive":    d.receive,
			"receive2":   d.receive,
			"delete":     d.delete,
			"visibility": d.visibility,
			"return":     d.giveBack,
			"purge":      d.purge,
			"tick":       d.tick,
			"wait":       d.wait,
			"moved":      d.moved,
			"move out":   d.moveOut,
			"unmovable":  d.unmovable,
			"hold":       d.hold,
			"ended":      d.ended,
			"configure":  d.configure,
			"forget":     d.forget,
			"snapshot":   d.snapshot,
			"restart":    d.restart,
			"":           d.check,
		})
	})
}

type driver struct {
	m       *lease.Machine
	q       *model
	now     int64
	write   int64 // of the last message
	commit  int64
	elders  []elderMessage
	left    []lease.Hash  // groups that are not drained, after the end
	eager   bool          // the present step follows a timer that is due at once
	log     []lease.Input // loads and gaps
	snap    []byte
	journal []lease.Op // since snap
}

func newDriver(t *rapid.T, cfg lease.Config) *driver {
	cfg.Delay = rapid.SampledFrom([]int64{0, 0, 30}).Draw(t, "delay")
	cfg.MaxInFlight = rapid.SampledFrom([]int{3, 1000}).Draw(t, "max_in_flight")
	cfg.Window, cfg.DeduplicationWindow = 1000, 100
	cfg.MaxBytes = rapid.SampledFrom([]int64{0, 640}).Draw(t, "max_bytes")
	cfg.MoveOversize = rapid.Bool().Draw(t, "move_oversize")
	d := &driver{m: lease.New(cfg), q: &model{cfg: cfg, attempts: map[lease.Hash]*try{}, effort: map[lease.Hash]int64{}}, now: 1000}
	d.snap = d.m.Snapshot(nil)
	if cfg.FIFO && rapid.Bool().Draw(t, "child") {
		d.inherit(t)
	}
	return d
}

// elderMessage is a message of partition 1, or of 3, which came from 1.
type elderMessage struct {
	partition int64
	lease.Message
}

// inherit lets the partition come from others, whose duplicates and purges the
// model has judged with all of their logs.
func (d *driver) inherit(t *rapid.T) {
	d.q.elders, d.q.marks = make(map[int64][]*message), make(map[int64]int64)
	write := rapid.Int64Range(700, 1000).Draw(t, "elder_from")
	estate := []lease.Elder{{Partition: 1}, {Partition: 3}}
	for i := range estate {
		e := &estate[i]
		for offset := range rapid.Int64Range(0, 6).Draw(t, "elder_messages") {
			write = min(1000, write+rapid.Int64Range(0, 90).Draw(t, "elder_age"))
			m := elderMessage{e.Partition, lease.Message{
				Offset: offset, WriteTime: write, Deduplication: hash(rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "elder_id")),
			}}
			if d.q.duplicate(m.Message) {
				e.Duplicates = append(e.Duplicates, lease.Duplicates{From: offset, To: offset + 1, At: write})
			} else {
				d.q.elders[e.Partition] = append(d.q.elders[e.Partition], &message{Message: m.Message})
			}
			d.elders = append(d.elders, m)
			e.Last = write
		}
	}
	// A purge comes after what was judged, and forgets the first partition first.
	estate[0].Purged = rapid.Int64Range(0, 6).Draw(t, "elder_purged")
	d.q.marks[1] = estate[0].Purged
	d.write = write
	d.step(t, lease.Input{Kind: lease.Inherit, Elders: estate})
	d.seenElders(0)
}

// seenElders reads the logs of the elders from a time on.
func (d *driver) seenElders(since int64) {
	for _, m := range d.elders {
		if m.WriteTime >= since {
			d.m.SeenElder(m.partition, m.Deduplication, m.WriteTime, m.Offset)
		}
	}
}

func (d *driver) forget(t *rapid.T) {
	partition := rapid.SampledFrom([]int64{1, 3}).Draw(t, "elder")
	in := lease.Input{Kind: lease.Forget, Partition: partition, Upto: rapid.Int64Range(0, 6).Draw(t, "upto")}
	if d.q.elders != nil {
		d.q.marks[partition] = max(d.q.marks[partition], in.Upto)
	}
	d.step(t, in)
}

// step does one input on both sides. Only requests have an outcome in the model.
func (d *driver) step(t *rapid.T, in lease.Input) {
	d.q.advance(d.now)
	var want lease.Outcome
	var again []*message
	switch in.Kind {
	case lease.Load:
		d.q.load(in.Message)
	case lease.Gap, lease.Committed:
		d.q.cursor = max(d.q.cursor, in.Upto)
	case lease.Repeat:
		want = lease.Done
		again = d.q.repeatable(in.AttemptID)
	case lease.Receive:
		want = lease.Done
		again = d.q.repeatable(in.AttemptID)
		if !d.q.cfg.FIFO && d.q.inFlight() >= d.q.cfg.MaxInFlight {
			want = lease.OverLimit
		}
	case lease.Delete:
		want = d.q.delete(in.Offset, in.Attempt)
	case lease.Visibility:
		want = d.q.visibility(in.Offset, in.Attempt, in.Visibility)
	case lease.Return:
		want = d.q.giveBack(in.Offset, in.Attempt)
	case lease.Purge:
		d.q.purge(in.Upto)
		want = lease.Done
	case lease.MoveOut:
		want = lease.Done
	case lease.Moved:
		d.q.moved(in.Sequence)
	case lease.Unmovable:
		d.q.unmovable(in.Offset, in.Visibility)
	case lease.Hold, lease.Release, lease.Free:
		d.q.hold(in)
	case lease.Tick, lease.Ended, lease.Inherit, lease.Forget:
	}
	effects := d.m.Step(d.now, in)
	d.journal = d.m.TakeOps(d.journal)
	d.follow(t, effects, in, want, again)
	if in.Kind == lease.Receive || in.Kind == lease.Tick {
		// A move uncovers expired messages to the retention pointer; one Tick more
		// takes them.
		if at, ok := d.m.NextTimer(); ok && at <= d.now {
			if d.eager {
				t.Fatalf("nothing is left to do, but the next timer is %d at %d", at, d.now)
			}
			d.eager = true
			d.step(t, lease.Input{Kind: lease.Tick})
		}
		d.eager = false
	}
}

// follow checks the effects of one step. Only requests have an outcome; again is
// what a receive must repeat.
func (d *driver) follow(t *rapid.T, effects []lease.Effect, in lease.Input, want lease.Outcome, again []*message) {
	answers, before := 0, d.q.sequence
	var deliveries []lease.Delivery
	var answer lease.Effect
	for _, e := range effects {
		switch e.Kind {
		case lease.Answer:
			answers++
			if e.Outcome != want {
				t.Fatalf("answer %+v to %+v, want outcome %d", e, in, want)
			}
			answer, deliveries = e, e.Deliveries
		case lease.Move:
		case lease.Oversize:
			if err := d.q.oversize(e); err != nil {
				t.Fatal(err)
			}
		case lease.Drained:
			i := slices.Index(d.left, e.Group)
			if i < 0 {
				t.Fatalf("group %q is drained, of %q", e.Group, d.left)
			}
			d.left = slices.Delete(d.left, i, i+1)
		}
	}
	if (answers == 1) != (want != 0) || answers > 1 {
		t.Fatalf("%d answers to %+v", answers, in)
	}
	// The messages that were moved came before those handed out, or between them;
	// a move may need the hand-out of what is before it in its group.
	var moves []lease.Effect
	for _, e := range effects {
		if e.Kind == lease.Move {
			moves = append(moves, e)
		}
	}
	follow := func() (err error) {
		for len(moves) > 0 && err == nil {
			if err = d.q.move(moves[0]); err == nil {
				moves = moves[1:]
			}
		}
		return err
	}
	_ = follow() // some may need this answer first
	switch {
	case in.Kind == lease.MoveOut:
		if err := errors.Join(follow(), d.q.moveOut(in, before, answer)); err != nil {
			t.Fatalf("moving out %+v: %v", in, err)
		}
	case again != nil || in.Kind == lease.Repeat:
		if err := d.q.repeat(again, in.Visibility, deliveries); err != nil {
			t.Fatalf("repeated receive %+v: %v", in, err)
		}
	case in.Kind == lease.Receive:
		if err := d.q.hand(in, deliveries); err != nil {
			t.Fatalf("receive %+v: %v", in, err)
		}
	}
	if err := follow(); err != nil {
		t.Fatal(err)
	}
}

func (d *driver) load(t *rapid.T) {
	if d.q.ended {
		return
	}
	for range rapid.IntRange(1, 4).Draw(t, "count") {
		// The log's clock is near ours and never goes back.
		d.write = max(d.write, d.now-rapid.Int64Range(0, 20).Draw(t, "age"))
		msg := lease.Message{
			Offset:        d.m.Cursor(),
			WriteTime:     d.write,
			Delay:         rapid.SampledFrom([]int64{-1, -1, 0, 40}).Draw(t, "delay"),
			Group:         hash(rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "group")),
			Deduplication: hash(rapid.SampledFrom([]string{"", "", "", "x", "y"}).Draw(t, "id")),
			Size:          rapid.SampledFrom([]int64{0, 0, 0, 10, 11, 320, 640, 641}).Draw(t, "size"),
			Immovable:     rapid.IntRange(0, 3).Draw(t, "immovable") == 0,
		}
		if rapid.IntRange(0, 5).Draw(t, "moved") == 0 {
			msg.SentTime = max(1, d.write-rapid.Int64Range(0, 600).Draw(t, "sent"))
		}
		in := lease.Input{Kind: lease.Load, Message: msg}
		d.log = append(d.log, in)
		d.step(t, in)
	}
}

func (d *driver) gap(t *rapid.T) {
	if d.q.ended {
		return
	}
	in := lease.Input{Kind: lease.Gap, Upto: d.m.Cursor() + rapid.SampledFrom([]int64{-1, 1, 70, 300}).Draw(t, "size")}
	d.log = append(d.log, in)
	d.step(t, in)
}

func (d *driver) receive(t *rapid.T) {
	d.step(t, lease.Input{
		Kind:       rapid.SampledFrom([]lease.Kind{lease.Receive, lease.Receive, lease.Receive, lease.Repeat}).Draw(t, "kind"),
		Max:        rapid.IntRange(1, 6).Draw(t, "max"),
		Visibility: rapid.SampledFrom([]int64{0, 5, 50, 50, 300, 400_000, 43_200_000}).Draw(t, "visibility"),
		AttemptID:  hash(rapid.SampledFrom([]string{"", "r1", "r2"}).Draw(t, "attempt")),
		Room:       rapid.SampledFrom([]int64{0, 0, 5, 640}).Draw(t, "room"),
	})
}

// handle draws an offset, mostly of a message that is there, and an attempt.
func (d *driver) handle(t *rapid.T) (offset int64, attempt uint32) {
	var alive []int64
	for _, m := range d.q.msgs {
		if !m.gone && m.receives > 0 {
			alive = append(alive, m.Offset)
		}
	}
	if len(alive) > 0 && rapid.IntRange(0, 9).Draw(t, "alive") > 0 {
		offset = rapid.SampledFrom(alive).Draw(t, "offset")
	} else {
		offset = rapid.Int64Range(0, d.q.cursor+2).Draw(t, "offset")
	}
	if m := d.q.find(offset); m != nil && rapid.IntRange(0, 9).Draw(t, "current") > 2 {
		return offset, m.receives
	}
	return offset, rapid.Uint32Range(0, 4).Draw(t, "attempt")
}

func (d *driver) delete(t *rapid.T) {
	offset, attempt := d.handle(t)
	d.step(t, lease.Input{Kind: lease.Delete, Offset: offset, Attempt: attempt})
}

func (d *driver) visibility(t *rapid.T) {
	offset, attempt := d.handle(t)
	ms := rapid.SampledFrom([]int64{0, 0, 20, 100, 43_200_000}).Draw(t, "ms")
	d.step(t, lease.Input{Kind: lease.Visibility, Offset: offset, Attempt: attempt, Visibility: ms})
}

func (d *driver) giveBack(t *rapid.T) {
	offset, attempt := d.handle(t)
	d.step(t, lease.Input{Kind: lease.Return, Offset: offset, Attempt: attempt})
}

func (d *driver) purge(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		t.Skip("purges are rare")
	}
	// The end of the log is never before the cursor. Standard queues have no
	// deduplication that a partial purge could split.
	size := rapid.SampledFrom([]int64{0, 1, 100}).Draw(t, "size")
	if !d.q.cfg.FIFO {
		size = rapid.SampledFrom([]int64{-5, -2, 0, 1}).Draw(t, "size")
	}
	upto := max(0, d.m.Cursor()+size)
	d.step(t, lease.Input{Kind: lease.Purge, Upto: upto})
}

func (d *driver) tick(t *rapid.T) { d.step(t, lease.Input{Kind: lease.Tick}) }

func (d *driver) wait(t *rapid.T) {
	if at, ok := d.m.NextTimer(); ok && rapid.Bool().Draw(t, "timer") {
		d.now = max(d.now, at)
		return
	}
	if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
		d.now += rapid.SampledFrom([]int64{150_000, 299_990, 300_000}).Draw(t, "jump")
	}
	d.now += rapid.Int64Range(0, 120).Draw(t, "ms")
}

func (d *driver) moved(t *rapid.T) {
	d.step(t, lease.Input{Kind: lease.Moved, Sequence: rapid.Uint64Range(0, d.q.sequence).Draw(t, "sequence")})
}

func (d *driver) moveOut(t *rapid.T) {
	d.step(t, lease.Input{Kind: lease.MoveOut, Max: rapid.IntRange(1, 4).Draw(t, "max"), Target: rapid.Uint64Range(1, 3).Draw(t, "target")})
}

func (d *driver) unmovable(t *rapid.T) {
	for _, m := range d.q.msgs {
		if m.move != 0 && rapid.Bool().Draw(t, "this") {
			ms := rapid.SampledFrom([]int64{0, 10, 60}).Draw(t, "ms")
			d.step(t, lease.Input{Kind: lease.Unmovable, Offset: m.Offset, Visibility: ms})
			return
		}
	}
}

func (d *driver) hold(t *rapid.T) {
	in := lease.Input{Kind: rapid.SampledFrom([]lease.Kind{lease.Hold, lease.Release, lease.Free, lease.Free}).Draw(t, "kind")}
	for _, g := range []string{"", "a", "b", "c", "d"} {
		if in.Kind != lease.Hold && rapid.Bool().Draw(t, "group") {
			in.Groups = append(in.Groups, hash(g))
		}
	}
	d.step(t, in)
}

// ended ends the log, until the next restart.
func (d *driver) ended(t *rapid.T) {
	if d.q.ended || rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		return
	}
	d.step(t, lease.Input{Kind: lease.Ended})
	d.q.ended = true
	d.left = d.m.Groups(nil)
}

func (d *driver) configure(t *rapid.T) {
	cfg := d.q.cfg
	cfg.Delay = rapid.SampledFrom([]int64{0, 30, 60}).Draw(t, "delay")
	if rapid.IntRange(0, 3).Draw(t, "redrive") == 0 {
		cfg.MaxReceives = rapid.SampledFrom([]uint32{0, 1, 2}).Draw(t, "max_receives")
		cfg.DeadLetters = rapid.SampledFrom([]uint64{0, 2, 9}).Draw(t, "dead_letters")
	}
	if cfg.Retention > 0 {
		// Only down: what is past its retention may be gone for good.
		cfg.Retention = max(100, cfg.Retention-50)
	}
	d.step(t, lease.Input{Kind: lease.Tick})
	d.q.configure(cfg)
	d.m.Configure(d.now, cfg)
}

func (d *driver) snapshot(*rapid.T) {
	d.snap = d.m.Snapshot(nil)
	d.journal = nil
}

// restart makes a new machine from the snapshot, the journal and the log.
func (d *driver) restart(t *rapid.T) {
	d.q.advance(d.now)
	d.m.Step(d.now, lease.Input{Kind: lease.Tick})
	before, cursor := d.m.Snapshot(nil), d.m.Cursor()

	m := lease.New(d.q.cfg)
	if err := m.Restore(d.snap); err != nil {
		t.Fatal(err)
	}
	for _, op := range d.journal {
		if err := m.Apply(op); err != nil {
			t.Fatal(err)
		}
	}
	if again := lease.New(d.q.cfg); again.Restore(m.Snapshot(nil)) != nil ||
		!bytes.Equal(again.Snapshot(nil), m.Snapshot(nil)) {
		t.Fatal("a snapshot taken before the messages are loaded does not restore")
	}
	m.Replayed(d.now)
	d.m = m
	d.q.restart()
	// The shell reads the log from the cursor on, and the deduplication ids of a
	// window before that or before now.
	first, since := m.Cursor(), d.write
	for _, in := range d.log {
		if in.Kind == lease.Load && in.Message.Offset >= first {
			since = min(since, in.Message.WriteTime)
			break
		}
	}
	since -= d.q.cfg.DeduplicationWindow
	d.seenElders(since)
	// Requests may come before all is loaded; those that find their messages in
	// the journal behave as if it were.
	early := rapid.IntRange(0, len(d.log)).Draw(t, "early")
	for i, in := range d.log {
		if i == early {
			d.handlesOnly(t)
		}
		if in.Kind == lease.Load && in.Message.Offset > m.Cursor() {
			t.Fatalf("cursor %d is before offset %d", m.Cursor(), in.Message.Offset)
		}
		if in.Kind == lease.Load && in.Message.Offset < first {
			if in.Message.WriteTime >= since {
				m.Seen(in.Message.Deduplication, in.Message.WriteTime, in.Message.Offset)
			}
			continue
		}
		effects := m.Step(d.now, in)
		d.follow(t, effects, in, 0, nil)
	}
	ops := m.TakeOps(nil)
	d.journal = append(d.journal, ops...)
	if m.Cursor() != cursor {
		t.Fatalf("cursor %d, before the restart %d", m.Cursor(), cursor)
	}
	if after := m.Snapshot(nil); early == len(d.log) && d.q.cfg.Retention == 0 && !bytes.Equal(before, after) {
		t.Fatalf("snapshot\n%x, before the restart\n%x", after, before)
	}
}

// handlesOnly does deletes and visibility changes in a half loaded machine. On
// FIFO queues a message that is not loaded can be told expired from its journal
// alone, and retention is not known; both sides agree while it is off.
func (d *driver) handlesOnly(t *rapid.T) {
	if d.q.cfg.Retention != 0 {
		return
	}
	for range rapid.IntRange(0, 3).Draw(t, "handles") {
		offset, attempt := d.handle(t)
		if m := d.q.find(offset); m == nil {
			continue
		}
		if rapid.IntRange(0, 3).Draw(t, "repeat") == 0 {
			id := hash(rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "attempt"))
			d.step(t, lease.Input{Kind: lease.Repeat, AttemptID: id, Visibility: 30})
		} else if rapid.Bool().Draw(t, "delete") {
			d.step(t, lease.Input{Kind: lease.Delete, Offset: offset, Attempt: attempt})
		} else {
			d.step(t, lease.Input{Kind: lease.Visibility, Offset: offset, Attempt: attempt, Visibility: 20})
		}
	}
}

// check compares what both sides show.
func (d *driver) check(t *rapid.T) {
	if err := d.m.Check(); err != nil {
		t.Fatal(err)
	}
	if got := d.m.CommitOffset(); !d.q.commit(got) || got < d.commit {
		t.Fatalf("commit offset %d, before %d", got, d.commit)
	}
	d.commit = d.m.CommitOffset()
	if got := d.m.Cursor(); got != d.q.cursor {
		t.Fatalf("cursor %d, want %d", got, d.q.cursor)
	}
	groups := d.m.Groups(nil)
	if err := d.q.groups(groups); err != nil {
		t.Fatal(err)
	}
	if d.q.ended && !slices.Equal(groups, d.left) {
		t.Fatalf("groups %q, not drained %q", groups, d.left)
	}
	if d.m.Finished() != (d.q.ended && d.m.CommitOffset() == d.m.Cursor()) {
		t.Fatalf("finished %v", d.m.Finished())
	}
	got := d.m.Counts()
	want, stale := d.q.counts()
	if got.Visible > want.Visible || got.Visible < want.Visible-stale {
		t.Fatalf("visible %d, want %d, of which %d may be gone", got.Visible, want.Visible, stale)
	}
	if want.Visible = got.Visible; got != want {
		t.Fatalf("counts %+v, want %+v", got, want)
	}
	if ready, sure := d.q.ready(); sure && d.m.Ready() != ready && (ready || stale == 0) {
		t.Fatalf("ready %v, want %v", !ready, ready)
	}
	at, ok := d.m.NextTimer()
	if next, due := d.q.next(); due && (!ok || at > max(next, d.q.now)) {
		t.Fatalf("next timer %d %v, want %d", at, ok, next)
	} else if !due && ok && at > d.q.now {
		t.Fatalf("next timer %d, want none", at)
	}
}
