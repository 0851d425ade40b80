package topicd

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/durationpb"
)

type (
	readInit    = Ydb_Topic.StreamReadMessage_InitRequest
	topicToRead = Ydb_Topic.StreamReadMessage_InitRequest_TopicReadSettings
)

func ptr[T any](v T) *T { return &v }

func (r *reader) wantEnd(code Ydb.StatusIds_StatusCode, text string) {
	r.tb.Helper()
	m := r.recv()
	if m.GetStatus() != code || !strings.Contains(m.GetIssues()[0].GetMessage(), text) {
		r.tb.Fatalf("got %v, want %v %q", m, code, text)
	}
}

// fill writes n messages "0", "1", ... to a partition.
func (ts *testServer) fill(tb testing.TB, path string, partition int64, n int) {
	tb.Helper()
	w := ts.mustWriter(tb, path, "filler", partition)
	for i := range n {
		w.request(1, message(w.init.GetLastSeqNo()+int64(i)+1, fmt.Sprint(i)))
	}
	for range n {
		w.acks()
	}
}

func TestReadInitChecks(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 1, "c")
	for _, tc := range []struct {
		name string
		init *readInit
		code Ydb.StatusIds_StatusCode
		text string
	}{
		{"no topics", &readInit{Consumer: "c"}, Ydb.StatusIds_BAD_REQUEST, "no topics in init request"},
		{"empty topic", &readInit{Consumer: "c", TopicsReadSettings: []*topicToRead{{}}}, Ydb.StatusIds_BAD_REQUEST, "empty topic in init request"},
		{"no consumer, no partitions", &readInit{TopicsReadSettings: []*topicToRead{{Path: "t"}}}, Ydb.StatusIds_BAD_REQUEST, "explicitly specify the partitions"},
		{"negative partition", &readInit{TopicsReadSettings: []*topicToRead{{Path: "t", PartitionIds: []int64{-1}}}}, Ydb.StatusIds_BAD_REQUEST, "nonnegative"},
		{"no such consumer", &readInit{Consumer: "x", TopicsReadSettings: []*topicToRead{{Path: "t"}}}, Ydb.StatusIds_BAD_REQUEST, "no read rule provided for consumer 'x' in topic 't'"},
		{"no such topic", &readInit{Consumer: "c", TopicsReadSettings: []*topicToRead{{Path: "u"}}}, Ydb.StatusIds_SCHEME_ERROR, "does not exist"},
		{"direct read", &readInit{Consumer: "c", DirectRead: true, TopicsReadSettings: []*topicToRead{{Path: "t"}}}, Ydb.StatusIds_UNSUPPORTED, "direct read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, m := ts.openReader(t, tc.init)
			if m.GetStatus() != tc.code || !strings.Contains(m.GetIssues()[0].GetMessage(), tc.text) {
				t.Fatalf("got %v, want %v %q", m, tc.code, tc.text)
			}
		})
	}
}

