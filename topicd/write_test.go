package topicd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type (
	writeInit    = Ydb_Topic.StreamWriteMessage_InitRequest
	messageGroup = Ydb_Topic.StreamWriteMessage_InitRequest_MessageGroupId
)

func withGeneration(id, gen int64) *Ydb_Topic.StreamWriteMessage_InitRequest_PartitionWithGeneration {
	return &Ydb_Topic.StreamWriteMessage_InitRequest_PartitionWithGeneration{
		PartitionWithGeneration: &Ydb_Topic.PartitionWithGeneration{PartitionId: id, Generation: gen},
	}
}

// wantEnd checks that the stream's last message has the status and that the
// stream ends after it with gRPC status OK.
func (w *writer) wantEnd(code Ydb.StatusIds_StatusCode, text string) {
	w.tb.Helper()
	m := w.recv()
	w.checkEnd(m, code, text)
}

func (w *writer) checkEnd(m *Ydb_Topic.StreamWriteMessage_FromServer, code Ydb.StatusIds_StatusCode, text string) {
	w.tb.Helper()
	if m.GetStatus() != code || !strings.Contains(m.GetIssues()[0].GetMessage(), text) {
		w.tb.Fatalf("got %v, want %v %q", m, code, text)
	}
	if m, err := w.stream.Recv(); !errors.Is(err, io.EOF) {
		w.tb.Fatalf("after the error came %v, %v", m, err)
	}
}

func TestWriteInitForms(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 2)
	bound := ts.mustWriter(t, "t", "bound", 1)
	bound.write(7, "x")
	for _, tc := range []struct {
		name string
		init *writeInit
		code Ydb.StatusIds_StatusCode
		text string
	}{
		{"producer", &writeInit{Path: "t", ProducerId: "p"}, Ydb.StatusIds_SUCCESS, ""},
		{"producer and equal group", &writeInit{Path: "/local/t", ProducerId: "p", Partitioning: &messageGroup{MessageGroupId: "p"}}, Ydb.StatusIds_SUCCESS, ""},
		{"producer and partition", &writeInit{Path: "t", ProducerId: "q", Partitioning: partitionID(1)}, Ydb.StatusIds_SUCCESS, ""},
		{"producer and generation", &writeInit{Path: "t", ProducerId: "r", Partitioning: withGeneration(1, 1)}, Ydb.StatusIds_SUCCESS, ""},
		{"nothing", &writeInit{Path: "t"}, Ydb.StatusIds_SUCCESS, ""},
		{"partition alone", &writeInit{Path: "t", Partitioning: partitionID(0)}, Ydb.StatusIds_SUCCESS, ""},
		{"known producer", &writeInit{Path: "t", ProducerId: "bound"}, Ydb.StatusIds_SUCCESS, ""},
		{"no path", &writeInit{}, Ydb.StatusIds_BAD_REQUEST, "no topic in init request"},
		{"other group", &writeInit{Path: "t", ProducerId: "p", Partitioning: &messageGroup{MessageGroupId: "q"}}, Ydb.StatusIds_BAD_REQUEST, "unsupported producer_id"},
		{"no topic", &writeInit{Path: "missing"}, Ydb.StatusIds_SCHEME_ERROR, "does not exist"},
		{"outside", &writeInit{Path: "/other/t"}, Ydb.StatusIds_SCHEME_ERROR, "outside"},
		{"no partition", &writeInit{Path: "t", Partitioning: partitionID(2)}, Ydb.StatusIds_SCHEME_ERROR, "no partition 2"},
		{"negative partition", &writeInit{Path: "t", Partitioning: partitionID(-1)}, Ydb.StatusIds_SCHEME_ERROR, "no partition -1"},
		{"wrong generation", &writeInit{Path: "t", Partitioning: withGeneration(0, 5)}, Ydb.StatusIds_UNAVAILABLE, "generation"},
		{"bound elsewhere", &writeInit{Path: "t", ProducerId: "bound", Partitioning: partitionID(0)}, Ydb.StatusIds_BAD_REQUEST, "already bound"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, m := ts.openWriter(t, tc.init)
			if tc.code != Ydb.StatusIds_SUCCESS {
				w.checkEnd(m, tc.code, tc.text)
				return
			}
			if w.init == nil || w.init.GetSessionId() == "" {
				t.Fatalf("got %v", m)
			}
			if tc.name == "known producer" && (w.init.GetPartitionId() != 1 || w.init.GetLastSeqNo() != 7) {
				t.Errorf("a known producer got %v", w.init)
			}
		})
	}
	bound.wantEnd(Ydb.StatusIds_BAD_REQUEST, "ownership session is killed by another session")
}

