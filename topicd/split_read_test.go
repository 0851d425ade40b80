package topicd

import (
	"context"
	"testing"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

func (ts *testServer) awareReader(tb testing.TB, consumer string, partitions ...int64) *reader {
	tb.Helper()
	return ts.awareReaderContext(tb.Context(), tb, consumer, partitions...)
}

func (ts *testServer) awareReaderContext(ctx context.Context, tb testing.TB, consumer string, partitions ...int64) *reader {
	tb.Helper()
	r, m := ts.openReaderContext(ctx, tb, &readInit{
		Consumer: consumer, AutoPartitioningSupport: true,
		TopicsReadSettings: []*topicToRead{{Path: "t", PartitionIds: partitions}},
	})
	if m.GetStatus() != Ydb.StatusIds_SUCCESS {
		tb.Fatalf("init answered %v", m)
	}
	return r
}

// accept takes the next partition, which must be this one, and returns its session.
func (r *reader) accept(partition int64) int64 {
	r.tb.Helper()
	st := r.recvStart()
	if got := st.GetPartitionSession().GetPartitionId(); got != partition {
		r.tb.Fatalf("got partition %d, want %d", got, partition)
	}
	id := st.GetPartitionSession().GetPartitionSessionId()
	r.confirm(id, nil, nil)
	return id
}

func (r *reader) recvEnd(session int64) {
	r.tb.Helper()
	m := r.recv()
	end := m.GetEndPartitionSession()
	if end == nil || end.GetPartitionSessionId() != session || len(end.GetChildPartitionIds()) != 2 {
		r.tb.Fatalf("got %v, want the end of session %d with two children", m, session)
	}
}

// wantNothing fails when the server has something to say: whatever it sends
// because of what was sent before comes ahead of the answer to this question.
func (r *reader) wantNothing(session int64) {
	r.tb.Helper()
	r.send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_PartitionSessionStatusRequest{
			PartitionSessionStatusRequest: &Ydb_Topic.StreamReadMessage_PartitionSessionStatusRequest{PartitionSessionId: session},
		},
	})
	if m := r.recv(); m.GetPartitionSessionStatusResponse() == nil {
		r.tb.Fatalf("got %v, want nothing", m)
	}
}

func splitTopic(t *testing.T) (*testServer, *Control) {
	t.Helper()
	ts, control := startControlled(t, Options{})
	ts.createAuto(t, "t", scaleUp, 1, 0, "c")
	ts.fill(t, "t", 0, 3)
	if err := control.Split("t", 0); err != nil {
		t.Fatal(err)
	}
	ts.fill(t, "t", 1, 2)
	ts.fill(t, "t", 2, 2)
	return ts, control
}

// Parent first; its end is told after its last message; the children come to
// the same session; commits of a child wait for the parent's; then another
// session may have a child.
func TestReadSplit(t *testing.T) {
	ts, _ := splitTopic(t)
	r := ts.awareReader(t, "c")
	parent := r.accept(0)
	r.wantNothing(parent)
	other := ts.awareReader(t, "c")
	r.credit(1 << 20)
	r.take(3)
	r.recvEnd(parent)
	left, right := r.accept(1), r.accept(2)
	r.take(4)
	r.commit(left, 0, 2)
	r.wantNothing(left)
	if got := ts.describeConsumer(t, "t", "c").GetPartitions()[1].GetPartitionConsumerStats().GetCommittedOffset(); got != 0 {
		t.Errorf("the child is committed to %d before its parent", got)
	}
	r.commit(parent, 0, 3)
	committed := map[int64]int64{}
	released := int64(0)
	for len(committed) < 2 || released == 0 {
		m := r.recv()
		for _, c := range m.GetCommitOffsetResponse().GetPartitionsCommittedOffsets() {
			committed[c.GetPartitionSessionId()] = c.GetCommittedOffset()
		}
		if stop := m.GetStopPartitionSessionRequest(); stop != nil {
			released = stop.GetPartitionSessionId()
			if !stop.GetGraceful() {
				t.Errorf("the child is taken away by force: %v", stop)
			}
		}
	}
	if committed[parent] != 3 || committed[left] != 2 {
		t.Errorf("committed %v", committed)
	}
	if released != right && released != left {
		t.Fatalf("partition session %d was asked back, want that of a child", released)
	}
	r.send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_StopPartitionSessionResponse{
			StopPartitionSessionResponse: &Ydb_Topic.StreamReadMessage_StopPartitionSessionResponse{PartitionSessionId: released},
		},
	})
	if got := other.recvStart().GetPartitionSession().GetPartitionId(); got == 0 {
		t.Error("the second session got the parent")
	}
}