// No data before the client accepts the partition, none beyond its credit,
// commits by ranges with gaps, and the next session starts where the last
// committed.
func TestReadHandshakeCreditCommit(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 1, "c")
	ts.fill(t, "t", 0, 10)
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := ts.openReaderContext(ctx, t, &readInit{Consumer: "c", TopicsReadSettings: []*topicToRead{{Path: "t"}}})
	st := r.recvStart()
	id := st.GetPartitionSession().GetPartitionSessionId()
	if st.GetCommittedOffset() != 0 || st.GetPartitionOffsets().GetEnd() != 10 || st.GetPartitionSession().GetPath() != "t" {
		t.Errorf("start request %v", st)
	}
	r.credit(1)
	r.send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_PartitionSessionStatusRequest{
			PartitionSessionStatusRequest: &Ydb_Topic.StreamReadMessage_PartitionSessionStatusRequest{PartitionSessionId: id},
		},
	})
	status := r.recv().GetPartitionSessionStatusResponse()
	if status == nil || status.GetReadOffset() != 0 || status.GetPartitionOffsets().GetEnd() != 10 {
		t.Fatalf("before the handshake came %v, want the status", status)
	}
	r.confirm(id, nil, nil)
	first := r.recv().GetReadResponse()
	if n := len(first.GetPartitionData()[0].GetBatches()[0].GetMessageData()); n != 1 {
		t.Fatalf("one byte of credit brought %d messages", n)
	}
	// The budget is below zero now: the next answer is to the commit.
	r.commit(id, 0, 1)
	if got := r.recvCommitted(); got != 1 {
		t.Errorf("committed %d", got)
	}
	r.credit(1 << 20)
	if got := r.take(9); string(got[8].GetData()) != "9" {
		t.Errorf("read %v", got)
	}
	r.commit(id, 3, 5) // a gap: waits
	r.commit(id, 1, 3)
	if got := r.recvCommitted(); got != 5 && got != 3 {
		t.Errorf("committed %d", got)
	} else if got == 3 && r.recvCommitted() != 5 {
		t.Error("the waiting range was not committed")
	}
	r.commit(id, 8, 100) // beyond the end: clamped; waits
	r.commit(id, 999, 1000)
	r.commit(77, 0, 1) // unknown session: ignored
	r.commit(id, 5, 6)
	if got := r.recvCommitted(); got != 6 {
		t.Errorf("committed %d", got)
	}
	cons := ts.describeConsumer(t, "t", "c").GetPartitions()[0].GetPartitionConsumerStats()
	if cons.GetCommittedOffset() != 6 || cons.GetLastReadOffset() != 10 || cons.GetReadSessionId() != r.id {
		t.Errorf("consumer %v", cons)
	}
	r.commit(id, 2, 4)
	r.wantEnd(Ydb.StatusIds_BAD_REQUEST, "double committing")
	cancel()
	next := ts.mustReader(t, "t", "c")
	if st := next.recvStart(); st.GetCommittedOffset() != 6 {
		t.Errorf("the next session starts at %v", st)
	}
	if name := ts.describeConsumer(t, "t", "c").GetPartitions()[0].GetPartitionConsumerStats().GetReaderName(); name != "reader of "+t.Name() {
		t.Errorf("reader name %q", name)
	}
}

func TestStartOffsets(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 1, "c")
	ts.fill(t, "t", 0, 10)
	res, err := ts.client.CommitOffset(t.Context(), &Ydb_Topic.CommitOffsetRequest{Path: "t", Consumer: "c", Offset: 4})
	wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
	for _, tc := range []struct {
		name         string
		consumer     string
		read, commit *int64
		first        int64
		text         string
	}{
		{"committed", "c", nil, nil, 4, ""},
		{"further", "c", ptr(int64(7)), nil, 7, ""},
		{"read below committed", "c", ptr(int64(3)), nil, 0, "less than committed"},
		{"read beyond the end", "c", ptr(int64(11)), nil, 0, "beyond the end"},
		{"commit beyond read", "c", ptr(int64(5)), ptr(int64(6)), 0, "commit to future"},
		{"no consumer", "", nil, nil, 0, ""},
		{"no consumer from 8", "", ptr(int64(8)), nil, 8, ""},
		{"no consumer commits", "", ptr(int64(8)), ptr(int64(8)), 0, "without a consumer"},
		{"read and commit", "c", ptr(int64(6)), ptr(int64(6)), 6, ""}, // last: it moves the offset
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, _ := ts.openReaderContext(ctx, t, &readInit{Consumer: tc.consumer, TopicsReadSettings: []*topicToRead{{Path: "t", PartitionIds: []int64{0}}}})
			r.confirm(r.recvStart().GetPartitionSession().GetPartitionSessionId(), tc.read, tc.commit)
			if tc.text != "" {
				r.wantEnd(Ydb.StatusIds_BAD_REQUEST, tc.text)
				return
			}
			r.credit(1 << 20)
			if tc.commit != nil {
				m := r.recv()
				if m.GetReadResponse() != nil {
					m = r.recv()
				}
				if got := m.GetCommitOffsetResponse().GetPartitionsCommittedOffsets()[0].GetCommittedOffset(); got != *tc.commit {
					t.Errorf("committed %d", got)
				}
				return
			}
			if got := r.take(1)[0].GetOffset(); got != tc.first {
				t.Errorf("the first message has offset %d, want %d", got, tc.first)
			}
		})
	}
}

