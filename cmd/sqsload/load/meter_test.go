package load

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sqsgate/cmd/sqsload/sqs"
)

// Only what ends within the window counts; empty receives are no latency.
func TestMeterWindow(t *testing.T) {
	start := time.Unix(100, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	w := window{from: at(1000), to: at(3000)}
	m, other := newMeter(), newMeter()
	m.begin(w)
	other.begin(w)
	m.done(callSend, at(900), at(999), 10)
	m.done(callSend, at(990), at(1000), 10)
	other.done(callSend, at(2000), at(2020), 10)
	m.done(callSend, at(2990), at(3000), 10)
	m.done(callReceive, at(1500), at(2500), 0)
	m.done(callReceive, at(2500), at(2501), 4)
	m.failed(callDelete, "ReceiptHandleIsInvalid", at(2000))
	m.failed(callDelete, "ReceiptHandleIsInvalid", at(3000))

	got := summarize([]*meter{m, other}, w, false)
	send, receive := got.Calls["send"], got.Calls["receive"]
	if send.Calls != 2 || send.Messages != 20 || send.MessagesPerSecond != 10 || send.CallsPerSecond != 1 {
		t.Errorf("sends: %+v", send)
	}
	if send.P50MS < 9.9 || send.P50MS > 10.1 || send.MaxMS < 19.8 || send.MaxMS > 20.2 {
		t.Errorf("latency of sends: %+v", send)
	}
	if receive.Calls != 2 || receive.MaxMS > 1.1 || got.EmptyReceives != 1 {
		t.Errorf("receives: %+v, %d empty", receive, got.EmptyReceives)
	}
	if diff := cmp.Diff(map[string]int64{"delete: ReceiptHandleIsInvalid": 1}, got.Errors); diff != "" {
		t.Error(diff)
	}
	if got.Seconds != 2 || got.TotalCalls != 4 {
		t.Errorf("%v s, %d calls", got.Seconds, got.TotalCalls)
	}
	if cut := summarize([]*meter{m, other}, w, true); cut.Seconds != 1.501 {
		t.Errorf("cut at the last message: %v s", cut.Seconds)
	}
}

func TestDefinite(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{&sqs.Failure{Status: 400, Code: "RequestThrottled"}, true},
		{fmt.Errorf("wrapped: %w", &sqs.Failure{Status: 403}), true},
		{&sqs.Failure{Status: 503, Code: "ServiceUnavailable"}, false},
		{&sqs.Failure{Status: 500}, false},
		{errors.New("connection reset"), false},
	} {
		if got := definite(tc.err); got != tc.want {
			t.Errorf("%v: %v", tc.err, got)
		}
	}
}

func TestReserve(t *testing.T) {
	r := &run{}
	r.left.Store(25)
	for _, want := range []int{10, 10, 5, 0, 0} {
		if got := r.reserve(10); got != want {
			t.Errorf("got %d of the rest, want %d", got, want)
		}
	}
}
