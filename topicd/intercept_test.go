package topicd

import (
	"context"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// once returns a hook that does the fault to the first message that fits.
func once(method string, d Direction, fits func(proto.Message) bool, f Fault) func(Passing) Fault {
	done := make(chan struct{}, 1)
	return func(p Passing) Fault {
		if p.Method != method || p.Direction != d || (fits != nil && !fits(p.Message)) {
			return Fault{}
		}
		select {
		case done <- struct{}{}:
			return f
		default:
			return Fault{}
		}
	}
}

func TestInterceptUnary(t *testing.T) {
	ts, control := startControlled(t, Options{})
	ts.createTopic(t, "t", 1)
	describe := func(ctx context.Context) (*Ydb_Topic.DescribeTopicResponse, error) {
		return ts.client.DescribeTopic(ctx, &Ydb_Topic.DescribeTopicRequest{Path: "t"})
	}
	for _, d := range []Direction{FromClient, FromServer} {
		control.Intercept(once("DescribeTopic", d, nil, Fault{Status: Ydb.StatusIds_OVERLOADED}))
		res, err := describe(t.Context())
		wantStatus(t, Ydb.StatusIds_OVERLOADED)(res, err)

		control.Intercept(once("DescribeTopic", d, nil, Fault{Err: status.Error(codes.Unavailable, "cut")}))
		if _, err := describe(t.Context()); status.Code(err) != codes.Unavailable {
			t.Errorf("answered %v", err)
		}

		control.Intercept(once("DescribeTopic", d, nil, Fault{Answer: &Ydb_Topic.DescribeTopicResponse{
			Operation: operation(nil, statusf(Ydb.StatusIds_ABORTED, "made up")),
		}}))
		res, err = describe(t.Context())
		wantStatus(t, Ydb.StatusIds_ABORTED)(res, err)

		control.Intercept(once("DescribeTopic", d, nil, Fault{Drop: true}))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := describe(ctx); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("a lost call answered %v", err)
		}
		cancel()
	}
	remove := control.Intercept(func(Passing) Fault { return Fault{Status: Ydb.StatusIds_ABORTED} })
	res, err := describe(t.Context())
	wantStatus(t, Ydb.StatusIds_ABORTED)(res, err)
	remove()
	res, err = describe(t.Context())
	wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
}

func isAck(m proto.Message) bool {
	r, ok := m.(*Ydb_Topic.StreamWriteMessage_FromServer)
	return ok && r.GetWriteResponse() != nil
}

func isWrite(m proto.Message) bool {
	r, ok := m.(*Ydb_Topic.StreamWriteMessage_FromClient)
	return ok && r.GetWriteRequest() != nil
}

func TestInterceptStream(t *testing.T) {
	ts, control := startControlled(t, Options{})
	ts.createTopic(t, "t", 1)
	w := ts.mustWriter(t, "t", "p", 0)

	// A lost ack: the message is there. A lost request: it is not.
	control.Intercept(once("StreamWrite", FromServer, isAck, Fault{Drop: true}))
	w.request(1, message(1, "a"))
	control.Intercept(once("StreamWrite", FromClient, func(m proto.Message) bool {
		r, ok := m.(*Ydb_Topic.StreamWriteMessage_FromClient)
		return ok && isWrite(m) && r.GetWriteRequest().GetMessages()[0].GetSeqNo() == 2
	}, Fault{Drop: true}))
	w.request(1, message(2, "lost"))
	if a := w.write(3, "c"); a.GetSeqNo() != 3 || a.GetWritten().GetOffset() != 1 {
		t.Errorf("the next ack is %v", a)
	}

	// A status ends the stream as the server would.
	control.Intercept(once("StreamWrite", FromClient, isWrite, Fault{Status: Ydb.StatusIds_OVERLOADED}))
	w.request(1, message(4, "d"))
	w.wantEnd(Ydb.StatusIds_OVERLOADED, "injected")

	// So does a status in the place of an ack, after the write.
	w = ts.mustWriter(t, "t", "p", 0)
	control.Intercept(once("StreamWrite", FromServer, isAck, Fault{Status: Ydb.StatusIds_UNAVAILABLE}))
	w.request(1, message(5, "e"))
	w.wantEnd(Ydb.StatusIds_UNAVAILABLE, "injected")

	// A broken connection.
	w = ts.mustWriter(t, "t", "p", 0)
	if w.init.GetLastSeqNo() != 5 {
		t.Errorf("last seqno %d, want 5", w.init.GetLastSeqNo())
	}
	control.Intercept(once("StreamWrite", FromClient, isWrite, Fault{Err: status.Error(codes.Unavailable, "cut")}))
	w.request(1, message(6, "f"))
	if _, err := w.stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream ends with %v", err)
	}

	// An answer that the server never gave.
	r := ts.mustReaderOf(t, control)
	if m := r.recv(); m.GetReadResponse().GetBytesSize() != 42 {
		t.Errorf("got %v", m)
	}
}

// mustReaderOf opens a session whose credit is answered with made up data.
func (ts *testServer) mustReaderOf(t *testing.T, control *Control) *reader {
	t.Helper()
	r := ts.mustReader(t, "t", "", 0)
	r.accept(0)
	control.Intercept(once("StreamRead", FromClient, nil, Fault{Answer: &readFromServer{
		Status: Ydb.StatusIds_SUCCESS,
		ServerMessage: &Ydb_Topic.StreamReadMessage_FromServer_ReadResponse{
			ReadResponse: &Ydb_Topic.StreamReadMessage_ReadResponse{BytesSize: 42},
		},
	}}))
	r.credit(1)
	return r
}

// A delay holds a message back for exactly that long.
func TestInterceptDelay(t *testing.T) {
	control := NewControl()
	virtual(t, Options{Control: control}, func(t *testing.T, ts *testServer) {
		ts.createTopic(t, "t", 1)
		w := ts.mustWriter(t, "t", "p", 0)
		control.Intercept(once("StreamWrite", FromServer, isAck, Fault{Delay: time.Minute}))
		begin := time.Now()
		w.write(1, "a")
		if d := time.Since(begin); d != time.Minute {
			t.Errorf("the ack took %v", d)
		}
	})
}

// Every call has a failure of its own kind.
func TestFailureOfEveryCall(t *testing.T) {
	t.Parallel()
	for _, method := range []string{
		"/Ydb.Discovery.V1.DiscoveryService/ListEndpoints", "/Ydb.Scheme.V1.SchemeService/MakeDirectory",
		"/Ydb.Auth.V1.AuthService/Login", "/Ydb.Topic.V1.TopicService/CommitOffset", describePartitionMethod,
	} {
		res, ok := failure(method, Ydb.StatusIds_ABORTED).(call)
		if !ok || res.GetOperation().GetStatus() != Ydb.StatusIds_ABORTED || !res.GetOperation().GetReady() {
			t.Errorf("%s: %v", method, res)
		}
	}
	if m, ok := failure("/Ydb.Topic.V1.TopicService/StreamRead", Ydb.StatusIds_ABORTED).(*readFromServer); !ok || m.GetStatus() != Ydb.StatusIds_ABORTED {
		t.Errorf("StreamRead: %v", m)
	}
}
