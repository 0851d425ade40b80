package lease_test

import (
	"testing"

	"pgregory.net/rapid"

	"sqsgate/consumer/lease"
)

// fairModel is the rule of fair queues written down the slow way.
type fairModel struct {
	msgs  []*fairMessage
	noise bool // a tenant was noisy once; the order of sending is no more kept
	// Processing time of each group and of all, ms. Half of it is forgotten at the
	// end of each minute.
	effort map[string]int64
	total  int64
}

type fairMessage struct {
	group    string
	receives uint32
	until    int64
	flight   bool
	gone     bool
}

// pass lets one ms pass, which ends at now.
func (q *fairModel) pass(now int64) {
	for _, m := range q.msgs {
		if m.flight {
			q.effort[m.group]++
			q.total++
		}
	}
	if now%60_000 == 0 {
		q.total /= 2
		for group := range q.effort {
			q.effort[group] /= 2
		}
	}
}

// forget ends the account of groups without messages.
func (q *fairModel) forget() {
	left := make(map[string]bool)
	for _, m := range q.msgs {
		left[m.group] = left[m.group] || !m.gone
	}
	for group := range q.effort {
		if !left[group] {
			delete(q.effort, group)
		}
	}
}

// noisy gives the groups with more than a tenth of the messages in flight, and at
// least 30 of them, or with more than a tenth of the processing time, and at least
// ten seconds.
func (q *fairModel) noisy() map[string]bool {
	all, own := 0, make(map[string]int)
	for _, m := range q.msgs {
		if m.flight {
			all++
			own[m.group]++
		}
	}
	noisy := make(map[string]bool)
	for group, n := range own {
		if group != "" && n >= 30 && n*10 > all {
			noisy[group], q.noise = true, true
		}
	}
	for group, ms := range q.effort {
		if group != "" && ms >= 10_000 && ms*10 > q.total {
			noisy[group], q.noise = true, true
		}
	}
	return noisy
}

// next checks one delivery; answered are those before it in the answer.
func (q *fairModel) next(t *rapid.T, offset int64, answered map[int64]bool) {
	got := q.msgs[offset]
	if got.gone || got.flight || answered[offset] {
		t.Fatalf("message %d is not there", offset)
	}
	noisy := q.noisy()
	for o, m := range q.msgs {
		if m.gone || m.flight || answered[int64(o)] {
			continue
		}
		if noisy[got.group] && !noisy[m.group] {
			t.Fatalf("message %d of the noisy %q is served before %d of %q", offset, got.group, o, m.group)
		}
		if !q.noise && got.receives == 0 && m.receives == 0 && int64(o) < offset {
			t.Fatalf("message %d is served before %d", offset, o)
		}
	}
}

func (q *fairModel) visible() (n int) {
	for _, m := range q.msgs {
		if !m.gone && !m.flight {
			n++
		}
	}
	return n
}

// TestFair compares fair queues with the rule.
func TestFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, now := lease.New(lease.Config{}), int64(59_000)
		q := &fairModel{effort: make(map[string]int64)}
		advance := func(ms int64) {
			for range ms {
				now++
				q.pass(now)
			}
			for _, x := range q.msgs {
				x.flight = x.flight && x.until > now
			}
			m.Step(now, lease.Input{Kind: lease.Tick})
		}
		t.Repeat(map[string]func(*rapid.T){
			"load": func(t *rapid.T) {
				group := rapid.SampledFrom([]string{"", "", "a", "a", "b", "c"}).Draw(t, "group")
				for range rapid.IntRange(1, 120).Draw(t, "count") {
					m.Step(now, lease.Input{Kind: lease.Load, Message: lease.Message{
						Offset: m.Cursor(), WriteTime: now, Group: hash(group), Delay: -1,
					}})
					q.msgs = append(q.msgs, &fairMessage{group: group})
				}
			},
			"receive": func(t *rapid.T) {
				limit := min(rapid.IntRange(1, 120).Draw(t, "max"), q.visible())
				in := lease.Input{Kind: lease.Receive, Max: max(1, limit)}
				in.Visibility = rapid.SampledFrom([]int64{0, 50, 500, 5000, 90_000}).Draw(t, "visibility")
				got := m.Step(now, in)[0].Deliveries
				if len(got) != limit {
					t.Fatalf("%d messages, want %d", len(got), limit)
				}
				answered := make(map[int64]bool)
				for _, d := range got {
					q.next(t, d.Offset, answered)
					answered[d.Offset] = true
					x := q.msgs[d.Offset]
					x.receives++
					x.until, x.flight = now+in.Visibility, in.Visibility > 0
				}
			},
			"delete": func(t *rapid.T) {
				share := rapid.IntRange(1, 4).Draw(t, "share")
				for o, x := range q.msgs {
					if !x.gone && x.receives > 0 && o%share == 0 {
						m.Step(now, lease.Input{Kind: lease.Delete, Offset: int64(o), Attempt: x.receives})
						x.gone, x.flight = true, false
					}
				}
			},
			"give back": func(t *rapid.T) {
				share := rapid.IntRange(1, 4).Draw(t, "share")
				for o, x := range q.msgs {
					if x.flight && o%share == 0 {
						m.Step(now, lease.Input{Kind: lease.Visibility, Offset: int64(o), Attempt: x.receives})
						x.flight = false
					}
				}
			},
			"purge": func(t *rapid.T) {
				upto := rapid.IntRange(0, len(q.msgs)).Draw(t, "upto")
				if rapid.IntRange(0, 4).Draw(t, "really") > 0 {
					return
				}
				m.Step(now, lease.Input{Kind: lease.Purge, Upto: int64(upto)})
				for _, x := range q.msgs[:upto] {
					x.gone, x.flight = true, false
				}
			},
			"wait":      func(t *rapid.T) { advance(rapid.Int64Range(1, 300).Draw(t, "ms")) },
			"wait long": func(t *rapid.T) { advance(rapid.Int64Range(1, 8000).Draw(t, "ms")) },
			"": func(t *rapid.T) {
				q.forget()
				q.noisy()
				if err := m.Check(); err != nil {
					t.Fatal(err)
				}
				if got := m.Counts().Visible; got != q.visible() {
					t.Fatalf("%d visible, want %d", got, q.visible())
				}
				if m.Ready() != (q.visible() > 0) {
					t.Fatalf("ready %v with %d visible", m.Ready(), q.visible())
				}
			},
		})
	})
}

