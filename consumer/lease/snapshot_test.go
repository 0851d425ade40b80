package lease_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"sqsgate/consumer/lease"
)

// busy makes a machine with all kinds of state in it.
func busy(t testing.TB, fifo bool) *lease.Machine {
	t.Helper()
	m := lease.New(lease.Config{FIFO: fifo, MaxReceives: 2})
	step := func(in lease.Input) { m.Step(1_700_000_000_000, in) }
	for o := range int64(300) {
		step(lease.Input{Kind: lease.Load, Message: lease.Message{
			Offset: o, WriteTime: 1_700_000_000_000, Delay: -1, Group: number(int(o % 30)),
		}})
	}
	for range 3 {
		step(lease.Input{Kind: lease.Receive, Max: 5})
	}
	step(lease.Input{Kind: lease.Receive, Max: 200, Visibility: 30_000})
	for o := int64(0); o < 100; o += 3 {
		step(lease.Input{Kind: lease.Delete, Offset: o, Attempt: 1})
		step(lease.Input{Kind: lease.Visibility, Offset: o + 1, Attempt: 1})
	}
	for o := range int64(40) {
		step(lease.Input{Kind: lease.Load, Message: lease.Message{
			Offset: 300 + o, WriteTime: 1_700_000_000_000 + o/4, Delay: -1, Group: number(int(100 + o)), Deduplication: number(int(o % 7)),
		}})
	}
	step(lease.Input{Kind: lease.Receive, Max: 3, Visibility: 30_000, AttemptID: number(1)})
	step(lease.Input{Kind: lease.Receive, Max: 2, Visibility: 40_000, AttemptID: number(2)})
	step(lease.Input{Kind: lease.Gap, Upto: 2000})
	step(lease.Input{Kind: lease.Receive, Max: 20, Visibility: 30_000})
	return m
}

