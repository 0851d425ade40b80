package consumer

import (
	"testing"

	"sqsgate/consumer/journal"
)

func TestSnapshotPolicy(t *testing.T) {
	const minute = 60_000
	for _, c := range []struct {
		name    string
		last    int64 // size of the last snapshot
		records int   // since it
		ops     int   // in each of them
		now     int64
		forced  bool
		lag     int64
		want    bool
	}{
		{name: "few records", records: 254, ops: 1},
		{name: "many records", records: 255, ops: 1, want: true},
		{name: "many, but a large snapshot", last: 1 << 20, records: 2000, ops: 1},
		{name: "as much as the large snapshot", last: 1 << 20, records: 1<<20/72 + 1, ops: 1, want: true},
		{name: "few large records", records: 9, ops: 12_000},
		{name: "more of them", records: 10, ops: 12_000, want: true},
		{name: "old", records: 1, ops: 1, now: 5 * minute, want: true},
		{name: "old and nothing new", now: 5 * minute},
		{name: "the end", records: 1, ops: 1, forced: true, want: true},
		{name: "the end, and nothing new", forced: true},
		{name: "far behind, and nothing new", forced: true, lag: maxLag + 1, want: true},
		{name: "not far behind", forced: true, lag: maxLag},
		{name: "large, and not so far behind", forced: true, last: 1 << 20, lag: 1<<20/recordBytes - 1},
		{name: "large, and far behind", forced: true, last: 1 << 20, lag: 1 << 20 / recordBytes, want: true},
	} {
		var p snapshotPolicy
		p.begin(journal.Replay{Snapshot: make([]byte, c.last)}, 0)
		for range c.records {
			p.take(0, c.ops)
		}
		if c.forced {
			p.force()
		}
		p.lag(c.lag)
		ops := c.ops
		if c.now > 0 || c.forced {
			ops = 0
		}
		if got := p.take(c.now, ops); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
