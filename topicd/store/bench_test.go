package store

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// BenchmarkAppend writes 1 KiB messages from 64 writers, each waiting for the
// sync of its request, to 100 partitions on the real disk.
func BenchmarkAppend(b *testing.B) {
	for _, per := range []int{1, 10} {
		b.Run(fmt.Sprintf("batch=%d", per), func(b *testing.B) {
			s := mustOpen(b, Options{Dir: b.TempDir()})
			defer func() { _ = s.Close() }()
			parts := make([]*testPartition, 100)
			for i := range parts {
				parts[i] = &testPartition{topic: 1, id: uint32(i)}
			}
			data := make([]byte, 1024)
			for i := range data {
				data[i] = byte(i * 7)
			}
			var next atomic.Int64
			b.SetBytes(int64(1024 * per))
			b.SetParallelism(32) // times two cores
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					n := next.Add(1)
					msgs := make([]*Message, per)
					for i := range msgs {
						msgs[i] = &Message{SeqNo: n*int64(per) + int64(i) + 1, WrittenMs: n, Codec: 1, Data: data}
					}
					if err := newPutOp(parts[n%100], msgs...).run(b.Context(), s); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N*per)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}
