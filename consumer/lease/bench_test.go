package lease_test

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"sqsgate/consumer/lease"
)

const benchNow = 1_700_000_000_000

// layouts are the queues that are measured: standard without groups, with 1000
// tenants, and with one that is always noisy; FIFO with many and very many groups.
var layouts = []struct {
	name   string
	fifo   bool
	groups int
}{
	{"standard", false, 0},
	{"fair-1k", false, 1000},
	{"noisy", false, 1},
	{"fifo-100", true, 100},
	{"fifo-100k", true, 100_000},
}

// BenchmarkIDs loads a FIFO queue's messages with a deduplication id each.
func BenchmarkIDs(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := lease.New(benchConfig(true))
	o, began := int64(0), processorTime()
	for b.Loop() {
		if o == window {
			m, o = lease.New(benchConfig(true)), 0
		}
		in := loadInput(o, 100_000)
		in.Message.Deduplication = number(int(o))
		m.Step(benchNow, in)
		o++
	}
	b.ReportMetric(float64(processorTime()-began)/float64(b.N), "cpu-ns/step")
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(o), "B/msg")
	runtime.KeepAlive(m)
}

const window, flight = 1_000_000, 120_000

func benchConfig(fifo bool) lease.Config {
	return lease.Config{FIFO: fifo, Window: 1 << 21, MaxInFlight: 1 << 21}
}

func loadInput(offset int64, groups int) lease.Input {
	in := lease.Input{Kind: lease.Load, Message: lease.Message{Offset: offset, WriteTime: benchNow, Delay: -1}}
	if groups > 0 {
		// Neighbours are of different groups, and groups come in a mixed order.
		in.Message.Group = number(int(uint64(offset) * 2_654_435_761 % uint64(groups)))
	}
	return in
}

func loaded(fifo bool, groups int) *lease.Machine {
	m := lease.New(benchConfig(fifo))
	for o := range int64(window) {
		m.Step(benchNow, loadInput(o, groups))
	}
	return m
}

func BenchmarkAdd(b *testing.B) {
	for _, l := range layouts {
		b.Run(l.name, func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			m := lease.New(benchConfig(l.fifo))
			o := int64(0)
			for b.Loop() {
				if o == window {
					b.StopTimer()
					m, o = lease.New(benchConfig(l.fifo)), 0
					b.StartTimer()
				}
				m.Step(benchNow, loadInput(o, l.groups))
				o++
			}
			b.StopTimer()
			for ; o < window; o++ {
				m.Step(benchNow, loadInput(o, l.groups))
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/window, "B/msg")
			runtime.KeepAlive(m)
		})
	}
}

// BenchmarkLife keeps 120,000 of a million messages in flight: each round
// receives ten, deletes the ten oldest leases, and loads ten.
func BenchmarkLife(b *testing.B) {
	for _, l := range layouts {
		for _, op := range []string{"receive", "delete", "load", "all"} {
			if l.groups > 0 && l.groups < 100_000 && op != "all" {
				continue
			}
			b.Run(fmt.Sprintf("%s/%s", l.name, op), func(b *testing.B) { life(b, l.fifo, l.groups, op) })
		}
	}
}

