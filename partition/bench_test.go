package partition

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"sqsgate/codec"
)

// BenchmarkWrite measures the pool against a server that stores nothing but
// slices in memory: 1 KiB messages, calls from many goroutines.
func BenchmarkWrite(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 1024)
	for _, groups := range []bool{false, true} {
		for _, batch := range []int{1, 10} {
			b.Run(fmt.Sprintf("groups=%v/batch=%d", groups, batch), func(b *testing.B) {
				s := newScripted(Info{ID: 0, Active: true})
				s.amnesia = true
				p, err := New(Options{Topics: s.client()})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				b.SetParallelism(64)
				b.RunParallel(func(pb *testing.PB) {
					msgs := make([]Message, batch)
					for i := range msgs {
						msgs[i].Record = codec.Record{Codec: codec.Raw, Data: body}
					}
					for n := 0; pb.Next(); n++ {
						if groups {
							for i := range msgs {
								msgs[i].Group = fmt.Sprint("group-", n%97, i)
							}
						}
						for _, r := range p.Write(context.Background(), standard, msgs) {
							if r.Err != nil {
								b.Error(r.Err)
							}
						}
					}
				})
				b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "msg/s")
				if err := p.Close(context.Background()); err != nil {
					b.Error(err)
				}
			})
		}
	}
}