func seal(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

func TestRestoreDamage(t *testing.T) {
	snapshot := busy(t, true).Snapshot(nil)
	for i := range snapshot {
		damaged := bytes.Clone(snapshot)
		damaged[i] ^= 0x10
		if err := lease.New(lease.Config{FIFO: true}).Restore(damaged); !errors.Is(err, lease.ErrSnapshot) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if err := lease.New(lease.Config{FIFO: true}).Restore(snapshot[:i]); !errors.Is(err, lease.ErrSnapshot) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	old := bytes.Clone(snapshot[:len(snapshot)-4])
	old[0] = 1
	if lease.New(lease.Config{FIFO: true}).Restore(seal(old)) == nil {
		t.Error("version 1 is taken")
	}
	old[0] = 2
	if err := lease.New(lease.Config{FIFO: true}).Restore(seal(old[:len(old)-2])); err != nil {
		t.Errorf("version 2, which has no elders: %v", err)
	}
	m := lease.New(lease.Config{FIFO: true})
	if m.Restore(seal(append(snapshot[:len(snapshot)-4:len(snapshot)-4], 0))) == nil {
		t.Error("a byte too many is taken")
	}
	if err := m.Restore(snapshot); err != nil {
		t.Errorf("after a failed restore: %v", err)
	}
	if m.Restore(snapshot) == nil {
		t.Error("a second restore into the same machine succeeds")
	}
}

// TestSnapshotSize: runs make it small.
func TestSnapshotSize(t *testing.T) {
	m := lease.New(lease.Config{})
	for o := range int64(100_000) {
		m.Step(1_700_000_000_000, lease.Input{Kind: lease.Load, Message: lease.Message{Offset: o, WriteTime: 1_700_000_000_000}})
	}
	m.Step(1_700_000_000_000, lease.Input{Kind: lease.Receive, Max: 50_000, Visibility: 30_000})
	if n := len(m.Snapshot(nil)); n > 40 {
		t.Errorf("%d bytes for one run of leases", n)
	}
}

func TestApplyNonsense(t *testing.T) {
	for name, op := range map[string]lease.Op{
		"unknown kind":    {Kind: 99, Offset: 1, Count: 1},
		"no kind":         {Offset: 1, Count: 1},
		"offset below 0":  {Kind: lease.OpVisible, Offset: -1},
		"huge offset":     {Kind: lease.OpPurge, Offset: 1 << 62},
		"lease of none":   {Kind: lease.OpLease, Offset: 1},
		"lease of all":    {Kind: lease.OpLease, Offset: 1, Count: 1 << 40},
		"delete of none":  {Kind: lease.OpDelete, Offset: 1},
		"delete below 0":  {Kind: lease.OpDelete, Offset: 1, Count: -1},
		"time below 0":    {Kind: lease.OpLease, Offset: 1, Count: 1, Time: -1},
		"move 0":          {Kind: lease.OpMove, Offset: 1},
		"moved too far":   {Kind: lease.OpMoved, Sequence: 1},
		"attempt of none": {Kind: lease.OpAttempt, Offset: 1, Hash: lease.Hash{1}},
		"attempt of all":  {Kind: lease.OpAttempt, Offset: 1, Count: 1 << 40, Hash: lease.Hash{1}},
		"no duplicates":   {Kind: lease.OpDuplicate, Offset: 1},
		"letter to none":  {Kind: lease.OpDeadLetter, Offset: 1, Sequence: 1},
		"elder's number":  {Kind: lease.OpInherit, Target: 1 << 61},
		"deadline beyond": {Kind: lease.OpUnmoved, Offset: 1, Deadline: 1 << 60},
	} {
		if lease.New(lease.Config{}).Apply(op) == nil {
			t.Errorf("%s: %+v is taken", name, op)
		}
	}
	m := lease.New(lease.Config{})
	m.Replayed(0)
	if m.Apply(lease.Op{Kind: lease.OpDelete, Count: 1}) == nil {
		t.Error("an op after the replay is taken")
	}
}

// TestApplyRuns: a long run of deletes costs nothing and moves the cursor.
func TestApplyRuns(t *testing.T) {
	m := lease.New(lease.Config{})
	for _, op := range []lease.Op{
		{Kind: lease.OpLease, Offset: 5, Count: 1, Time: 1, Deadline: 100},
		{Kind: lease.OpDelete, Offset: 6, Count: 1 << 50},
		{Kind: lease.OpDelete, Offset: 0, Count: 5},
	} {
		if err := m.Apply(op); err != nil {
			t.Fatal(err)
		}
	}
	m.Replayed(10)
	if m.Cursor() != 5 {
		t.Errorf("cursor %d, want 5", m.Cursor())
	}
	m.Step(10, lease.Input{Kind: lease.Load, Message: lease.Message{Offset: 5}})
	if want := int64(6 + 1<<50); m.Cursor() != want || m.CommitOffset() != 5 {
		t.Errorf("cursor %d, commit offset %d; want %d, 5", m.Cursor(), m.CommitOffset(), want)
	}
}

// TestApplyMoveOfGone: a move of a message that is gone still takes its sequence.
func TestApplyMoveOfGone(t *testing.T) {
	m := lease.New(lease.Config{MaxReceives: 1})
	for _, op := range []lease.Op{
		{Kind: lease.OpDelete, Offset: 0, Count: 1},
		{Kind: lease.OpMove, Offset: 0, Sequence: 7},
		{Kind: lease.OpLease, Offset: 1, Count: 1, Time: 1, Deadline: 2},
	} {
		if err := m.Apply(op); err != nil {
			t.Fatal(err)
		}
	}
	m.Replayed(10)
	m.Step(10, lease.Input{Kind: lease.Load, Message: lease.Message{Offset: 1}})
	effects := m.Step(10, lease.Input{Kind: lease.Receive, Max: 1})
	if len(effects) != 2 || effects[1].Sequence != 8 {
		t.Errorf("effects %+v, want a move with sequence 8", effects)
	}
}

// TestJournalBeatsIndex: a message that was handed out is no duplicate, though
// the ids the shell could still read after a restart say so. Here x was accepted
// at 0 and 110; the duplicate at 90 is all that is left of the first window.
func TestJournalBeatsIndex(t *testing.T) {
	x := number(1)
	m := lease.New(lease.Config{FIFO: true, DeduplicationWindow: 100})
	if err := m.Apply(lease.Op{Kind: lease.OpLease, Offset: 2, Count: 1, Time: 115, Deadline: 120}); err != nil {
		t.Fatal(err)
	}
	m.Replayed(150)
	m.Step(150, lease.Input{Kind: lease.Gap, Upto: 2})
	m.Seen(x, 90, 1)
	m.Step(150, lease.Input{Kind: lease.Load, Message: lease.Message{Offset: 2, WriteTime: 110, Deduplication: x}})
	effects := m.Step(150, lease.Input{Kind: lease.Receive, Max: 1})
	if len(effects) != 1 || len(effects[0].Deliveries) != 1 || effects[0].Deliveries[0].Receives != 2 {
		t.Errorf("effects %+v, want message 2 for the second time", effects)
	}
}

// TestApplyAttempts: an attempt whose messages are not all leased by it, as its
// ops tell, is none; those of others live on.
func TestApplyAttempts(t *testing.T) {
	lent := lease.Op{Kind: lease.OpLease, Offset: 0, Count: 4, Time: 100, Deadline: 5000}
	of := func(h byte, offset, count int64) lease.Op {
		op := lease.Op{Kind: lease.OpAttempt, Offset: offset, Count: count, Time: 100}
		if h != 0 {
			op.Hash = lease.Hash{h}
		}
		return op
	}
	for name, tt := range map[string]struct {
		ops []lease.Op
		one []int64 // what attempt 1 repeats
		two []int64
	}{
		"in two parts":          {ops: []lease.Op{lent, of(1, 2, 2), of(0, 0, 1)}, one: []int64{2, 3, 0}},
		"two":                   {ops: []lease.Op{lent, of(1, 0, 2), of(2, 2, 1)}, one: []int64{0, 1}, two: []int64{2}},
		"a message of another":  {ops: []lease.Op{lent, of(1, 0, 2), of(2, 1, 2)}, one: []int64{0, 1}},
		"a message twice":       {ops: []lease.Op{lent, of(1, 0, 2), of(0, 1, 1)}},
		"not leased":            {ops: []lease.Op{lent, of(1, 3, 2)}},
		"a part without a head": {ops: []lease.Op{lent, of(1, 0, 1), {Kind: lease.OpVisible, Offset: 3, Deadline: 9000}, of(0, 1, 1)}, one: []int64{0}},
		"replaced":              {ops: []lease.Op{lent, of(1, 0, 1), of(1, 2, 1)}, one: []int64{2}},
		"deleted":               {ops: []lease.Op{lent, of(1, 0, 2), {Kind: lease.OpDelete, Offset: 1, Count: 1}}},
		"received again":        {ops: []lease.Op{lent, of(1, 0, 2), {Kind: lease.OpLease, Offset: 1, Count: 1, Time: 5000, Deadline: 6000}}},
		"moved":                 {ops: []lease.Op{lent, of(1, 0, 2), {Kind: lease.OpMove, Offset: 1, Sequence: 1}}},
		"purged":                {ops: []lease.Op{lent, of(1, 0, 2), {Kind: lease.OpPurge, Offset: 1}}},
	} {
		m := lease.New(lease.Config{FIFO: true})
		for _, op := range tt.ops {
			if err := m.Apply(op); err != nil {
				t.Fatal(err)
			}
		}
		m.Replayed(200)
		for h, want := range map[byte][]int64{1: tt.one, 2: tt.two} {
			effects := m.Step(200, lease.Input{Kind: lease.Repeat, AttemptID: lease.Hash{h}, Visibility: 1000})
			var got []int64
			for _, d := range effects[0].Deliveries {
				got = append(got, d.Offset)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: attempt %d repeats %v, want %v", name, h, got, want)
			}
		}
	}
}

// TestDuplicateIsNotFirst: x was accepted at 0, its copy at 200 s is a duplicate.
// After a restart at 310 s the shell can read the duplicate only; the message of
// 305 s is the first of a new window all the same.
func TestDuplicateIsNotFirst(t *testing.T) {
	x := number(1)
	message := func(offset, at int64) lease.Input {
		return lease.Input{Kind: lease.Load, Message: lease.Message{Offset: offset, WriteTime: at, Delay: -1, Group: x, Deduplication: x}}
	}
	m := lease.New(lease.Config{FIFO: true})
	m.Step(0, message(0, 0))
	m.Step(0, lease.Input{Kind: lease.Receive, Max: 1, Visibility: 1000})
	m.Step(0, lease.Input{Kind: lease.Delete, Offset: 0, Attempt: 1})
	m.Step(200_000, message(1, 200_000))
	for name, restored := range map[string]*lease.Machine{"ops": replayed(t, m.TakeOps(nil)), "snapshot": restored(t, m)} {
		restored.Replayed(310_000)
		restored.Seen(x, 200_000, 1)
		restored.Step(310_000, message(2, 305_000))
		effects := restored.Step(310_000, lease.Input{Kind: lease.Receive, Max: 1, Visibility: 1000})
		if len(effects[0].Deliveries) != 1 {
			t.Errorf("from the %s: the message is taken for a duplicate", name)
		}
		restored.Step(310_000, message(3, 604_999))
		if got := restored.CommitOffset(); got != 2 || restored.Counts().Visible != 0 {
			t.Errorf("from the %s: the next duplicate is there", name)
		}
	}
}

func replayed(t *testing.T, ops []lease.Op) *lease.Machine {
	t.Helper()
	m := lease.New(lease.Config{FIFO: true})
	for _, op := range ops {
		if err := m.Apply(op); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func restored(t *testing.T, from *lease.Machine) *lease.Machine {
	t.Helper()
	m := lease.New(lease.Config{FIFO: true})
	if err := m.Restore(from.Snapshot(nil)); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRest: an empty machine that was busy is small, and still right.
func TestRest(t *testing.T) {
	m := busy(t, true)
	const now = 1_800_000_000_000
	cycle := func() {
		for range 5000 {
			m.Step(now, lease.Input{Kind: lease.Load, Message: lease.Message{
				Offset: m.Cursor(), WriteTime: now, Group: number(int(m.Cursor())),
			}})
		}
		first := m.Cursor() - 5000
		effects := m.Step(now, lease.Input{Kind: lease.Receive, Max: 6000, Visibility: 100})
		if n := len(effects[0].Deliveries); n < 5000 {
			t.Fatalf("%d deliveries", n)
		}
		m.Step(now, lease.Input{Kind: lease.Purge, Upto: m.Cursor()})
		m.Step(now, lease.Input{Kind: lease.Moved, Sequence: 1 << 40})
		m.Step(now, lease.Input{Kind: lease.Tick})
		if m.CommitOffset() != first+5000 || m.Check() != nil {
			t.Fatalf("commit offset %d, %v", m.CommitOffset(), m.Check())
		}
		if n := m.Nodes(); n > 1024 {
			t.Fatalf("%d nodes kept", n)
		}
		m.TakeOps(nil)
	}
	cycle()
	cycle()
}

func FuzzRestore(f *testing.F) {
	for _, fifo := range []bool{false, true} {
		snapshot := busy(f, fifo).Snapshot(nil)
		f.Add(snapshot[:len(snapshot)-4], fifo)
	}
	empty := lease.New(lease.Config{}).Snapshot(nil)
	f.Add(empty[:len(empty)-4], false)
	f.Fuzz(func(t *testing.T, body []byte, fifo bool) {
		m := lease.New(lease.Config{FIFO: fifo, MaxReceives: 3})
		if m.Restore(seal(body)) != nil {
			return
		}
		snapshot := m.Snapshot(nil)
		again := lease.New(lease.Config{FIFO: fifo})
		if err := again.Restore(snapshot); err != nil {
			t.Fatalf("its own snapshot: %v", err)
		}
		if !bytes.Equal(again.Snapshot(nil), snapshot) {
			t.Fatal("a snapshot of a restored machine differs")
		}
		m.Replayed(1000)
		for range 5 {
			m.Step(1000, lease.Input{Kind: lease.Load, Message: lease.Message{Offset: m.Cursor()}})
		}
		m.Step(1<<47, lease.Input{Kind: lease.Receive, Max: 10, Visibility: 10})
		m.Step(1<<47, lease.Input{Kind: lease.Purge, Upto: m.Cursor()})
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
	})
}

// A message that ran out, and one that the log has removed by then, leave the same
// state behind: who reads the log later must not know less.
func TestSnapshotBehindAGap(t *testing.T) {
	cfg := lease.Config{FIFO: true, Retention: 1000}
	ranOut, removed := lease.New(cfg), lease.New(cfg)
	ranOut.Step(5000, lease.Input{Kind: lease.Load, Message: lease.Message{WriteTime: 1, Group: lease.Hash{1}}})
	removed.Step(5000, lease.Input{Kind: lease.Gap, Upto: 1})
	if a, b := ranOut.Snapshot(nil), removed.Snapshot(nil); !bytes.Equal(a, b) {
		t.Errorf("%x behind a message that ran out, %x behind a gap", a, b)
	}
}
