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

func TestIndexRange(t *testing.T) {
	const offset, partition, at = 1<<60 - 1, 1<<24 - 1, 1<<44 - 1
	x := lease.NewIndex(100, 10)
	for i, c := range []struct {
		at, partition, offset int64
		want                  bool
	}{
		{at, partition, offset, true},
		{0, 0, 0, true},
		{at, partition + 1, 0, false},
		{at, 0, offset + 1, false},
		{at, -1, 0, false},
		{at, 0, -1, false},
	} {
		x.Clear()
		if ok := x.Add(number(i), c.at, c.partition, c.offset); ok != c.want {
			t.Errorf("%+v: %v", c, ok)
		}
		if p, o, ok := x.Lookup(number(i), c.at); ok != c.want || (ok && (p != c.partition || o != c.offset)) {
			t.Errorf("%+v: found %d %d %v", c, p, o, ok)
		}
	}
}

// TestIndexGoesOn adds more ids than their places can number, of which a few
// thousand count at a time; some are renewed, some taken back.
func TestIndexGoesOn(t *testing.T) {
	const window, total = 1000, 1<<22 + 100_000
	x := lease.NewIndex(window, 1<<20)
	for i := range total {
		now := int64(i / 4)
		if !x.Add(number(i), now, 1, int64(i)) {
			t.Fatalf("id %d not taken", i)
		}
		if i%3 == 0 {
			x.Forget(number(i))
		}
		if i%5 == 0 && i > 100 {
			x.Add(number(i-100), now, 2, int64(i))
		}
		if i%1000 != 0 || i < 10_000 {
			continue
		}
		for _, c := range []struct {
			id int
			ok bool
		}{
			{i, i%3 != 0},
			{i - 100, (i-100)%3 != 0 || i%5 == 0},
			{i - 4*window + 4, (i+4-4*window)%3 != 0},
			{i - 4*window - 104, false},
		} {
			if _, _, ok := x.Lookup(number(c.id), now); ok != c.ok {
				t.Fatalf("after %d: id %d found: %v", i, c.id, ok)
			}
		}
		if n := x.Len(); n > 4*window+105 || n < 8*window/3-105 {
			t.Fatalf("after %d: %d ids", i, n)
		}
	}
}

// TestIndexModel compares the index with a plain map, in three sizes.
func TestIndexModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 5, 30}).Draw(t, "size")
		window, capacity := int64(50), 40*size
		x := lease.NewIndex(window, capacity)
		type entry struct{ at, offset int64 }
		want := map[lease.Hash]entry{}
		now := int64(0)
		for i := range rapid.IntRange(1, 400).Draw(t, "steps") {
			now += rapid.Int64Range(0, 3).Draw(t, "dt")
			first := rapid.IntRange(0, 61*size-1).Draw(t, "id")
			op := rapid.IntRange(0, 9).Draw(t, "op")
			for id := first; id < min(first+size, 61*size); id++ {
				h := number(id)
				switch op {
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
			}
			for id := range 61 * size {
				e, held := want[number(id)]
				_, offset, ok := x.Lookup(number(id), now)
				if ok != (held && now-e.at < window) || (ok && offset != e.offset) {
					t.Fatalf("id %d: offset %d %v, want %+v %v", id, offset, ok, e, held)
				}
			}
		}
	})
}