// Live readers are woken by writes; partitions are read in turn.
func TestLiveRead(t *testing.T) {
	ts := start(t, Options{TailBytes: 2000}) // most reads go to the store
	ts.createTopic(t, "t", 3, "c")
	r := ts.mustReader(t, "t", "c")
	for range 3 {
		r.confirm(r.recvStart().GetPartitionSession().GetPartitionSessionId(), nil, nil)
	}
	r.credit(1 << 20)
	seen := 0
	for round := range 20 {
		for p := range int64(3) {
			w := ts.mustWriter(t, "t", fmt.Sprint("p", p), p)
			w.request(1, message(int64(2*round+1), strings.Repeat("x", 100)), message(int64(2*round+2), "y"))
			w.acks()
		}
		seen += len(r.take(6))
	}
	if seen != 120 {
		t.Errorf("read %d messages, want 120", seen)
	}
}

// Partitions are shared evenly; a newcomer gets its share by graceful stops;
// a reader that dies frees its partitions at once.
func TestBalance(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 4, "c")
	a := ts.mustReader(t, "t", "c")
	for range 4 {
		a.confirm(a.recvStart().GetPartitionSession().GetPartitionSessionId(), nil, nil)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b, _ := ts.openReaderContext(ctx, t, &readInit{Consumer: "c", TopicsReadSettings: []*topicToRead{{Path: "t"}}})
	given := map[int64]bool{}
	for range 2 {
		stop := a.recv().GetStopPartitionSessionRequest()
		if stop == nil || !stop.GetGraceful() {
			t.Fatalf("got %v, want a graceful stop", stop)
		}
		a.send(&Ydb_Topic.StreamReadMessage_FromClient{
			ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_StopPartitionSessionResponse{
				StopPartitionSessionResponse: &Ydb_Topic.StreamReadMessage_StopPartitionSessionResponse{PartitionSessionId: stop.GetPartitionSessionId(), Graceful: true},
			},
		})
		given[b.recvStart().GetPartitionSession().GetPartitionId()] = true
	}
	if len(given) != 2 {
		t.Errorf("the second reader got %v", given)
	}
	cancel()
	for range 2 {
		if p := a.recvStart().GetPartitionSession().GetPartitionId(); !given[p] {
			t.Errorf("partition %d came back", p)
		}
	}
	a.send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_StopPartitionSessionResponse{
			StopPartitionSessionResponse: &Ydb_Topic.StreamReadMessage_StopPartitionSessionResponse{PartitionSessionId: 6},
		},
	})
	a.wantEnd(Ydb.StatusIds_BAD_REQUEST, "not requested")
}

// What a reader commits before it lets go of a partition is where the next
// reader starts, and a commit sent just before the stream ends counts.
func TestCommitBeforeLettingGo(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 2, "c")
	ts.fill(t, "t", 1, 10)
	a := ts.mustReader(t, "t", "c")
	for range 2 {
		a.confirm(a.recvStart().GetPartitionSession().GetPartitionSessionId(), nil, nil)
	}
	b := ts.mustReader(t, "t", "c")
	stop := a.recv().GetStopPartitionSessionRequest()
	a.commit(stop.GetPartitionSessionId(), 0, 7)
	a.send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_StopPartitionSessionResponse{
			StopPartitionSessionResponse: &Ydb_Topic.StreamReadMessage_StopPartitionSessionResponse{PartitionSessionId: stop.GetPartitionSessionId()},
		},
	})
	st := b.recvStart()
	if st.GetPartitionSession().GetPartitionId() != 1 || st.GetCommittedOffset() != 7 {
		t.Fatalf("the next reader starts with %v", st)
	}
	b.confirm(st.GetPartitionSession().GetPartitionSessionId(), nil, nil)
	b.commit(st.GetPartitionSession().GetPartitionSessionId(), 7, 9)
	if err := b.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for { // the stream ends after whatever was on the way
		if _, err := b.stream.Recv(); err != nil {
			break
		}
	}
	got := int64(0)
	for range 1000 { // the commit may still wait in the store's queue
		if got = ts.describeConsumer(t, "t", "c").GetPartitions()[1].GetPartitionConsumerStats().GetCommittedOffset(); got == 9 {
			break
		}
	}
	if got != 9 {
		t.Errorf("committed %d, want 9", got)
	}
}