func TestWriteChecks(t *testing.T) {
	ts := start(t, Options{})
	res, err := ts.client.CreateTopic(t.Context(), &Ydb_Topic.CreateTopicRequest{
		Path: "t", SupportedCodecs: &Ydb_Topic.SupportedCodecs{Codecs: []int32{1, 2, 10077}},
	})
	wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
	big := message(1, "x")
	big.MetadataItems = []*Ydb_Topic.MetadataItem{{Key: "key", Value: bytes.Repeat([]byte("v"), 4094)}}
	fits := message(1, "x")
	fits.MetadataItems = []*Ydb_Topic.MetadataItem{{Key: "key", Value: bytes.Repeat([]byte("v"), 4093)}}
	type msgs = []*Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData
	for _, tc := range []struct {
		name  string
		codec int32
		msgs  msgs
		text  string // "" = accepted
	}{
		{"empty", 1, nil, "contains no messages"},
		{"zero seqno", 1, msgs{message(0, "x")}, "must be greater than 0"},
		{"unsorted", 1, msgs{message(2, "x"), message(1, "x")}, "unsorted"},
		{"equal", 1, msgs{message(2, "x"), message(2, "x")}, "unsorted"},
		{"codec 0", 0, msgs{message(1, "x")}, "codec is invalid"},
		{"codec not of the topic", 4, msgs{message(1, "x")}, "codec is invalid"},
		{"metadata of 4097 bytes", 1, msgs{big}, "metadata size is limited to 4096"},
		{"metadata of 4096 bytes", 1, msgs{fits}, ""},
		{"custom codec", 10077, msgs{message(1, "x")}, ""},
		{"gap", 2, msgs{message(5, "x"), message(500, "x")}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, _ := ts.openWriter(t, &writeInit{Path: "t"})
			if len(w.init.GetSupportedCodecs().GetCodecs()) != 3 {
				t.Errorf("codecs %v", w.init.GetSupportedCodecs())
			}
			w.request(tc.codec, tc.msgs...)
			if tc.text != "" {
				w.wantEnd(Ydb.StatusIds_BAD_REQUEST, tc.text)
				return
			}
			for i, a := range w.acks() {
				if a.GetWritten() == nil || a.GetSeqNo() != tc.msgs[i].GetSeqNo() {
					t.Errorf("ack %v", a)
				}
			}
		})
	}
	t.Run("second init", func(t *testing.T) {
		w := ts.mustWriter(t, "t", "p", 0)
		w.send(&Ydb_Topic.StreamWriteMessage_FromClient{
			ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_InitRequest{InitRequest: &writeInit{Path: "t"}},
		})
		w.wantEnd(Ydb.StatusIds_BAD_REQUEST, "got second init request")
	})
	t.Run("nothing set", func(t *testing.T) {
		w := ts.mustWriter(t, "t", "p", 0)
		w.send(&Ydb_Topic.StreamWriteMessage_FromClient{})
		w.wantEnd(Ydb.StatusIds_BAD_REQUEST, "'client_message' is not set")
	})
	t.Run("write before init", func(t *testing.T) {
		stream, err := ts.client.StreamWrite(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w := &writer{tb: t, stream: stream}
		w.request(1, message(1, "x"))
		w.wantEnd(Ydb.StatusIds_BAD_REQUEST, "write in not inited session")
	})
	t.Run("transaction", func(t *testing.T) {
		w := ts.mustWriter(t, "t", "p", 0)
		w.send(&Ydb_Topic.StreamWriteMessage_FromClient{
			ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{
				WriteRequest: &Ydb_Topic.StreamWriteMessage_WriteRequest{
					Codec: 1, Messages: msgs{message(1, "x")}, Tx: &Ydb_Topic.TransactionIdentity{Id: "1"},
				},
			},
		})
		w.wantEnd(Ydb.StatusIds_UNSUPPORTED, "transactions")
	})
	t.Run("token", func(t *testing.T) {
		w := ts.mustWriter(t, "t", "p", 0)
		w.send(&Ydb_Topic.StreamWriteMessage_FromClient{
			ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_UpdateTokenRequest{UpdateTokenRequest: &Ydb_Topic.UpdateTokenRequest{Token: "t"}},
		})
		if m := w.recv(); m.GetUpdateTokenResponse() == nil {
			t.Errorf("got %v", m)
		}
	})
}