// A session that begins at the end of a partition that was split is told so
// at once, without any credit: with a consumer and without.
func TestReadStartsAtEndOfSplit(t *testing.T) {
	ts, _ := splitTopic(t)
	res, err := ts.client.CommitOffset(t.Context(), &Ydb_Topic.CommitOffsetRequest{Path: "t", Consumer: "c", Offset: 3})
	wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
	r := ts.awareReader(t, "c")
	starts := map[int64]int64{}
	for range 3 {
		st := r.recvStart()
		starts[st.GetPartitionSession().GetPartitionId()] = st.GetPartitionSession().GetPartitionSessionId()
	}
	r.confirm(starts[0], nil, nil)
	r.recvEnd(starts[0])

	direct := ts.awareReader(t, "", 0)
	id := direct.recvStart().GetPartitionSession().GetPartitionSessionId()
	direct.confirm(id, ptr(int64(3)), nil)
	direct.recvEnd(id)
}

// A session without a consumer that waits at the end learns of the split.
func TestReadDirectSeesSplit(t *testing.T) {
	ts, control := startControlled(t, Options{})
	ts.createAuto(t, "t", scaleUp, 1, 0)
	ts.fill(t, "t", 0, 1)
	r := ts.awareReader(t, "", 0)
	id := r.accept(0)
	r.credit(1 << 20)
	r.take(1)
	r.wantNothing(id)
	if err := control.Split("t", 0); err != nil {
		t.Fatal(err)
	}
	r.recvEnd(id)
}

// A client that does not know of splits gets the children when it has
// committed the parent, and no message it does not know.
func TestReadSplitUnaware(t *testing.T) {
	ts, _ := splitTopic(t)
	r := ts.mustReader(t, "t", "c")
	parent := r.accept(0)
	r.credit(1 << 20)
	r.take(3)
	r.wantNothing(parent)
	r.commit(parent, 0, 3)
	seen := 0
	for range 3 {
		m := r.recv()
		if m.GetStartPartitionSessionRequest() != nil {
			seen++
		} else if m.GetCommitOffsetResponse() == nil {
			t.Fatalf("got %v", m)
		}
	}
	if seen != 2 {
		t.Errorf("%d children, want 2", seen)
	}
}

// When the parent's reader dies, the children close again until the next one
// has read the parent.
func TestReadSplitReaderDies(t *testing.T) {
	ts, _ := splitTopic(t)
	ctx, cancel := context.WithCancel(t.Context())
	first := ts.awareReaderContext(ctx, t, "c")
	parent := first.accept(0)
	first.credit(1 << 20)
	first.take(3)
	first.recvEnd(parent)
	first.accept(1)
	second := ts.awareReader(t, "c")
	cancel()
	id := second.accept(0)
	second.wantNothing(id)
	second.credit(1 << 20)
	second.take(3)
	second.recvEnd(id)
	second.accept(1)
}

// An offset set on a child commits the parent to its end; going back on the
// parent makes the child unread.
func TestCommitOffsetOnSplit(t *testing.T) {
	ts, _ := splitTopic(t)
	set := func(partition, offset int64) {
		t.Helper()
		res, err := ts.client.CommitOffset(t.Context(), &Ydb_Topic.CommitOffsetRequest{
			Path: "t", Consumer: "c", PartitionId: partition, Offset: offset,
		})
		wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
	}
	want := func(offsets ...int64) {
		t.Helper()
		for i, p := range ts.describeConsumer(t, "t", "c").GetPartitions() {
			if got := p.GetPartitionConsumerStats().GetCommittedOffset(); got != offsets[i] {
				t.Errorf("partition %d is committed to %d, want %d", i, got, offsets[i])
			}
		}
	}
	set(1, 2)
	want(3, 2, 0)
	set(0, 1)
	want(1, 0, 0)
}

// A forced rebalance asks for every partition and gives it out again.
func TestRebalance(t *testing.T) {
	ts, control := startControlled(t, Options{})
	ts.createTopic(t, "t", 1, "c")
	first := ts.mustReader(t, "t", "c")
	id := first.accept(0)
	second := ts.mustReader(t, "t", "c")
	if err := control.Rebalance("t", "c"); err != nil {
		t.Fatal(err)
	}
	if m := first.recv(); !m.GetStopPartitionSessionRequest().GetGraceful() {
		t.Fatalf("got %v, want a graceful stop", m)
	}
	first.send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_StopPartitionSessionResponse{
			StopPartitionSessionResponse: &Ydb_Topic.StreamReadMessage_StopPartitionSessionResponse{PartitionSessionId: id},
		},
	})
	second.accept(0)
}