// A reader that names its partitions takes them from one that does not.
func TestExplicitPartitionsComeFirst(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 2, "c")
	a := ts.mustReader(t, "t", "c")
	started := map[int64]int64{}
	for range 2 {
		s := a.recvStart().GetPartitionSession()
		started[s.GetPartitionSessionId()] = s.GetPartitionId()
	}
	ts.mustReader(t, "t", "c", 1)
	if stop := a.recv().GetStopPartitionSessionRequest(); started[stop.GetPartitionSessionId()] != 1 {
		t.Errorf("partition %d was taken back", started[stop.GetPartitionSessionId()])
	}
}

func TestCommitOffsetCall(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 1, "c")
	ts.fill(t, "t", 0, 10)
	r := ts.mustReader(t, "t", "c")
	first := r.recvStart().GetPartitionSession().GetPartitionSessionId()
	r.confirm(first, nil, nil)
	commit := func(path string, partition, offset int64, session string, want Ydb.StatusIds_StatusCode) {
		t.Helper()
		res, err := ts.client.CommitOffset(t.Context(), &Ydb_Topic.CommitOffsetRequest{
			Path: path, PartitionId: partition, Consumer: "c", Offset: offset, ReadSessionId: session,
		})
		wantStatus(t, want)(res, err)
	}
	commit("", 0, 1, "", Ydb.StatusIds_BAD_REQUEST)
	commit("t", 5, 1, "", Ydb.StatusIds_SCHEME_ERROR)
	commit("t", 0, 11, "", Ydb.StatusIds_BAD_REQUEST)
	commit("t", 0, -1, "", Ydb.StatusIds_BAD_REQUEST)
	commit("t", 0, 5, "dead", Ydb.StatusIds_SESSION_EXPIRED)
	commit("t", 0, 5, r.id, Ydb.StatusIds_SUCCESS)
	commit("t", 0, 3, r.id, Ydb.StatusIds_SUCCESS) // behind: nothing happens
	offset := func() int64 {
		return ts.describeConsumer(t, "t", "c").GetPartitions()[0].GetPartitionConsumerStats().GetCommittedOffset()
	}
	if offset() != 5 {
		t.Errorf("committed %d", offset())
	}
	commit("t", 0, 2, "", Ydb.StatusIds_SUCCESS) // back, without a session
	stop := r.recv().GetStopPartitionSessionRequest()
	if stop.GetGraceful() || stop.GetPartitionSessionId() != first {
		t.Errorf("the reader got %v", stop)
	}
	if st := r.recvStart(); st.GetCommittedOffset() != 2 || st.GetPartitionSession().GetPartitionSessionId() == first {
		t.Errorf("the reader starts again with %v", st)
	}
}

func TestMaxLagSkipsOldMessages(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 1, "c")
	ts.fill(t, "t", 0, 50)
	timer := time.NewTimer(60 * time.Millisecond)
	<-timer.C
	w := ts.mustWriter(t, "t", "late", 0)
	w.write(1, "late")
	r, _ := ts.openReader(t, &readInit{Consumer: "c", TopicsReadSettings: []*topicToRead{{Path: "t", MaxLag: durationpb.New(50 * time.Millisecond)}}})
	r.confirm(r.recvStart().GetPartitionSession().GetPartitionSessionId(), nil, nil)
	r.credit(1 << 20)
	w.write(2, "later")
	if got := r.take(1)[0]; got.GetOffset() < 50 {
		t.Errorf("offset %d came although it is too old", got.GetOffset())
	}
}

func TestInFlightLimitPauses(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 1, "c")
	w := ts.mustWriter(t, "t", "p", 0)
	w.write(1, strings.Repeat("a", 1000))
	r, _ := ts.openReader(t, &readInit{Consumer: "c", PartitionMaxInFlightBytes: 100, TopicsReadSettings: []*topicToRead{{Path: "t"}}})
	id := r.recvStart().GetPartitionSession().GetPartitionSessionId()
	r.confirm(id, nil, nil)
	r.credit(1 << 20)
	r.take(1)
	w.write(2, "b")
	r.commit(id, 0, 1)
	if got := r.recvCommitted(); got != 1 { // and not the second message
		t.Errorf("committed %d", got)
	}
	if got := r.take(1); string(got[0].GetData()) != "b" {
		t.Errorf("read %v", got)
	}
}
