package lease

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestWheel compares the wheel with a sorted list.
func TestWheel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, w := newPool(), wheel{}
		now := rapid.Int64Range(0, 1<<41).Draw(t, "start")
		if w.pop(&p, now) != 0 {
			t.Fatal("an empty wheel fires")
		}
		type timer struct {
			n  uint32
			at int64
		}
		var want []timer
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "op") {
			case 0, 1:
				far := int64(1) << rapid.IntRange(0, 46).Draw(t, "bits")
				n := p.alloc()
				at := min(now+rapid.Int64Range(0, far).Draw(t, "delay"), maxTime)
				p.nodes[n].at = at
				w.add(&p, n)
				want = append(want, timer{n, at})
			case 2:
				if len(want) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(want)-1).Draw(t, "which")
				w.remove(&p, want[i].n)
				p.release(want[i].n)
				want = slices.Delete(want, i, i+1)
			case 3:
				now += int64(1)<<rapid.IntRange(0, 40).Draw(t, "bits") - 1
				last := int64(0)
				for n := w.pop(&p, now); n != 0; n = w.pop(&p, now) {
					at := p.nodes[n].at
					if at > now || at < last {
						t.Fatalf("timer of %d at %d after %d", at, now, last)
					}
					last = at
					i := slices.Index(want, timer{n, at})
					want = slices.Delete(want, i, i+1)
					p.release(n)
				}
			}
			earliest, ok := w.next(&p)
			if ok != (len(want) > 0) {
				t.Fatalf("next timer %v with %d timers", ok, len(want))
			}
			if ok {
				first := slices.MinFunc(want, func(a, b timer) int { return int(a.at - b.at) })
				if earliest != first.at {
					t.Fatalf("next timer %d, want %d", earliest, first.at)
				}
			}
		}
	})
}

// TestWheelCrowd: with many timers in a far slot the next one is not late.
func TestWheelCrowd(t *testing.T) {
	p, w := newPool(), wheel{}
	for i := range int64(1000) {
		n := p.alloc()
		p.nodes[n].at = 100_000 + (999-i)*7%1000
		w.add(&p, n)
	}
	for now, fired := int64(0), 0; fired < 1000; {
		at, ok := w.next(&p)
		if !ok || at < now {
			t.Fatalf("next timer %d %v after %d", at, ok, now)
		}
		now = at
		for n := w.pop(&p, now); n != 0; n = w.pop(&p, now) {
			if p.nodes[n].at != now {
				t.Fatalf("timer of %d at %d", p.nodes[n].at, now)
			}
			fired++
		}
	}
}

// TestDeadSet compares the set with a plain map.
func TestDeadSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 1000
		d := newDeadSet()
		want := map[int64]bool{}
		low := int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			from := rapid.Int64Range(low, size).Draw(t, "from")
			to := min(size, from+rapid.SampledFrom([]int64{0, 1, 1, 2, 64, 65, 300}).Draw(t, "count"))
			d.add(from, to)
			for o := from; o < to; o++ {
				want[o] = true
			}
			if rapid.IntRange(0, 9).Draw(t, "forget") == 0 {
				at := rapid.Int64Range(low, size).Draw(t, "low")
				d.forget(low, at)
				low = at
			}
		}
		next := int64(size)
		for o := int64(size) - 1; o >= low; o-- {
			if !want[o] {
				next = o
			}
			if d.has(o) != want[o] || d.next(o) != next {
				t.Fatalf("offset %d: %v, next %d; want %v, %d", o, d.has(o), d.next(o), want[o], next)
			}
		}
		end := low - 1
		d.each(low, func(from, to int64) {
			if from <= end || from >= to {
				t.Fatalf("run %d-%d after %d", from, to, end)
			}
			for o := from; o < to; o++ {
				if !want[o] {
					t.Fatalf("run %d-%d holds %d", from, to, o)
				}
				delete(want, o)
			}
			end = to
		})
		for o := range want {
			if o >= low {
				t.Fatalf("no run holds %d", o)
			}
		}
	})
}