// Offsets are dense; what a producer wrote before is skipped without an
// offset, over sessions and over a restart; other producers are not affected.
func TestDeduplication(t *testing.T) {
	fs := vfs.NewMem()
	ts := start(t, Options{FS: fs})
	ts.createTopic(t, "t", 1)
	w := ts.mustWriter(t, "t", "p", 0)
	w.request(1, message(1, "a"), message(2, "b"), message(10, "c"))
	if got := fmt.Sprint(offsets(w.acks())); got != "[0 1 2]" {
		t.Errorf("offsets %s", got)
	}
	w.request(1, message(2, "b"), message(10, "c"), message(11, "d"))
	if got := fmt.Sprint(offsets(w.acks())); got != "[-1 -1 3]" {
		t.Errorf("offsets after a resend %s", got)
	}
	other := ts.mustWriter(t, "t", "q", 0)
	if other.init.GetLastSeqNo() != 0 || other.write(1, "x").GetWritten().GetOffset() != 4 {
		t.Error("another producer is affected")
	}
	none, _ := ts.openWriter(t, &writeInit{Path: "t"})
	for i := range 2 {
		if a := none.write(1, "same"); a.GetWritten().GetOffset() != int64(5+i) {
			t.Errorf("without a producer id: %v", a)
		}
	}
	ts.stop()
	ts = start(t, Options{FS: fs})
	w = ts.mustWriter(t, "t", "p", 0)
	if w.init.GetLastSeqNo() != 11 {
		t.Errorf("last seqno after a restart is %d", w.init.GetLastSeqNo())
	}
	w.request(1, message(11, "d"), message(12, "e"))
	if got := fmt.Sprint(offsets(w.acks())); got != "[-1 7]" {
		t.Errorf("offsets after a restart %s", got)
	}
}

// offsets returns what acks say, -1 for skipped.
func offsets(acks []*Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck) []int64 {
	out := make([]int64, len(acks))
	for i, a := range acks {
		out[i] = -1
		if a.GetWritten() != nil {
			out[i] = a.GetWritten().GetOffset()
		}
	}
	return out
}

// A newer session of a producer id ends the older one although it idles, and
// its init answer counts every write of the older one, acknowledged or not.
func TestTakeover(t *testing.T) {
	control := NewControl()
	ts := start(t, Options{Control: control})
	ts.createTopic(t, "t", 1)
	old := ts.mustWriter(t, "t", "p", 0)
	old.write(1, "a")
	release := control.HoldAcks("/local/t")
	old.request(1, message(2, "b"), message(3, "c"))
	for ts.describe(t, "t").GetPartitions()[0].GetPartitionStats().GetPartitionOffsets().GetEnd() < 3 {
		if t.Context().Err() != nil {
			t.Fatal("the write did not arrive")
		}
	}
	fresh := ts.mustWriter(t, "t", "p", 0)
	if fresh.init.GetLastSeqNo() != 3 {
		t.Errorf("the new session starts after %d, want 3", fresh.init.GetLastSeqNo())
	}
	release()
	old.wantEnd(Ydb.StatusIds_BAD_REQUEST, "ownership session is killed by another session with id "+fresh.init.GetSessionId()+" partition id 0")
	if a := fresh.write(4, "d"); a.GetWritten().GetOffset() != 3 {
		t.Errorf("ack %v", a)
	}
}

// Many takeovers under load: each session's last_seq_no is what the log
// holds, and the log has no seqno twice and none out of order.
func TestTakeoverLinear(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 1)
	const rounds = 30
	seq := int64(0)
	var last *writer
	for range rounds {
		w := ts.mustWriter(t, "t", "p", 0)
		if w.init.GetLastSeqNo() < seq {
			t.Fatalf("last_seq_no %d, %d were acknowledged", w.init.GetLastSeqNo(), seq)
		}
		seq = w.init.GetLastSeqNo()
		if last != nil {
			// The old session may still try; nothing of it may get in.
			_ = last.stream.Send(&Ydb_Topic.StreamWriteMessage_FromClient{
				ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{
					WriteRequest: &Ydb_Topic.StreamWriteMessage_WriteRequest{Codec: 1, Messages: []*Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData{message(seq+1000, "zombie")}},
				},
			})
		}
		w.write(seq+1, "x")
		seq++
		for i := range int64(5) { // in flight when the next session comes
			w.request(1, message(seq+1+i, "x"))
		}
		last = w
	}
	end := ts.mustWriter(t, "t", "p", 0).init.GetLastSeqNo()
	r := ts.mustReader(t, "t", "", 0)
	st := r.recvStart()
	r.confirm(st.GetPartitionSession().GetPartitionSessionId(), nil, nil)
	r.credit(1 << 20)
	n := int64(0)
	for _, m := range r.take(int(end)) {
		n++
		if m.GetSeqNo() != n || string(m.GetData()) != "x" || m.GetOffset() != n-1 {
			t.Fatalf("message %d is %v", n, m)
		}
	}
}

