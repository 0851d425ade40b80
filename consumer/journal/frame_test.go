package journal

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sqsgate/consumer/lease"
)

var testKey = Key{Incarnation: 0xfeedbeef01020304, Partition: 3}

func opsRecord(epoch int64, lsn uint64, ops ...lease.Op) *record {
	return &record{typ: typeOps, key: testKey, epoch: epoch, lsn: lsn, wall: 1_700_000_000_000, ops: ops}
}

func TestRecordRoundTrip(t *testing.T) {
	wall := int64(1_700_000_000_000)
	for name, r := range map[string]*record{
		"epoch": {typ: typeEpoch, key: testKey, epoch: 7, wall: wall, owner: "10.0.0.1:9324"},
		"every op": opsRecord(7, 12,
			lease.Op{Kind: lease.OpLease, Offset: 1000, Count: 10, Time: wall - 5, Deadline: wall + 30_000},
			lease.Op{Kind: lease.OpDelete, Offset: 5, Count: 990},
			lease.Op{Kind: lease.OpVisible, Offset: 1001, Deadline: wall + 43_200_000},
			lease.Op{Kind: lease.OpVisible, Offset: 1002},
			lease.Op{Kind: lease.OpMove, Offset: 1 << 50, Sequence: 9},
			lease.Op{Kind: lease.OpMove, Offset: 1<<50 + 1, Sequence: 10, Target: 1<<64 - 1},
			lease.Op{Kind: lease.OpMoved, Sequence: 9},
			lease.Op{Kind: lease.OpUnmoved, Offset: 1003, Deadline: wall + 1},
			lease.Op{Kind: lease.OpPurge, Offset: 2000},
			lease.Op{Kind: lease.OpAttempt, Offset: 1000, Count: 3, Time: wall - 5, Hash: lease.Hash{1, 15: 16}},
			lease.Op{Kind: lease.OpAttempt, Offset: 1007, Count: 1, Time: wall - 5},
			lease.Op{Kind: lease.OpDuplicate, Offset: 1010, Count: 2, Time: wall - 250_000},
			lease.Op{Kind: lease.OpDeadLetter, Offset: 1<<50 + 2, Sequence: 11, Target: 5},
			lease.Op{Kind: lease.OpReturn, Offset: 1<<50 - 7},
			lease.Op{Kind: lease.OpInherit, Offset: 3, Target: 4, Time: wall - 1000},
			lease.Op{Kind: lease.OpInherit, Offset: 1 << 60, Target: 5},
			lease.Op{Kind: lease.OpElderDuplicate, Offset: 17, Target: 4, Count: 2, Time: wall - 2000},
		),
		"snapshot chunk": {
			typ: typeSnapshot, key: testKey, epoch: 1, lsn: 2, wall: wall,
			snapshot: 1, chunk: 1, chunks: 3, chunkBytes: []byte("state"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decode(r.encode())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r, got, cmp.AllowUnexported(record{})); diff != "" {
				t.Errorf("decoded record differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefusesDamage(t *testing.T) {
	good := opsRecord(1, 1, lease.Op{Kind: lease.OpDelete, Offset: 5, Count: 1}).encode()
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		if _, err := decode(bad); !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d flipped: error %v, want ErrDamaged", i, err)
		}
		if _, err := decode(good[:i]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d bytes: error %v, want ErrDamaged", i, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(opsRecord(1, 1, lease.Op{Kind: lease.OpDelete, Offset: 5, Count: 1}).encode())
	f.Add((&record{typ: typeEpoch, key: testKey, epoch: 1, owner: "a"}).encode())
	f.Add((&record{typ: typeSnapshot, key: testKey, epoch: 1, lsn: 1, snapshot: 1, chunks: 1, chunkBytes: []byte{1}}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decode(b)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("error %v does not wrap ErrDamaged", err)
			}
			return
		}
		again, err := decode(r.encode())
		if err != nil {
			t.Fatalf("an encoded record does not decode: %v", err)
		}
		if diff := cmp.Diff(r, again, cmp.AllowUnexported(record{})); diff != "" {
			t.Fatalf("records differ:\n%s", diff)
		}
	})
}

func TestFold(t *testing.T) {
	del := func(offset int64) lease.Op { return lease.Op{Kind: lease.OpDelete, Offset: offset, Count: 1} }
	epoch := func(e int64) *record { return &record{typ: typeEpoch, key: testKey, epoch: e} }
	chunk := func(e int64, lsn, id, k, m uint64, data string) *record {
		return &record{typ: typeSnapshot, key: testKey, epoch: e, lsn: lsn, snapshot: id, chunk: k, chunks: m, chunkBytes: []byte(data)}
	}
	for _, tt := range []struct {
		name     string
		records  []*record
		snapshot string
		ops      []int64 // offsets of the deletes that count
		offset   int64   // where the needed records begin
		damaged  bool
	}{
		{name: "empty", records: []*record{epoch(1)}, offset: -1},
		{
			name:    "from the beginning",
			records: []*record{epoch(1), opsRecord(1, 1, del(1)), opsRecord(1, 2, del(2))},
			ops:     []int64{1, 2}, offset: 1,
		},
		{
			name: "an owner wrote behind its successor",
			records: []*record{
				epoch(1), opsRecord(1, 1, del(1)), epoch(2), opsRecord(1, 2, del(90)), opsRecord(2, 2, del(2)),
			},
			damaged: true,
		},
		{
			name: "the server had forgotten the producer",
			records: []*record{
				epoch(7), opsRecord(7, 1, del(1)), epoch(1), epoch(8), opsRecord(8, 2, del(2)),
			},
			ops: []int64{1, 2}, offset: 1,
		},
		{
			name: "a snapshot replaces what is before it",
			records: []*record{
				epoch(1), opsRecord(1, 1, del(1)), chunk(1, 2, 2, 0, 2, "ab"), chunk(1, 3, 2, 1, 2, "cd"), opsRecord(1, 4, del(2)),
			},
			snapshot: "abcd", ops: []int64{2}, offset: 2,
		},
		{
			name: "half a snapshot does not count",
			records: []*record{
				epoch(1), opsRecord(1, 1, del(1)), chunk(1, 2, 2, 0, 2, "ab"), epoch(2), opsRecord(2, 3, del(2)),
			},
			ops: []int64{1, 2}, offset: 1,
		},
		{
			name:     "trimmed to a snapshot",
			records:  []*record{opsRecord(3, 8, del(1)), chunk(3, 9, 9, 0, 1, "s"), opsRecord(3, 10, del(2))},
			snapshot: "s", ops: []int64{2}, offset: 1,
		},
		{
			name:    "the beginning is missing",
			records: []*record{opsRecord(3, 8, del(1))}, damaged: true,
		},
		{
			name:    "a record in the middle is missing",
			records: []*record{epoch(1), opsRecord(1, 1, del(1)), opsRecord(1, 3, del(3))}, damaged: true,
		},
		{
			name:    "only the end of a snapshot is left",
			records: []*record{chunk(3, 9, 8, 1, 2, "s"), opsRecord(3, 10, del(2))}, damaged: true,
		},
		{
			name:    "a record of another partition",
			records: []*record{{typ: typeOps, key: Key{Incarnation: testKey.Incarnation, Partition: 4}, epoch: 1, lsn: 1}}, damaged: true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fold{key: testKey, replay: Replay{SnapshotOffset: -1}}
			var err error
			for i, r := range tt.records {
				if err = f.add(int64(i), r.encode()); err != nil {
					break
				}
			}
			if err == nil {
				err = f.finish()
			}
			if tt.damaged {
				if !errors.Is(err, ErrDamaged) {
					t.Fatalf("error %v, want ErrDamaged", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var ops []int64
			for _, op := range f.replay.Ops {
				ops = append(ops, op.Offset)
			}
			if diff := cmp.Diff(tt.ops, ops); diff != "" {
				t.Errorf("ops (-want +got):\n%s", diff)
			}
			if got := string(f.replay.Snapshot); got != tt.snapshot {
				t.Errorf("snapshot %q, want %q", got, tt.snapshot)
			}
			if f.replay.SnapshotOffset != tt.offset {
				t.Errorf("needed from %d, want %d", f.replay.SnapshotOffset, tt.offset)
			}
		})
	}
}

func TestPathsDiffer(t *testing.T) {
	seen := make(map[string]string)
	for _, q := range [][2]string{
		{"a", "b"}, {"a/b", "c"}, {"a/__b", "c"}, {"a", "__b"}, {"a_b", "c"}, {"a", "b/c"}, {"a.fifo", "c"}, {"a@b", "c"}, {".a", "b"},
	} {
		p := Path("/local/sqsgate", q[0], q[1])
		if other, taken := seen[p]; taken {
			t.Errorf("%v and %s share %s", q, other, p)
		}
		seen[p] = q[0] + " " + q[1]
	}
	if got, want := Path("/local/sqsgate", "/dir/q.fifo", "ydb-sqs-consumer"), "/local/sqsgate/journal/dir/q.fifo/__ydb-sqs-consumer"; got != want {
		t.Errorf("path %s, want %s", got, want)
	}
}
