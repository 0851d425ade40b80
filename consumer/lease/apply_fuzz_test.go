package lease_test

import (
	"bytes"
	"testing"

	"sqsgate/consumer/lease"
)

// opOf makes an op of 8 bytes: small numbers, so that ops meet each other.
func opOf(b []byte) lease.Op {
	op := lease.Op{
		Kind: lease.OpKind(b[0]), Offset: int64(b[1]), Count: int64(b[2] & 15), Time: int64(b[3]),
		Deadline: int64(b[4]), Sequence: uint64(b[5]), Target: uint64(b[7] & 3),
	}
	op.Hash[0] = b[6] & 3
	return op
}

func bytesOf(op lease.Op) []byte {
	return []byte{
		byte(op.Kind), byte(op.Offset), byte(op.Count), byte(op.Time),
		byte(op.Deadline), byte(op.Sequence), op.Hash[0], byte(op.Target),
	}
}

// FuzzApply: whatever ops a journal holds, the machine stays sound, and its
// snapshot is that of a machine restored from it.
func FuzzApply(f *testing.F) {
	var seed []byte
	for _, op := range []lease.Op{
		{Kind: lease.OpLease, Offset: 1, Count: 9, Time: 10, Deadline: 200},
		{Kind: lease.OpAttempt, Offset: 3, Count: 2, Time: 10, Hash: lease.Hash{1}},
		{Kind: lease.OpAttempt, Offset: 6, Count: 1, Time: 10},
		{Kind: lease.OpDuplicate, Offset: 12, Count: 2, Time: 5},
		{Kind: lease.OpInherit, Target: 3, Offset: 7, Time: 5},
		{Kind: lease.OpElderDuplicate, Target: 3, Offset: 9, Count: 2, Time: 4},
		{Kind: lease.OpVisible, Offset: 4, Deadline: 250},
		{Kind: lease.OpReturn, Offset: 5},
		{Kind: lease.OpMove, Offset: 2, Sequence: 1},
		{Kind: lease.OpMove, Offset: 9, Sequence: 2},
		{Kind: lease.OpDeadLetter, Offset: 13, Sequence: 3, Target: 2},
		{Kind: lease.OpUnmoved, Offset: 9, Deadline: 255},
		{Kind: lease.OpMoved, Sequence: 1},
		{Kind: lease.OpDelete, Offset: 5, Count: 1},
		{Kind: lease.OpPurge, Offset: 2},
	} {
		seed = append(seed, bytesOf(op)...)
	}
	f.Add(seed, true)
	f.Add(seed, false)
	f.Fuzz(func(t *testing.T, b []byte, fifo bool) {
		cfg := lease.Config{FIFO: fifo, MaxReceives: 2}
		m := lease.New(cfg)
		for ; len(b) >= 8; b = b[8:] {
			_ = m.Apply(opOf(b)) // nonsense is refused, and changes nothing
		}
		snapshot := m.Snapshot(nil)
		again := lease.New(cfg)
		if err := again.Restore(snapshot); err != nil {
			t.Fatalf("its own snapshot: %v", err)
		}
		if !bytes.Equal(again.Snapshot(nil), snapshot) {
			t.Fatal("a snapshot of a restored machine differs")
		}
		m.Replayed(100)
		m.Step(100, lease.Input{Kind: lease.Repeat, AttemptID: lease.Hash{1}, Visibility: 20})
		for o := m.Cursor(); o < 300; o = m.Cursor() {
			m.Step(100, lease.Input{Kind: lease.Load, Message: lease.Message{
				Offset: o, WriteTime: o, Delay: -1, Group: number(int(o % 5)), Deduplication: number(int(o % 40)),
			}})
		}
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		m.Step(100, lease.Input{Kind: lease.Ended})
		for h := range byte(4) {
			m.Step(150, lease.Input{Kind: lease.Receive, Max: 20, AttemptID: lease.Hash{h}, Visibility: 30})
		}
		m.Step(200, lease.Input{Kind: lease.Moved, Sequence: 1 << 40})
		m.Step(300, lease.Input{Kind: lease.Purge, Upto: 300})
		m.Step(300, lease.Input{Kind: lease.Moved, Sequence: 1 << 40})
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		if !m.Finished() || len(m.Groups(nil)) > 0 {
			t.Fatalf("groups %x are left, commit offset %d, cursor %d", m.Groups(nil), m.CommitOffset(), m.Cursor())
		}
	})
}
