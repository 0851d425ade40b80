package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// model is what the test knows about one partition: message n has seqno n+1
// and a body that follows from partition and offset.
type model struct {
	p     *testPartition
	acked atomic.Int64 // messages acknowledged
}

func body(part uint32, offset int64) string {
	return fmt.Sprintf("%d/%d/%s", part, offset, strings.Repeat("x", int(offset%700)))
}

func (m *model) put(from int64, n int) *putOp {
	msgs := make([]*Message, n)
	for i := range msgs {
		off := from + int64(i)
		msgs[i] = &Message{SeqNo: off + 1, WrittenMs: 1000 + off, Codec: 1, Producer: "p", Data: []byte(body(m.p.id, off))}
	}
	return newPutOp(m.p, msgs...)
}

// verify checks that a store holds at least the first acked[i] messages of
// each partition, nothing with holes, and producers that agree with them.
func verify(t *testing.T, s *Store, models []*model, acked []int64) {
	t.Helper()
	states, err := s.States(7)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range models {
		st := states[m.p.id]
		if st.End < acked[i] {
			t.Errorf("partition %d ends at %d, %d were acknowledged", m.p.id, st.End, acked[i])
		}
		msgs, err := s.Read(nil, 7, m.p.id, 0, 1<<40, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(msgs)) != st.End {
			t.Errorf("partition %d holds %d messages and ends at %d", m.p.id, len(msgs), st.End)
		}
		for off, msg := range msgs {
			if msg.Offset != int64(off) || string(msg.Data) != body(m.p.id, int64(off)) || msg.SeqNo != int64(off)+1 || msg.Producer != "p" {
				t.Fatalf("partition %d offset %d holds %+v", m.p.id, off, msg)
			}
		}
		prod, _, err := s.Producer(7, m.p.id, "p")
		if err != nil || prod.SeqNo != st.End {
			t.Errorf("producer of partition %d is at %d (%v), the partition ends at %d", m.p.id, prod.SeqNo, err, st.End)
		}
	}
}

