package store

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Deleted messages give their disk space back without further writes.
func TestDeleteMessagesFreesDisk(t *testing.T) {
	o := memOptions(vfs.NewMem())
	o.MemTableBytes = 1 << 20
	s := mustOpen(t, o)
	t.Cleanup(func() { _ = s.Close() })
	data := make([]byte, 64<<10)
	const n = 512
	for i := range int64(n) {
		apply(t, s, func(b *Batch) {
			b.PutMessage(1, 0, &Message{Offset: i, SeqNo: i + 1, WrittenMs: 1, Codec: 1, Data: data})
			b.PutState(1, 0, State{End: i + 1, Bytes: (i + 1) * int64(len(data))})
			if i%16 == 15 {
				b.PutMark(1, 0, i+1, (i+1)*int64(len(data)))
			}
		})
	}
	before := s.db.Metrics().DiskSpaceUsage()
	mark, ok, err := s.LastMark(1, 0, 500)
	if err != nil || !ok || mark.Offset != 496 || mark.Bytes != 496*int64(len(data)) {
		t.Fatalf("mark %v %v %v", mark, ok, err)
	}
	apply(t, s, func(b *Batch) {
		b.DeleteMessages(1, 0, 0, n-1, (n-1)*int64(len(data)))
		b.PutState(1, 0, State{Start: n - 1, End: n, Bytes: n * int64(len(data))})
	})
	if _, ok, err := s.LastMark(1, 0, 500); ok || err != nil {
		t.Errorf("a mark is left: %v", err)
	}
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range 1000 {
		if s.db.Metrics().DiskSpaceUsage() < before/2 {
			return
		}
		<-ticker.C
	}
	t.Errorf("%d bytes of %d are still in use", s.db.Metrics().DiskSpaceUsage(), before)
}
