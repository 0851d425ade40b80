package lease_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sqsgate/consumer/lease"
)

// TestStories runs the scripts of testdata. Each command prints the effects and
// ops it caused. `now=` sets the clock from that command on.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &story{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return s.run(t, d)
		})
	})
}

type story struct {
	m    *lease.Machine
	cfg  lease.Config
	now  int64
	log  []lease.Message // everything loaded
	ops  []lease.Op      // everything emitted: the journal
	snap []byte
	tail int // ops before the snapshot
	out  strings.Builder
}

func (s *story) run(t *testing.T, d *datadriven.TestData) string {
	s.out.Reset()
	if d.HasArg("now") {
		s.now = s.int(t, d, "now", 0)
	}
	in := lease.Input{}
	switch d.Cmd {
	case "new":
		*s = story{now: s.int(t, d, "now", 0)}
		s.cfg = s.config(t, d)
		s.m = lease.New(s.cfg)
		return ""
	case "configure":
		s.cfg = s.config(t, d)
		s.m.Configure(s.now, s.cfg)
		return ""
	case "load":
		from, to := s.offsets(t, d.CmdArgs[0].Key)
		for o := from; o <= to; o++ {
			msg := s.message(t, d, o)
			s.log = append(s.log, msg)
			s.step(lease.Input{Kind: lease.Load, Message: msg})
		}
		return s.end()
	case "seen":
		s.m.Seen(hash(s.str(t, d, "d")), s.int(t, d, "write", s.now), s.pos(t, d, 0))
		return ""
	case "inherit": // elder purged=N duplicates=N last=N
		e := lease.Elder{Partition: s.pos(t, d, 0), Purged: s.int(t, d, "purged", 0), Last: s.int(t, d, "last", s.now)}
		if at := s.int(t, d, "duplicate", -1); at >= 0 {
			e.Duplicates = []lease.Duplicates{{From: at, To: at + 1, At: e.Last}}
		}
		in = lease.Input{Kind: lease.Inherit, Elders: []lease.Elder{e}}
	case "forget":
		in = lease.Input{Kind: lease.Forget, Partition: s.pos(t, d, 0), Upto: s.pos(t, d, 1)}
	case "seen-elder":
		counts := s.m.SeenElder(s.pos(t, d, 0), hash(s.str(t, d, "d")), s.int(t, d, "write", s.now), s.pos(t, d, 1))
		return fmt.Sprintf("counts=%v\n", counts)
	case "estate":
		for _, e := range s.m.Estate(s.pos(t, d, 0)) {
			fmt.Fprintf(&s.out, "%d: purged %d, last %d, duplicates %v\n", e.Partition, e.Purged, e.Last, e.Duplicates)
		}
		return s.out.String()
	case "state":
		c := s.m.Counts()
		fmt.Fprintf(&s.out, "visible=%d inflight=%d delayed=%d moving=%d cursor=%d commit=%d want=%d",
			c.Visible, c.InFlight, c.Delayed, c.Moving, s.m.Cursor(), s.m.CommitOffset(), s.m.Want())
		if at, ok := s.m.NextTimer(); ok {
			fmt.Fprintf(&s.out, " timer=%d", at)
		}
		if s.m.Ready() {
			s.out.WriteString(" ready")
		}
		return s.out.String() + "\n"
	case "snapshot":
		s.snap, s.tail = s.m.Snapshot(nil), len(s.ops)
		return ""
	case "restart":
		return s.restart(t, int(s.int(t, d, "load", int64(len(s.log)))))
	case "reload":
		s.reload(len(s.log))
		return s.end()
	case "fail": // receives everything once, with visibility 0
		s.m.Step(s.now, lease.Input{Kind: lease.Receive, Max: int(s.pos(t, d, 0))})
		s.ops = s.m.TakeOps(s.ops)
		return ""
	case "quiet-receive": // tells only the numbers
		effects := s.m.Step(s.now, lease.Input{
			Kind: lease.Receive, Max: int(s.int(t, d, "max", 1)), Visibility: 30_000,
		})
		ops := s.m.TakeOps(nil)
		s.ops = append(s.ops, ops...)
		return fmt.Sprintf("effects=%d ops=%d\n", len(effects), len(ops))
	case "gap":
		in = lease.Input{Kind: lease.Gap, Upto: s.pos(t, d, 0)}
	case "committed":
		in = lease.Input{Kind: lease.Committed, Upto: s.pos(t, d, 0)}
	case "receive":
		in = lease.Input{
			Kind: lease.Receive, Max: int(s.int(t, d, "max", 1)), Visibility: s.int(t, d, "vis", 30_000),
			AttemptID: hash(s.str(t, d, "attempt")), Room: s.int(t, d, "room", 0),
		}
	case "delete":
		in = lease.Input{Kind: lease.Delete, Offset: s.pos(t, d, 0), Attempt: uint32(s.pos(t, d, 1))}
	case "visibility":
		in = lease.Input{
			Kind: lease.Visibility, Offset: s.pos(t, d, 0), Attempt: uint32(s.pos(t, d, 1)),
			Visibility: s.pos(t, d, 2),
		}
	case "return":
		in = lease.Input{Kind: lease.Return, Offset: s.pos(t, d, 0), Attempt: uint32(s.pos(t, d, 1))}
	case "hold":
		in = lease.Input{Kind: lease.Hold}
	case "release", "free":
		in = lease.Input{Kind: lease.Release}
		if d.Cmd == "free" {
			in.Kind = lease.Free
		}
		for _, arg := range d.CmdArgs {
			in.Groups = append(in.Groups, hash(arg.Key))
		}
	case "ended":
		in = lease.Input{Kind: lease.Ended}
	case "groups":
		for _, g := range s.m.Groups(nil) {
			s.out.WriteString(name(g) + " ")
		}
		fmt.Fprintf(&s.out, "finished=%v\n", s.m.Finished())
		return s.out.String()
	case "repeat":
		in = lease.Input{Kind: lease.Repeat, AttemptID: hash(d.CmdArgs[0].Key), Visibility: s.int(t, d, "vis", 30_000)}
	case "purge":
		in = lease.Input{Kind: lease.Purge, Upto: s.pos(t, d, 0)}
	case "tick":
		in = lease.Input{Kind: lease.Tick}
	case "move-out":
		in = lease.Input{Kind: lease.MoveOut, Max: int(s.int(t, d, "max", 1)), Target: uint64(s.int(t, d, "target", 1))}
	case "moved":
		in = lease.Input{Kind: lease.Moved, Sequence: uint64(s.pos(t, d, 0))}
	case "unmovable":
		in = lease.Input{Kind: lease.Unmovable, Offset: s.pos(t, d, 0), Visibility: s.pos(t, d, 1)}
	default:
		t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
	s.step(in)
	return s.end()
}

// restart replaces the machine by one that is made from the last snapshot, or
// nothing, the ops after it, and the first n messages of the log.
func (s *story) restart(t *testing.T, n int) string {
	s.m = lease.New(s.cfg)
	if s.snap != nil {
		if err := s.m.Restore(s.snap); err != nil {
			t.Fatal(err)
		}
	}
	for _, op := range s.ops[s.tail:] {
		if err := s.m.Apply(op); err != nil {
			t.Fatal(err)
		}
	}
	s.m.Replayed(s.now)
	fmt.Fprintf(&s.out, "cursor=%d\n", s.m.Cursor())
	s.reload(n)
	return s.end()
}

func (s *story) reload(n int) {
	for _, msg := range s.log[:n] {
		if msg.Offset > s.m.Cursor() {
			s.step(lease.Input{Kind: lease.Gap, Upto: msg.Offset})
		}
		s.step(lease.Input{Kind: lease.Load, Message: msg})
	}
}

func (s *story) step(in lease.Input) {
	for _, e := range s.m.Step(s.now, in) {
		switch e.Kind {
		case lease.Move:
			fmt.Fprintf(&s.out, "move %d sequence %d%s\n", e.Offset, e.Sequence, target(e.Target))
		case lease.Oversize:
			fmt.Fprintf(&s.out, "oversize %d of %d bytes", e.Offset, e.Size)
			if e.Sequence > 0 {
				fmt.Fprintf(&s.out, " sequence %d", e.Sequence)
			}
			s.out.WriteByte('\n')
		case lease.Drained:
			fmt.Fprintf(&s.out, "drained %s\n", name(e.Group))
		case lease.Answer:
			fmt.Fprintf(&s.out, "answer %s", outcome(e.Outcome))
			for _, d := range e.Deliveries {
				fmt.Fprintf(&s.out, " %d(receives=%d first=%d until=%d)", d.Offset, d.Receives, d.FirstReceived, d.Deadline)
			}
			if e.Moves > 0 {
				fmt.Fprintf(&s.out, " %d moves up to %d", e.Moves, e.Sequence)
			}
			s.out.WriteByte('\n')
		}
	}
}

// target names where a move goes, if it is not the dead-letter queue.
func target(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" target %d", n)
}