func TestDropEndsSessions(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 1, "c")
	first := ts.describe(t, "t").GetSelf().GetCreatedAt()
	w := ts.mustWriter(t, "t", "p", 0)
	w.write(1, "a")
	r := ts.mustReader(t, "t", "c")
	r.recvStart()
	res, err := ts.client.DropTopic(t.Context(), &Ydb_Topic.DropTopicRequest{Path: "t"})
	wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
	w.wantEnd(Ydb.StatusIds_SCHEME_ERROR, "is deleted")
	if m := r.recv(); m.GetStatus() != Ydb.StatusIds_SCHEME_ERROR {
		t.Errorf("the reader got %v", m)
	}
	ts.createTopic(t, "t", 1, "c")
	if second := ts.describe(t, "t").GetSelf().GetCreatedAt(); second.GetTxId() == first.GetTxId() {
		t.Errorf("created_at of both topics is %v", second)
	}
	if w := ts.mustWriter(t, "t", "p", 0); w.init.GetLastSeqNo() != 0 || w.write(1, "b").GetWritten().GetOffset() != 0 {
		t.Error("the new topic remembers the old one")
	}
}

// Everything a message carries comes back to the reader.
func TestMessageFields(t *testing.T) {
	fs := vfs.NewMem()
	ts := start(t, Options{FS: fs})
	ts.createTopic(t, "t", 1)
	w, _ := ts.openWriter(t, &writeInit{Path: "t", ProducerId: "p", WriteSessionMeta: map[string]string{"k": "v"}})
	msg := message(9, "\x00data")
	msg.CreatedAt = &timestamppb.Timestamp{Seconds: 1_700_000_000, Nanos: 123_456_789}
	msg.UncompressedSize = 77
	msg.MetadataItems = []*Ydb_Topic.MetadataItem{{Key: "__key", Value: []byte("g")}, {Key: "__key", Value: []byte{0xff}}}
	w.request(10123, msg)
	w.acks()
	check := func() {
		t.Helper()
		r := ts.mustReader(t, "t", "", 0)
		r.confirm(r.recvStart().GetPartitionSession().GetPartitionSessionId(), nil, nil)
		r.credit(1 << 20)
		res := r.recv().GetReadResponse()
		b := res.GetPartitionData()[0].GetBatches()[0]
		m := b.GetMessageData()[0]
		if b.GetCodec() != 10123 || b.GetProducerId() != "p" || b.GetWriteSessionMeta()["k"] != "v" || b.GetWrittenAt().AsTime().Unix() < 1_700_000_000 {
			t.Errorf("batch %v", b)
		}
		if m.GetSeqNo() != 9 || string(m.GetData()) != "\x00data" || m.GetUncompressedSize() != 77 || m.GetMessageGroupId() != "p" ||
			m.GetCreatedAt().GetNanos() != 123_456_789 || len(m.GetMetadataItems()) != 2 || m.GetMetadataItems()[1].GetValue()[0] != 0xff {
			t.Errorf("message %v", m)
		}
	}
	check() // from the memory tail
	ts.stop()
	ts = start(t, Options{FS: fs})
	check() // from the store
}

// A client that closes its half gets all answers before the stream ends.
func TestCloseSendFlushes(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 1)
	w := ts.mustWriter(t, "t", "p", 0)
	for i := range int64(20) {
		w.request(1, message(i+1, strings.Repeat("x", 100_000)))
	}
	if err := w.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for i := range int64(20) {
		if a := w.acks(); a[0].GetWritten().GetOffset() != i {
			t.Fatalf("ack %d is %v", i, a)
		}
	}
	if _, err := w.stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v", err)
	}
}

func TestControlFaults(t *testing.T) {
	control := NewControl()
	ts := start(t, Options{Control: control})
	ts.createTopic(t, "t", 1)
	control.Fail("DescribeTopic", 1, Ydb.StatusIds_OVERLOADED)
	res, err := ts.client.DescribeTopic(t.Context(), &Ydb_Topic.DescribeTopicRequest{Path: "t"})
	wantStatus(t, Ydb.StatusIds_OVERLOADED)(res, err)
	ts.describe(t, "t")
	w := ts.mustWriter(t, "t", "p", 0)
	if n := control.KillSessions("/local/t"); n != 1 {
		t.Errorf("%d sessions were killed", n)
	}
	w.wantEnd(Ydb.StatusIds_UNAVAILABLE, "killed")
}

func TestCloseEndsSessions(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 1, "c")
	w := ts.mustWriter(t, "t", "p", 0)
	r := ts.mustReader(t, "t", "c")
	r.recvStart()
	done := make(chan error, 1)
	go func() { done <- ts.Close() }()
	w.wantEnd(Ydb.StatusIds_UNAVAILABLE, "shutting down")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := ts.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := ts.client.DescribeTopic(context.WithoutCancel(t.Context()), &Ydb_Topic.DescribeTopicRequest{Path: "t"}); err == nil {
		t.Error("a closed server answers")
	}
}