// TestSearchAhead: a queue reads on behind the messages of a noisy tenant, in
// search of others, but not without end.
func TestSearchAhead(t *testing.T) {
	m := lease.New(lease.Config{})
	load := func(n int) {
		for range n {
			m.Step(0, lease.Input{Kind: lease.Load, Message: lease.Message{Offset: m.Cursor(), Delay: -1, Group: number(1)}})
		}
	}
	load(1030)
	if got := m.Want(); got != 0 {
		t.Errorf("calm: wants %d", got)
	}
	m.Step(0, lease.Input{Kind: lease.Receive, Max: 31, Visibility: 1000})
	if got := m.Want(); got != 2000 {
		t.Errorf("noisy, with all the others parked: wants %d, want 2000", got)
	}
	for m.Want() > 0 && m.Cursor() < 20_000 {
		load(1)
	}
	if got := m.Counts().Visible; got != 10_000 {
		t.Errorf("%d messages of the noisy tenant were loaded ahead", got)
	}
	m.Step(0, lease.Input{Kind: lease.Receive, Max: 1, Visibility: 1000})
	if got := m.Want(); got != 2000 {
		t.Errorf("wants %d after a hand-out, want 2000", got)
	}
}

// TestNoisyShare: a tenth of the messages in flight is not yet too much.
func TestNoisyShare(t *testing.T) {
	for others, noisy := range map[int]bool{269: true, 270: false} {
		m := lease.New(lease.Config{})
		load := func(n int, group lease.Hash) {
			for range n {
				m.Step(0, lease.Input{Kind: lease.Load, Message: lease.Message{Offset: m.Cursor(), Delay: -1, Group: group}})
			}
		}
		load(others, lease.Hash{})
		load(31, number(1))
		load(1, lease.Hash{})
		m.Step(0, lease.Input{Kind: lease.Receive, Max: others + 30, Visibility: 1000})
		want := int64(others + 30)
		if noisy {
			want++
		}
		got := m.Step(0, lease.Input{Kind: lease.Receive, Max: 1, Visibility: 1000})[0].Deliveries
		if len(got) != 1 || got[0].Offset != want {
			t.Errorf("30 in flight besides %d: %+v, want %d", others, got, want)
		}
	}
}

// TestEffort compares processing time with a count of every ms.
func TestEffort(t *testing.T) {
	for _, c := range []struct {
		ms, from, to int64
		flight       int
	}{
		{0, 0, 0, 0},
		{7, 0, 59_999, 0},
		{7, 0, 60_000, 0},
		{7, 59_999, 60_001, 3},
		{1 << 40, 1, 30 * 60_000, 0},
		{0, 5, 59_999, 120_000},
		{0, 5, 60_000, 120_000},
		{0, 5, 47*60_000 + 17, 120_000},
		{1 << 50, 5, 70*60_000 + 17, 120_000},
		{3, 61_000, 80 * 60_000, 1},
	} {
		want := c.ms
		for now := c.from + 1; now <= c.to; now++ {
			if want += int64(c.flight); now%60_000 == 0 {
				want /= 2
			}
		}
		if got := lease.Effort(c.ms, c.from, c.to, c.flight); got != want {
			t.Errorf("%+v: %d, want %d", c, got, want)
		}
	}
}