func (s *story) end() string {
	start := len(s.ops)
	s.ops = s.m.TakeOps(s.ops)
	for _, op := range s.ops[start:] {
		switch op.Kind {
		case lease.OpLease:
			fmt.Fprintf(&s.out, "op lease %d+%d %d..%d\n", op.Offset, op.Count, op.Time, op.Deadline)
		case lease.OpDelete:
			fmt.Fprintf(&s.out, "op delete %d+%d\n", op.Offset, op.Count)
		case lease.OpVisible:
			fmt.Fprintf(&s.out, "op visible %d until %d\n", op.Offset, op.Deadline)
		case lease.OpMove:
			fmt.Fprintf(&s.out, "op move %d sequence %d%s\n", op.Offset, op.Sequence, target(op.Target))
		case lease.OpDeadLetter:
			fmt.Fprintf(&s.out, "op dead letter %d sequence %d%s\n", op.Offset, op.Sequence, target(op.Target))
		case lease.OpReturn:
			fmt.Fprintf(&s.out, "op return %d\n", op.Offset)
		case lease.OpMoved:
			fmt.Fprintf(&s.out, "op moved upto %d\n", op.Sequence)
		case lease.OpPurge:
			fmt.Fprintf(&s.out, "op purge %d\n", op.Offset)
		case lease.OpUnmoved:
			fmt.Fprintf(&s.out, "op unmoved %d until %d\n", op.Offset, op.Deadline)
		case lease.OpAttempt:
			fmt.Fprintf(&s.out, "op attempt %q %d+%d %d\n", name(op.Hash), op.Offset, op.Count, op.Time)
		case lease.OpDuplicate:
			fmt.Fprintf(&s.out, "op duplicate %d+%d %d\n", op.Offset, op.Count, op.Time)
		case lease.OpInherit:
			fmt.Fprintf(&s.out, "op inherit from %d: purged %d, last %d\n", op.Target, op.Offset, op.Time)
		case lease.OpElderDuplicate:
			fmt.Fprintf(&s.out, "op duplicate of %d: %d+%d %d\n", op.Target, op.Offset, op.Count, op.Time)
		}
	}
	return s.out.String()
}

