package gateway_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"sqsgate/gateway"
)

// lines is a log in memory.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// Each request is one line that names what happened but nothing of the messages,
// and one metric.
func TestOneLineARequest(t *testing.T) {
	t.Parallel()
	var log lines
	metrics := prometheus.NewRegistry()
	s := newStack(t, func(o *gateway.Options) {
		o.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.Registerer = metrics
	})
	q := s.create("orders", nil)
	s.call("SendMessage", object{"QueueUrl": q, "MessageBody": "confidential"})
	s.messages(q, nil)
	s.refused("DeleteMessage", object{"QueueUrl": q, "ReceiptHandle": "confidential"})

	log.mu.Lock()
	text := log.buf.String()
	log.mu.Unlock()
	if strings.Contains(text, "confidential") {
		t.Errorf("the log repeats what clients sent:\n%s", text)
	}
	var got []object
	for line := range strings.Lines(text) {
		var o object
		must(t, json.Unmarshal([]byte(line), &o))
		if o["msg"] == "request" {
			got = append(got, o)
		}
	}
	if len(got) != 4 {
		t.Fatalf("%d lines for 4 requests:\n%s", len(got), text)
	}
	send, refused := got[1], got[3]
	if send["action"] != "SendMessage" || send["queue"] != "orders" || send["status"] != 200.0 || send["messages"] != 1.0 || send["protocol"] != "json" || send["request_id"] == "" {
		t.Errorf("line of a send: %v", send)
	}
	if refused["code"] != "ReceiptHandleIsInvalid" || refused["status"] != 400.0 || refused["cause"] != nil {
		t.Errorf("line of a refused delete: %v", refused)
	}
	families, err := metrics.Gather()
	must(t, err)
	counts := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "sqsgate_gateway_requests_total" && f.GetName() != "sqsgate_gateway_messages_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			counts[name] = m.GetCounter().GetValue()
		}
	}
	want := map[string]float64{
		"sqsgate_gateway_messages_total SendMessage":                               1,
		"sqsgate_gateway_messages_total ReceiveMessage":                            1,
		"sqsgate_gateway_requests_total CreateQueue OK json":                       1,
		"sqsgate_gateway_requests_total SendMessage OK json":                       1,
		"sqsgate_gateway_requests_total ReceiveMessage OK json":                    1,
		"sqsgate_gateway_requests_total DeleteMessage ReceiptHandleIsInvalid json": 1,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
