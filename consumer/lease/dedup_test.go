package lease_test

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"sqsgate/consumer/lease"
)

func number(n int) (h lease.Hash) {
	binary.BigEndian.PutUint64(h[8:], uint64(n)+1)
	return h
}

func TestIndexWindow(t *testing.T) {
	x := lease.NewIndex(100, 10)
	x.Add(number(1), 1000, 7, 70)
	for _, c := range []struct {
		now  int64
		want bool
	}{{1000, true}, {1099, true}, {1100, false}, {990, true}} {
		p, o, ok := x.Lookup(number(1), c.now)
		if ok != c.want || (ok && (p != 7 || o != 70)) {
			t.Errorf("at %d: partition %d offset %d %v, want %v", c.now, p, o, ok, c.want)
		}
	}
	if _, _, ok := x.Lookup(number(2), 1000); ok {
		t.Error("an id that was never added is found")
	}
}

func TestIndexFullSaysSo(t *testing.T) {
	x := lease.NewIndex(100, 3)
	for i := range 3 {
		if !x.Add(number(i), int64(i), 0, int64(i)) {
			t.Fatalf("id %d of 3 not taken", i)
		}
	}
	if x.Add(number(3), 50, 0, 3) {
		t.Error("a full index takes one more")
	}
	if !x.Add(number(1), 60, 0, 9) {
		t.Error("a full index does not renew an id it holds")
	}
	if !x.Add(number(4), 100, 0, 4) {
		t.Error("an expired id still takes room")
	}
	x.Forget(number(4))
	if !x.Add(number(5), 100, 0, 5) {
		t.Error("a forgotten id still takes room")
	}
	if x.Clear(); x.Len() != 0 {
		t.Error("not empty after Clear")
	}
}

// TestIndexModel compares the ring with a plain map.
func TestIndexModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const window, capacity = 50, 40
		x := lease.NewIndex(window, capacity)
		type entry struct{ at, offset int64 }
		want := map[lease.Hash]entry{}
		now := int64(0)
		for i := range rapid.IntRange(1, 400).Draw(t, "steps") {
			now += rapid.Int64Range(0, 3).Draw(t, "dt")
			h := number(rapid.IntRange(0, 60).Draw(t, "id"))
			switch rapid.IntRange(0, 9).Draw(t, "op") {
			case 0:
				x.Forget(h)
				delete(want, h)
			case 1:
				if rapid.IntRange(0, 20).Draw(t, "clear") == 0 {
					x.Clear()
					clear(want)
				}
			default:
				for k, e := range want {
					if now-e.at >= window {
						delete(want, k)
					}
				}
				_, held := want[h]
				ok := x.Add(h, now, 3, int64(i))
				if ok != (held || len(want) < capacity) {
					t.Fatalf("add %v with %d held", ok, len(want))
				}
				if ok {
					want[h] = entry{now, int64(i)}
				}
			}
			for id := range 61 {
				e, held := want[number(id)]
				_, offset, ok := x.Lookup(number(id), now)
				if ok != (held && now-e.at < window) || (ok && offset != e.offset) {
					t.Fatalf("id %d: offset %d %v, want %+v %v", id, offset, ok, e, held)
				}
			}
		}
	})
}
