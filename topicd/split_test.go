package topicd

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/durationpb"
)

type partitionInfo = Ydb_Topic.DescribeTopicResult_PartitionInfo

const (
	scaleUp     = Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_SCALE_UP
	scalePaused = Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_PAUSED
)

// createAuto makes a topic that splits a partition that gets 1000 bytes within 10 seconds.
func (ts *testServer) createAuto(tb testing.TB, path string, strategy Ydb_Topic.AutoPartitioningStrategy, minActive, maxActive int64, consumers ...string) {
	tb.Helper()
	req := &Ydb_Topic.CreateTopicRequest{
		Path: path, PartitionWriteSpeedBytesPerSecond: 200,
		PartitioningSettings: &Ydb_Topic.PartitioningSettings{
			MinActivePartitions: minActive, MaxActivePartitions: maxActive,
			AutoPartitioningSettings: &Ydb_Topic.AutoPartitioningSettings{
				Strategy: strategy,
				PartitionWriteSpeed: &Ydb_Topic.AutoPartitioningWriteSpeedStrategy{
					StabilizationWindow: durationpb.New(10 * time.Second), UpUtilizationPercent: 50, DownUtilizationPercent: 10,
				},
			},
		},
	}
	for _, c := range consumers {
		req.Consumers = append(req.Consumers, &Ydb_Topic.Consumer{Name: c})
	}
	res, err := ts.client.CreateTopic(tb.Context(), req)
	wantStatus(tb, Ydb.StatusIds_SUCCESS)(res, err)
}

// startControlled is start with a Control.
func startControlled(tb testing.TB, o Options) (*testServer, *Control) {
	tb.Helper()
	o.Control = NewControl()
	return start(tb, o), o.Control
}

func TestMiddleOf(t *testing.T) {
	t.Parallel()
	all := bytes.Repeat([]byte{0xff}, 16)
	for _, tc := range []struct{ name, from, to, want string }{
		{"whole space", "", "", "\x7f"},
		{"lower half", "", "\x80", "\x40" + zeros(15)},
		{"upper half", "\x80", "", "\xc0" + zeros(15)},
		{"short bounds", "\x10", "\x30", "\x20" + zeros(15)},
		{"no key between", "\x10" + zeros(14) + "\x01", "\x10" + zeros(14) + "\x02", ""},
		{"last key", string(all), "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(middleOf([]byte(tc.from), []byte(tc.to))); got != tc.want {
				t.Errorf("got %x, want %x", got, tc.want)
			}
		})
	}
}

func zeros(n int) string { return string(make([]byte, n)) }

// The bytes of the producers, not their number, place the boundary.
func TestBoundaryBalancesBytes(t *testing.T) {
	t.Parallel()
	cfg := &topicConfig{Auto: autoConfig{Strategy: int32(scaleUp), WindowMs: 10_000, UpPercent: 50}, WriteSpeed: 1 << 20}
	var names []string
	for i := range 9 {
		names = append(names, fmt.Sprint("p", i))
	}
	hash := func(id string) []byte { h := md5.Sum([]byte(id)); return h[:] }
	slices.SortFunc(names, func(a, b string) int { return bytes.Compare(hash(a), hash(b)) })
	var l writeLoad
	now := time.Unix(1000, 0)
	for i, name := range names {
		n := int64(10)
		if i == 0 {
			n = 1000 // more than all others together
		}
		l.add(now, cfg, name, n)
	}
	at := l.boundary(nil, nil)
	if bytes.Compare(at, hash(names[0])) <= 0 || bytes.Compare(at, hash(names[1])) > 0 {
		t.Errorf("boundary %x, want one between %x and %x", at, hash(names[0]), hash(names[1]))
	}
	if got := l.boundary(hash(names[8]), nil); got != nil {
		t.Errorf("one producer in the range has boundary %x", got)
	}
}

func TestSlidingSumForgets(t *testing.T) {
	t.Parallel()
	w := slidingSum{span: 32 * time.Second}
	at := time.Unix(5000, 0)
	w.add(at, 100)
	w.add(at.Add(20*time.Second), 10)
	if w.sum != 110 {
		t.Errorf("sum %d, want 110", w.sum)
	}
	w.add(at.Add(40*time.Second), 1)
	if w.sum != 11 {
		t.Errorf("sum %d after the first slice left, want 11", w.sum)
	}
	w.add(at.Add(time.Hour), 5)
	if w.sum != 5 {
		t.Errorf("sum %d after a pause, want 5", w.sum)
	}
}

