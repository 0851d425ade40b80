package topicd

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/fullstorydev/grpchan/inprocgrpc"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/durationpb"
)

// virtual runs a test against a server inside a bubble: time passes when
// everybody waits.
func virtual(t *testing.T, o Options, f func(t *testing.T, ts *testServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if o.FS == nil {
			o.FS = vfs.NewMem()
		}
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		ch := new(inprocgrpc.Channel).WithCloner(sharing{})
		s.Register(ch)
		ts := &testServer{Server: s, client: Ydb_Topic_V1.NewTopicServiceClient(ch)}
		// The context of the streams is cancelled before.
		t.Cleanup(func() { runtime.KeepAlive(ts) })
		f(t, ts)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

// createRetained makes a topic that keeps messages for an hour.
func (ts *testServer) createRetained(t *testing.T, retentionMB int64, consumers ...*Ydb_Topic.Consumer) {
	t.Helper()
	res, err := ts.client.CreateTopic(t.Context(), &Ydb_Topic.CreateTopicRequest{
		Path: "t", RetentionPeriod: durationpb.New(time.Hour), RetentionStorageMb: retentionMB, Consumers: consumers,
	})
	wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
}

func (ts *testServer) wantStart(t *testing.T, when string, want int64) {
	t.Helper()
	if got := ts.describe(t, "t").GetPartitions()[0].GetPartitionStats().GetPartitionOffsets().GetStart(); got != want {
		t.Errorf("%s the partition starts at %d, want %d", when, got, want)
	}
}

func (ts *testServer) setOffset(t *testing.T, consumer string, offset int64) {
	t.Helper()
	res, err := ts.client.CommitOffset(t.Context(), &Ydb_Topic.CommitOffsetRequest{Path: "t", Consumer: consumer, Offset: offset})
	wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
}

// Ten messages, one every six minutes; an hour's retention removes them one
// after the other, the last one never. Readers and commits begin at the start.
func TestRetentionByTime(t *testing.T) {
	virtual(t, Options{}, func(t *testing.T, ts *testServer) {
		ts.createRetained(t, 0, &Ydb_Topic.Consumer{Name: "c"})
		w := ts.mustWriter(t, "t", "p", 0)
		for i := range 10 {
			w.write(int64(i+1), strings.Repeat("x", 1024))
			pass(6 * time.Minute)
		}
		ts.wantStart(t, "after an hour", 0)
		pass(13 * time.Minute)
		ts.wantStart(t, "13 minutes later", 3)
		d := ts.describe(t, "t").GetPartitions()[0].GetPartitionStats()
		if d.GetStoreSizeBytes() != 7*1024 {
			t.Errorf("store size %d, want the size of what is left", d.GetStoreSizeBytes())
		}
		r := ts.mustReader(t, "t", "c")
		st := r.recvStart()
		if st.GetCommittedOffset() != 3 {
			t.Errorf("reading starts at %d", st.GetCommittedOffset())
		}
		r.confirm(st.GetPartitionSession().GetPartitionSessionId(), nil, nil)
		r.credit(1 << 20)
		if got := r.take(7); got[0].GetOffset() != 3 {
			t.Errorf("first offset read is %d", got[0].GetOffset())
		}
		pass(4 * time.Hour)
		ts.wantStart(t, "hours later", 9)
	})
}

// The same after a restart: start and sizes are durable.
func TestRetentionIsDurable(t *testing.T) {
	fs := vfs.NewCrashableMem()
	virtual(t, Options{FS: fs}, func(t *testing.T, ts *testServer) {
		ts.createRetained(t, 0)
		w := ts.mustWriter(t, "t", "p", 0)
		for i := range 4 {
			w.write(int64(i+1), strings.Repeat("x", 1<<20))
		}
		pass(2 * time.Hour)
		ts.wantStart(t, "later", 3)
	})
	ts := start(t, Options{FS: fs.CrashClone(vfs.CrashCloneCfg{})})
	ts.wantStart(t, "after the restart", 3)
	if got := ts.describe(t, "t").GetTopicStats().GetStoreSizeBytes(); got != 1<<20 {
		t.Errorf("store size %d after the restart", got)
	}
}

// An important consumer holds what it has not committed, for ever; one with an
// availability period that long; others nothing.
func TestRetentionHolds(t *testing.T) {
	for _, tc := range []struct {
		name      string
		consumer  *Ydb_Topic.Consumer
		committed int64
		early     int64 // start two hours after the last write
		late      int64 // start four hours later
	}{
		{"plain", &Ydb_Topic.Consumer{Name: "c"}, 0, 4, 4},
		{"important", &Ydb_Topic.Consumer{Name: "c", Important: true}, 0, 0, 0},
		{"important, committed", &Ydb_Topic.Consumer{Name: "c", Important: true}, 2, 2, 2},
		{"available", &Ydb_Topic.Consumer{Name: "c", AvailabilityPeriod: durationpb.New(5 * time.Hour)}, 0, 0, 4},
		{"available, committed", &Ydb_Topic.Consumer{Name: "c", AvailabilityPeriod: durationpb.New(5 * time.Hour)}, 2, 2, 4},
		{"available for a minute", &Ydb_Topic.Consumer{Name: "c", AvailabilityPeriod: durationpb.New(time.Minute)}, 0, 4, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			virtual(t, Options{}, func(t *testing.T, ts *testServer) {
				ts.createRetained(t, 0, tc.consumer)
				ts.fill(t, "t", 0, 5)
				ts.setOffset(t, "c", tc.committed)
				pass(2 * time.Hour)
				ts.wantStart(t, "after two hours", tc.early)
				pass(4 * time.Hour)
				ts.wantStart(t, "hours later", tc.late)
			})
		})
	}
}

// A storage limit removes the oldest messages of a partition while at least
// the limit stays, unless an important consumer wants them.
func TestRetentionBySize(t *testing.T) {
	virtual(t, Options{}, func(t *testing.T, ts *testServer) {
		ts.createRetained(t, 4, &Ydb_Topic.Consumer{Name: "c", Important: true})
		w := ts.mustWriter(t, "t", "p", 0)
		for i := range 20 {
			w.write(int64(i+1), strings.Repeat("x", 512<<10))
		}
		pass(time.Minute)
		ts.wantStart(t, "before the commit", 0)
		ts.setOffset(t, "c", 10)
		pass(time.Minute)
		ts.wantStart(t, "after a commit", 10)
		ts.setOffset(t, "c", 20)
		pass(time.Minute)
		ts.wantStart(t, "when all is committed", 12)
		if got := ts.describe(t, "t").GetTopicStats().GetStoreSizeBytes(); got != 4<<20 {
			t.Errorf("store size %d, want the limit", got)
		}
	})
}
