package lease_test

import (
	"testing"

	"sqsgate/consumer/lease"
)

// The first sequence can be chosen as long as there was no move, in this life of
// the machine or an earlier one.
func TestMovesFrom(t *testing.T) {
	begin := func(from uint64, ops []lease.Op, snapshot []byte) *lease.Machine {
		m := lease.New(lease.Config{MaxReceives: 1})
		if snapshot != nil {
			if err := m.Restore(snapshot); err != nil {
				t.Fatal(err)
			}
		}
		for _, op := range ops {
			if err := m.Apply(op); err != nil {
				t.Fatal(err)
			}
		}
		m.Replayed(0)
		m.MovesFrom(from)
		for o := m.Cursor(); o < 2; o++ {
			m.Step(0, lease.Input{Kind: lease.Load, Message: lease.Message{Offset: o}})
		}
		return m
	}
	const first = 1_800_000_000_000 << 16
	m := begin(first, nil, nil)
	m.Step(0, lease.Input{Kind: lease.Receive, Max: 1})
	received := m.TakeOps(nil)
	if got := begin(first+5, received, nil).LastMove(); got != first+4 {
		t.Errorf("before the first move, after a restart: the last move is %d", got)
	}
	m.Step(0, lease.Input{Kind: lease.Receive, Max: 2})
	if m.LastMove() != first {
		t.Fatalf("the first move has number %d", m.LastMove())
	}
	for name, again := range map[string]*lease.Machine{
		"ops":      begin(first+5, m.TakeOps(received), nil),
		"snapshot": begin(first+5, nil, m.Snapshot(nil)),
	} {
		if again.LastMove() != first {
			t.Errorf("from %s: the last move is %d, want %d", name, again.LastMove(), uint64(first))
		}
	}
}
