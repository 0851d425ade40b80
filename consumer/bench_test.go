package consumer_test

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sqsgate/codec"
	"sqsgate/consumer"
	"sqsgate/partition"
)

// backlog is a stack in real time, with messages of 100 bytes that
// wait in its one partition.
type backlog struct {
	*stack
	pool *partition.Pool
	fifo bool
	next int
}

func newBacklog(b *testing.B, fifo bool, waiting int) *backlog {
	b.Helper()
	s := open(b, vfs.NewMem())
	s.createTopic(topic, 1)
	pool, err := partition.New(partition.Options{Topics: s.conn.Topics(), Lanes: 1, MaxQueuedBytes: 256 << 20})
	s.must(err)
	l := &backlog{stack: s, pool: pool, fifo: fifo}
	b.Cleanup(func() {
		s.must(pool.Close(context.Background()))
		s.close()
	})
	for waiting > 0 {
		n := min(waiting, 10_000)
		l.add(n)
		waiting -= n
	}
	return l
}

// add writes messages, on a FIFO queue to a thousand groups.
func (l *backlog) add(count int) {
	l.t.Helper()
	body := make([]byte, 100)
	list := make([]partition.Message, count)
	for i := range list {
		l.next++
		m := codec.Message{Body: body, DelaySeconds: -1}
		if l.fifo {
			m.GroupID, m.DeduplicationID = fmt.Sprint("g", l.next%1000), fmt.Sprint(l.next)
		}
		r, err := codec.Encode(&m)
		l.must(err)
		list[i] = partition.Message{Group: m.GroupID, Record: r}
	}
	for _, r := range l.pool.Write(l.t.Context(), partition.Topic{Path: topic}, list) {
		l.must(r.Err)
		l.c.Wrote(topic, r.Partition, r.Offset)
	}
}

// life receives ten messages and deletes them.
func (l *backlog) life(q *consumer.Queue) {
	got, err := q.Receive(l.t.Context(), consumer.ReceiveRequest{Max: 10, Visibility: time.Hour, Wait: time.Second})
	l.must(err)
	if len(got) == 0 {
		l.t.Fatal("received nothing")
	}
	l.delete(q, got...)
}

func kinds(b *testing.B, waiting []int, bench func(b *testing.B, fifo bool, waiting int)) {
	for _, fifo := range []bool{false, true} {
		for _, n := range waiting {
			b.Run(fmt.Sprintf("fifo=%v/waiting=%d", fifo, n), func(b *testing.B) { bench(b, fifo, n) })
		}
	}
}

// BenchmarkLives sends, receives and deletes ten messages while others wait. The
// rate must not depend on how many.
func BenchmarkLives(b *testing.B) {
	kinds(b, []int{1_000, 1_000_000}, func(b *testing.B, fifo bool, waiting int) {
		l := newBacklog(b, fifo, waiting)
		q := l.c.Queue(spec(fifo))
		l.life(q)
		began := processorTime()
		for b.Loop() {
			l.add(10)
			l.life(q)
		}
		used := processorTime() - began
		b.ReportMetric(float64(10*b.N)/b.Elapsed().Seconds(), "msg/s")
		b.ReportMetric(float64(used.Microseconds())/float64(10*b.N), "cpu-us/msg")
	})
}

// BenchmarkOpen takes a queue over that has messages waiting, up to the first one
// received, and tells what each of them costs in memory.
func BenchmarkOpen(b *testing.B) {
	kinds(b, []int{1_000_000}, func(b *testing.B, fifo bool, waiting int) {
		l := newBacklog(b, fifo, waiting)
		l.life(l.c.Queue(spec(fifo)))
		l.options.BodyCacheBytes = 1 // no bodies
		var held, used float64
		for b.Loop() {
			b.StopTimer()
			l.closeConsumer(l.c)
			before, began := heap(), processorTime()
			b.StartTimer()
			l.c = l.another("next")
			q := l.c.Queue(spec(fifo))
			l.life(q)
			b.StopTimer()
			used += (processorTime() - began).Seconds()
			held = float64(heap()) - float64(before)
			b.StartTimer()
		}
		b.ReportMetric(held/float64(waiting), "B/waiting")
		b.ReportMetric(used/float64(b.N), "cpu-s/op")
	})
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

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
