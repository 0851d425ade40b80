package topicd

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/topicd/store"
)

// writeID writes a message with a deduplication id; false when it was skipped.
func (w *writer) writeID(seqNo int64, id string) bool {
	w.tb.Helper()
	m := message(seqNo, "data")
	m.MetadataItems = []*Ydb_Topic.MetadataItem{{Key: "other", Value: []byte("x")}, {Key: dedupKey, Value: []byte(id)}}
	w.request(1, m)
	return w.acks()[0].GetWritten() != nil
}

// An id is written once in five minutes per partition, by whatever producer.
func TestDeduplicationByID(t *testing.T) {
	fs := vfs.NewCrashableMem()
	virtual(t, Options{FS: fs}, func(t *testing.T, ts *testServer) {
		ts.createTopic(t, "t", 2)
		w := ts.mustWriter(t, "t", "p", 0)
		other := ts.mustWriter(t, "t", "q", 0)
		none := ts.mustWriter(t, "t", "", 0)
		if !w.writeID(1, "a") || w.writeID(2, "a") || other.writeID(1, "a") || none.writeID(1, "a") {
			t.Error("the id is not written exactly once")
		}
		if !ts.mustWriter(t, "t", "p2", 1).writeID(1, "a") {
			t.Error("another partition refused the id")
		}
		if got := ts.mustWriter(t, "t", "p", 0).init.GetLastSeqNo(); got != 2 {
			t.Errorf("last seqno %d, want that of the duplicate", got)
		}
		pass(4*time.Minute + 59*time.Second)
		if other.writeID(2, "a") {
			t.Error("written again within five minutes")
		}
		pass(time.Second)
		if !other.writeID(3, "a") || other.writeID(4, "a") {
			t.Error("after five minutes the id is not written exactly once")
		}
	})
	// The bubble's clock begins in the past: only the memory of the ids is left.
	s, err := store.Open(store.Options{Dir: "topicd", FS: fs.CrashClone(vfs.CrashCloneCfg{})})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := s.DedupIDs(2, 0, func(store.DedupID, int64) { n++ }); err != nil || n != 1 {
		t.Errorf("%d ids in the store, %v", n, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Ids are remembered over a crash, and by the children of a split partition.
func TestDeduplicationSurvives(t *testing.T) {
	fs := vfs.NewCrashableMem()
	ts := start(t, Options{FS: fs})
	ts.createAuto(t, "t", scaleUp, 1, 0)
	ts.mustWriter(t, "t", "p", 0).writeID(1, "a")
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	ts.stop()
	ts, control := startControlled(t, Options{FS: crashed})
	if ts.mustWriter(t, "t", "q", 0).writeID(1, "a") {
		t.Error("written again after a crash")
	}
	if err := control.Split("t", 0); err != nil {
		t.Fatal(err)
	}
	for child := range int64(2) {
		if ts.mustWriter(t, "t", "r", child+1).writeID(1, "a") {
			t.Errorf("written again to child %d", child+1)
		}
	}
}

func TestDedupIndexIsBounded(t *testing.T) {
	t.Parallel()
	var x dedupIndex
	forgotten := 0
	id := func(i int) (id store.DedupID) {
		binary.BigEndian.PutUint64(id[:], uint64(i))
		return id
	}
	for i := range maxDedupIDs + 1000 {
		x.trim(1, func(store.DedupID) { forgotten++ })
		x.add(id(i), 1)
	}
	if len(x.at) > maxDedupIDs+1 || forgotten != 999 || x.seen(id(0), 1) || !x.seen(id(1000), 1) {
		t.Errorf("%d ids are kept, %d were forgotten", len(x.at), forgotten)
	}
	x.trim(1+dedupWindow.Milliseconds(), func(store.DedupID) {})
	if len(x.at) != 0 || len(x.order) != 0 {
		t.Errorf("%d ids are left after the window", len(x.at))
	}
}