func life(b *testing.B, fifo bool, groups int, op string) {
	m := loaded(fifo, groups)
	var ops []lease.Op
	var out []lease.Delivery
	receive := func() {
		for _, e := range m.Step(benchNow, lease.Input{Kind: lease.Receive, Max: 10, Visibility: 30_000}) {
			out = append(out, e.Deliveries...)
		}
	}
	for len(out) < flight {
		before := len(out)
		if receive(); len(out) == before {
			break // all groups are in flight
		}
	}
	deleted, next := 0, int64(window)
	remove := func() {
		for range 10 {
			d := out[deleted]
			deleted++
			m.Step(benchNow, lease.Input{Kind: lease.Delete, Offset: d.Offset, Attempt: d.Receives})
		}
		if deleted == flight {
			out = append(out[:0], out[deleted:]...)
			deleted = 0
		}
	}
	load := func() {
		for range 10 {
			m.Step(benchNow, loadInput(next, groups))
			next++
		}
	}
	ops = m.TakeOps(ops[:0])
	b.ReportAllocs()
	began := processorTime()
	timed := func(name string, f func()) {
		if op != "all" && op == name {
			b.StartTimer()
			f()
			b.StopTimer()
			return
		}
		f()
	}
	for b.Loop() {
		if op != "all" {
			b.StopTimer()
		}
		timed("delete", remove)
		timed("load", load)
		timed("receive", receive)
		ops = m.TakeOps(ops[:0])
		if op != "all" {
			b.StartTimer()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10, "ns/msg")
	if op == "all" {
		b.ReportMetric(float64(processorTime()-began)/float64(b.N)/30, "cpu-ns/step")
	}
}

// processorTime is what the process has used, on all cores. It holds on a busy
// machine, where the time that passes does not.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAttempt receives ten messages with an attempt id, repeats it, and
// deletes them.
func BenchmarkAttempt(b *testing.B) {
	m := loaded(true, 100_000)
	var ops []lease.Op
	out := make([]lease.Delivery, 0, 10)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		in := lease.Input{Kind: lease.Receive, Max: 10, Visibility: 30_000, AttemptID: number(n)}
		n++
		m.Step(benchNow, in)
		out = append(out[:0], m.Step(benchNow, in)[0].Deliveries...)
		for _, d := range out {
			m.Step(benchNow, lease.Input{Kind: lease.Delete, Offset: d.Offset, Attempt: d.Receives})
			m.Step(benchNow, loadInput(m.Cursor(), 100_000))
		}
		ops = m.TakeOps(ops[:0])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10, "ns/msg")
}

// BenchmarkRelease holds all groups, and then all but one.
func BenchmarkRelease(b *testing.B) {
	m := loaded(true, 100_000)
	for b.Loop() {
		m.Step(benchNow, lease.Input{Kind: lease.Hold})
		m.Step(benchNow, lease.Input{Kind: lease.Release, Groups: []lease.Hash{number(1)}})
	}
}

func BenchmarkExpire(b *testing.B) {
	for _, l := range layouts {
		b.Run(l.name, func(b *testing.B) {
			m := loaded(l.fifo, l.groups)
			now := int64(benchNow)
			n := 0
			for b.Loop() {
				b.StopTimer()
				n = 0
				for n < flight {
					got := 0
					for _, e := range m.Step(now, lease.Input{Kind: lease.Receive, Max: 1000, Visibility: 30_000}) {
						got += len(e.Deliveries)
					}
					if n += got; got == 0 {
						break
					}
				}
				m.TakeOps(nil)
				now += 30_000
				b.StartTimer()
				m.Step(now, lease.Input{Kind: lease.Tick})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/msg")
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	m := loaded(false, 0)
	m.Step(benchNow, lease.Input{Kind: lease.Receive, Max: flight, Visibility: 30_000})
	for o := int64(0); o < flight; o += 2 {
		m.Step(benchNow, lease.Input{Kind: lease.Delete, Offset: o, Attempt: 1})
	}
	var buf []byte
	for b.Loop() {
		buf = m.Snapshot(buf[:0])
	}
	b.ReportMetric(float64(len(buf)), "B")
}

func BenchmarkIndex(b *testing.B) {
	x := lease.NewIndex(300_000, 1<<20)
	n := 0
	for b.Loop() {
		h := number(n)
		if _, _, ok := x.Lookup(h, int64(n/3)); !ok {
			x.Add(h, int64(n/3), 0, int64(n))
		}
		n++
	}
}

// BenchmarkIdle is the memory of a machine without messages.
func BenchmarkIdle(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		m := lease.New(lease.Config{})
		m.Step(benchNow, lease.Input{Kind: lease.Tick})
	}
}
