package lease_test

import (
	"testing"

	"sqsgate/consumer/lease"
)

func TestWant(t *testing.T) {
	fill := func(m *lease.Machine, n int, group func(int) lease.Hash) {
		for range n {
			o := m.Cursor()
			m.Step(0, lease.Input{Kind: lease.Load, Message: lease.Message{Offset: o, Delay: -1, Group: group(int(o))}})
		}
	}
	one := func(int) lease.Hash { return lease.Hash{} }

	m := lease.New(lease.Config{Window: 3000})
	check := func(when string, want int) {
		t.Helper()
		if got := m.Want(); got != want {
			t.Errorf("%s: wants %d, want %d", when, got, want)
		}
	}
	check("standard, empty", 2000)
	fill(m, 999, one)
	check("not enough yet", 1001)
	fill(m, 1, one)
	check("enough", 0)
	m.Step(0, lease.Input{Kind: lease.Receive, Max: 400, Visibility: 1000})
	check("600 left", 1400)
	fill(m, 1400, one)
	m.Step(0, lease.Input{Kind: lease.Receive, Max: 900, Visibility: 1000})
	check("1100 left", 0)
	m.Step(0, lease.Input{Kind: lease.Receive, Max: 700, Visibility: 1000})
	check("400 left", 600) // the window has no more room

	m = lease.New(lease.Config{FIFO: true, Window: 1500})
	check("FIFO, empty", 1500)
	fill(m, 600, one)
	check("a ready group", 900)
	m.Step(0, lease.Input{Kind: lease.Receive, Max: 1, Visibility: 1000})
	check("the only group is blocked", 900)
	fill(m, 900, one)
	check("window full", 0)
	m.Step(0, lease.Input{Kind: lease.Delete, Offset: 0, Attempt: 1})
	check("a group is ready again", 0)
}

// TestBacklogOfMoves: 600 pending moves after a restart are announced in order.
func TestBacklogOfMoves(t *testing.T) {
	cfg := lease.Config{MaxReceives: 1}
	m := lease.New(cfg)
	load := func() {
		for range 600 {
			m.Step(0, lease.Input{Kind: lease.Load, Message: lease.Message{Offset: m.Cursor(), Delay: -1}})
		}
	}
	load()
	m.Step(0, lease.Input{Kind: lease.Receive, Max: 600})
	moves := 0
	for steps := 0; moves < 600; steps++ {
		for _, e := range m.Step(0, lease.Input{Kind: lease.Receive, Max: 1}) {
			if e.Kind == lease.Move {
				moves++
			}
		}
		if steps > 3 {
			t.Fatalf("%d moves after %d steps", moves, steps)
		}
	}
	ops := m.TakeOps(nil)
	m = lease.New(cfg)
	for _, op := range ops {
		if err := m.Apply(op); err != nil {
			t.Fatal(err)
		}
	}
	m.Replayed(0)
	if got := m.Want(); got != 2000 {
		t.Errorf("wants %d with moves not announced", got)
	}
	var sequence uint64
	for m.Cursor() < 600 {
		for _, e := range m.Step(0, lease.Input{Kind: lease.Load, Message: lease.Message{Offset: m.Cursor()}}) {
			if e.Kind != lease.Move || e.Sequence != sequence+1 {
				t.Fatalf("effect %+v after sequence %d", e, sequence)
			}
			sequence = e.Sequence
		}
	}
	if sequence != 600 {
		t.Errorf("announced up to %d", sequence)
	}
	m.Step(0, lease.Input{Kind: lease.Moved, Sequence: 599})
	if got := m.CommitOffset(); got != 599 {
		t.Errorf("commit offset %d, want 599", got)
	}
}