// A crash in front of any sync loses nothing that was acknowledged, whichever
// part of the unsynced data survives.
func TestCrashAtEverySync(t *testing.T) {
	mem := vfs.NewCrashableMem()
	type crash struct {
		fs    *vfs.MemFS
		acked []int64
	}
	models := make([]*model, 4)
	for i := range models {
		models[i] = &model{p: &testPartition{topic: 7, id: uint32(i)}}
	}
	var mu sync.Mutex
	var crashes []crash
	rng := rand.New(rand.NewPCG(1, 2)) // reproducible
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind != errorfs.OpFileSync && op.Kind != errorfs.OpFileSyncData && op.Kind != errorfs.OpFileSyncTo {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		acked := make([]int64, len(models))
		for i, m := range models {
			acked[i] = m.acked.Load()
		}
		percent := rng.IntN(3) * 50
		crashes = append(crashes, crash{mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng}), acked})
		return nil
	}))
	s := mustOpen(t, memOptions(fs))
	var wg sync.WaitGroup
	for _, m := range models {
		wg.Go(func() {
			for from := int64(0); from < 400; {
				n := 1 + int(from%5)
				if err := m.put(from, n).run(t.Context(), s); err != nil {
					t.Error(err)
					return
				}
				from += int64(n)
				m.acked.Store(from)
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d syncs", len(crashes))
	if len(crashes) < 100 {
		t.Errorf("only %d syncs were seen; the test needs more", len(crashes))
	}
	for i, c := range crashes {
		if i%3 != 0 && i < len(crashes)-20 {
			continue // a third of them keeps the test short
		}
		re, err := Open(memOptions(c.fs))
		if err != nil {
			t.Fatalf("crash %d: %v", i, err)
		}
		verify(t, re, models, c.acked)
		if err := re.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReopenKeepsEverything(t *testing.T) {
	mem := vfs.NewMem()
	m := &model{p: &testPartition{topic: 7, id: 3}}
	s := mustOpen(t, memOptions(mem))
	for from := int64(0); from < 2000; from += 20 {
		if err := m.put(from, 20).run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, s, func(b *Batch) {
		b.PutEntry("/local/a", []byte("A"))
		b.PutEntry("/local/b", []byte("B"))
		b.DeleteEntry("/local/a")
		b.PutCounter(99)
		b.PutCommit(7, 3, "c", 17)
		b.PutCommit(7, 3, "d", 18)
		b.DeleteCommit(7, 3, "d")
		b.PutChoice(7, "p", 3)
		b.PutState(8, 0, State{End: 0, WrittenMs: 5})
		b.PutProducer(8, 0, "p", Producer{SeqNo: 5})
		b.DropTopic(8)
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, memOptions(mem))
	defer func() { _ = s.Close() }()
	verify(t, s, []*model{m}, []int64{2000})
	var entries, commits []string
	if err := s.Entries(func(path string, value []byte) error {
		entries = append(entries, path+"="+string(value))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Commits(7, func(part uint32, consumer string, offset int64) {
		commits = append(commits, fmt.Sprint(part, consumer, offset))
	}); err != nil {
		t.Fatal(err)
	}
	n, err := s.Counter()
	part, ok, cerr := s.Choice(7, "p")
	if fmt.Sprint(entries, commits, n, part, ok, err, cerr) != "[/local/b=B] [3c17] 99 3 true <nil> <nil>" {
		t.Errorf("got %v %v %d %d %v %v %v", entries, commits, n, part, ok, err, cerr)
	}
	if st, err := s.States(8); err != nil || len(st) != 0 {
		t.Errorf("the dropped topic has %v, %v", st, err)
	}
	if _, ok, err := s.Producer(8, 0, "p"); ok || err != nil {
		t.Errorf("the dropped topic's producer is known: %v, %v", ok, err)
	}
	at, err := s.Seek(7, 3, 0, 2000, 1000+1234)
	if err != nil || at != 1234 {
		t.Errorf("Seek found %d, %v", at, err)
	}
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, Options{Dir: dir})
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, Options{Dir: dir})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// usageFS reports the free space that the test sets.
type usageFS struct {
	vfs.FS
	avail atomic.Uint64
}

func (f *usageFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: f.avail.Load()}, nil
}

// Below the reserve messages are refused and control writes pass; with room
// again the store goes on where it was.
func TestDiskFullRefusesAndRecovers(t *testing.T) {
	fs := &usageFS{FS: vfs.NewMem()}
	fs.avail.Store(1 << 30)
	o := memOptions(fs)
	o.MinFreeBytes = 1 << 20
	s := mustOpen(t, o)
	defer func() { _ = s.Close() }()
	m := &model{p: &testPartition{topic: 7}}
	if err := m.put(0, 3).run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	fs.avail.Store(1000)
	if err := m.put(3, 2).run(t.Context(), s); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("a write on a full disk: %v", err)
	}
	apply(t, s, func(b *Batch) { b.PutCommit(7, 0, "c", 2) })
	fs.avail.Store(1 << 30)
	if err := m.put(3, 4).run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	verify(t, s, []*model{m}, []int64{7})
}

// When the write-ahead log cannot be written (the disk filled faster than
// the reserve) or synced, nothing more is acknowledged, Failed is closed, and
// after reopening everything acknowledged is there.
func TestLogFailureStopsTheStore(t *testing.T) {
	for _, tc := range []struct {
		name string
		kind errorfs.OpKind
		err  error
	}{
		{"write ENOSPC", errorfs.OpFileWrite, syscall.ENOSPC},
		{"sync EIO", errorfs.OpFileSyncData, syscall.EIO},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			var broken atomic.Bool
			fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if broken.Load() && strings.HasSuffix(op.Path, ".log") &&
					(op.Kind == tc.kind || (tc.kind == errorfs.OpFileSyncData && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncTo))) {
					return tc.err
				}
				return nil
			}))
			s := mustOpen(t, memOptions(fs))
			m := &model{p: &testPartition{topic: 7}}
			for from := int64(0); from < 100; from += 10 {
				if err := m.put(from, 10).run(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			broken.Store(true)
			if err := m.put(100, 1).run(t.Context(), s); !errors.Is(err, ErrFailed) {
				t.Fatalf("a write that cannot be synced: %v", err)
			}
			select {
			case <-s.Failed():
			case <-time.After(5 * time.Second):
				t.Fatal("the store did not report its failure")
			}
			if err := m.put(101, 1).run(t.Context(), s); !errors.Is(err, ErrFailed) {
				t.Errorf("a write after the failure: %v", err)
			}
			if err := s.Close(); !errors.Is(err, ErrFailed) {
				t.Errorf("Close after the failure: %v", err)
			}
			// Close has abandoned pebble; end its goroutines for the leak check.
			broken.Store(false)
			_ = s.db.Close()
			re := mustOpen(t, memOptions(mem.CrashClone(vfs.CrashCloneCfg{})))
			verify(t, re, []*model{m}, []int64{100})
			if err := re.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