// A forced split: graph, ranges, refusal of writes, memory of producers.
func TestSplit(t *testing.T) {
	ts, control := startControlled(t, Options{})
	ts.createAuto(t, "t", scaleUp, 2, 0)
	idle := ts.mustWriter(t, "t", "known", 0)
	idle.write(7, "a")
	if err := control.Split("t", 0); err != nil {
		t.Fatal(err)
	}
	d := ts.describe(t, "t")
	half := bytes.Repeat([]byte{0xff}, 16)
	half[0], half[15] = 0x7f, 0xfe
	quarter := append([]byte{0x3f}, bytes.Repeat([]byte{0xff}, 15)...)
	type shape struct {
		ID                int64
		Active            bool
		From, To          []byte
		Parents, Children []int64
	}
	var got []shape
	for _, p := range d.GetPartitions() {
		got = append(got, shape{
			p.GetPartitionId(), p.GetActive(), p.GetKeyRange().GetFromBound(), p.GetKeyRange().GetToBound(),
			p.GetParentPartitionIds(), p.GetChildPartitionIds(),
		})
	}
	want := []shape{
		{0, false, nil, half, nil, []int64{2, 3}},
		{1, true, half, nil, nil, nil},
		{2, true, nil, quarter, []int64{0}, nil},
		{3, true, quarter, half, []int64{0}, nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	idle.request(1, message(8, "b"))
	idle.wantEnd(Ydb.StatusIds_OVERLOADED, "inactive partition 0")
	_, m := ts.openWriter(t, &Ydb_Topic.StreamWriteMessage_InitRequest{Path: "t", ProducerId: "known", Partitioning: partitionID(0)})
	if m.GetStatus() != Ydb.StatusIds_OVERLOADED {
		t.Errorf("opening the parent answered %v", m)
	}
	w, m := ts.openWriter(t, &Ydb_Topic.StreamWriteMessage_InitRequest{Path: "t", ProducerId: "known"})
	if w.init.GetLastSeqNo() != 7 || !slices.Contains([]int64{2, 3}, w.init.GetPartitionId()) {
		t.Fatalf("the producer of the parent got %v", m)
	}
	w.request(1, message(7, "again"), message(8, "b"))
	acks := w.acks()
	if acks[0].GetSkipped() == nil || acks[1].GetWritten() == nil {
		t.Errorf("acks %v, want skipped and written", acks)
	}
	if err := control.Split("t", 0); err == nil {
		t.Error("an inactive partition was split")
	}
	ts.createTopic(t, "fixed", 1)
	if err := control.Split("fixed", 0); err == nil {
		t.Error("a partition of a fixed topic was split")
	}
}

// The load decides: speed over the window, two producers, room for more.
func TestSplitByLoad(t *testing.T) {
	for _, tc := range []struct {
		name      string
		strategy  Ydb_Topic.AutoPartitioningStrategy
		maxActive int64
		producers int
		splits    bool
	}{
		{"two producers", scaleUp, 4, 2, true},
		{"one producer", scaleUp, 4, 1, false},
		{"paused", scalePaused, 4, 2, false},
		{"all partitions there", scaleUp, 1, 2, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ts := start(t, Options{})
			ts.createAuto(t, "t", tc.strategy, 1, tc.maxActive)
			data := string(bytes.Repeat([]byte{'x'}, 600))
			for i := range tc.producers {
				ts.mustWriter(t, "t", fmt.Sprint("p", i), 0).write(1, data)
			}
			if tc.producers == 1 {
				ts.mustWriter(t, "t", "p0", 0).write(2, data)
			}
			// The split is under way when the last write is answered. Each try of
			// the loop is a call to the server.
			var parts []*partitionInfo
			for range 200 {
				if parts = ts.describe(t, "t").GetPartitions(); len(parts) > 1 {
					break
				}
			}
			if (len(parts) == 3) != tc.splits {
				t.Fatalf("%d partitions, want a split: %v", len(parts), tc.splits)
			}
			if !tc.splits {
				return
			}
			at := parts[2].GetKeyRange().GetFromBound()
			a, b := md5.Sum([]byte("p0")), md5.Sum([]byte("p1"))
			if (bytes.Compare(a[:], at) < 0) == (bytes.Compare(b[:], at) < 0) {
				t.Errorf("boundary %x does not part %x and %x", at, a, b)
			}
		})
	}
}

// A split survives a crash as a whole, with the memory of producers.
func TestSplitSurvivesCrash(t *testing.T) {
	fs := vfs.NewCrashableMem()
	ts, control := startControlled(t, Options{FS: fs})
	ts.createAuto(t, "t", scaleUp, 1, 0)
	ts.mustWriter(t, "t", "known", 0).write(41, "a")
	if err := control.Split("t", 0); err != nil {
		t.Fatal(err)
	}
	before := ts.describe(t, "t").GetPartitions()
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	ts.stop()
	ts = start(t, Options{FS: crashed})
	after := ts.describe(t, "t").GetPartitions()
	for i := range before {
		if b, a := fmt.Sprint(before[i].GetKeyRange(), before[i].GetActive(), before[i].GetChildPartitionIds()),
			fmt.Sprint(after[i].GetKeyRange(), after[i].GetActive(), after[i].GetChildPartitionIds()); a != b {
			t.Errorf("partition %d was %s and is %s", i, b, a)
		}
	}
	w, m := ts.openWriter(t, &Ydb_Topic.StreamWriteMessage_InitRequest{Path: "t", ProducerId: "known"})
	if w.init.GetLastSeqNo() != 41 || w.init.GetPartitionId() == 0 {
		t.Errorf("the producer got %v", m)
	}
}

// A strategy chosen later gives key ranges to the partitions that are there.
func TestAlterToAutoPartitioning(t *testing.T) {
	ts, control := startControlled(t, Options{})
	ts.createTopic(t, "t", 2)
	res, err := ts.client.AlterTopic(t.Context(), &Ydb_Topic.AlterTopicRequest{
		Path: "t", AlterPartitioningSettings: &Ydb_Topic.AlterPartitioningSettings{
			AlterAutoPartitioningSettings: &Ydb_Topic.AlterAutoPartitioningSettings{SetStrategy: ptr(scaleUp)},
		},
	})
	wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
	if got := ts.describe(t, "t").GetPartitions()[0].GetKeyRange().GetToBound(); len(got) != 16 || got[0] != 0x7f {
		t.Errorf("first partition ends at %x", got)
	}
	if err := control.Split("t", 1); err != nil {
		t.Fatal(err)
	}
}