func (s *story) config(t *testing.T, d *datadriven.TestData) lease.Config {
	return lease.Config{
		FIFO:        d.HasArg("fifo") || (s.m != nil && s.cfg.FIFO),
		Delay:       s.int(t, d, "delay", 0),
		Retention:   s.int(t, d, "retention", 0),
		MaxReceives: uint32(s.int(t, d, "max-receives", 0)),
		DeadLetters: uint64(s.int(t, d, "dead-letters", 0)),
		MaxInFlight: int(s.int(t, d, "max-in-flight", 0)),
		Window:      int(s.int(t, d, "window", 0)),
		MaxBytes:    s.int(t, d, "max-bytes", 0), MoveOversize: d.HasArg("move-oversize"),
	}
}

func (s *story) message(t *testing.T, d *datadriven.TestData, offset int64) lease.Message {
	return lease.Message{
		Offset:    offset,
		WriteTime: s.int(t, d, "write", s.now),
		SentTime:  s.int(t, d, "sent", 0),
		Delay:     s.int(t, d, "delay", -1),
		Group:     hash(s.str(t, d, "g")),
		Size:      s.int(t, d, "size", 0), Immovable: d.HasArg("immovable"),
		Deduplication: hash(s.str(t, d, "d")),
	}
}

// offsets reads "3" or "3-7".
func (s *story) offsets(t *testing.T, arg string) (from, to int64) {
	a, b, ok := strings.Cut(arg, "-")
	if !ok {
		b = a
	}
	from, err := strconv.ParseInt(a, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if to, err = strconv.ParseInt(b, 10, 64); err != nil {
		t.Fatal(err)
	}
	return from, to
}

func (s *story) pos(t *testing.T, d *datadriven.TestData, i int) int64 {
	if i >= len(d.CmdArgs) {
		t.Fatalf("%s: argument %d is missing", d.Pos, i)
	}
	v, _ := s.offsets(t, d.CmdArgs[i].Key)
	return v
}

func (s *story) int(t *testing.T, d *datadriven.TestData, key string, otherwise int64) int64 {
	if d.HasArg(key) {
		d.ScanArgs(t, key, &otherwise)
	}
	return otherwise
}

func (s *story) str(t *testing.T, d *datadriven.TestData, key string) string {
	var v string
	if d.HasArg(key) {
		d.ScanArgs(t, key, &v)
	}
	return v
}

func hash(name string) lease.Hash {
	var h lease.Hash
	copy(h[:], name)
	return h
}

func name(h lease.Hash) string { return strings.TrimRight(string(h[:]), "\x00") }

func outcome(o lease.Outcome) string {
	switch o {
	case lease.Done:
		return "done"
	case lease.Expired:
		return "expired"
	case lease.Moving:
		return "moving"
	case lease.Gone:
		return "gone"
	case lease.TooLong:
		return "too-long"
	case lease.OverLimit:
		return "over-limit"
	}
	return "?"
}
