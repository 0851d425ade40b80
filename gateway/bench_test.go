package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sqsgate/gateway"
)

// BenchmarkSendMessage is one 1 KiB send after another through the whole process
// without TCP, the topic server's file system in memory.
func BenchmarkSendMessage(b *testing.B) {
	s := newStack(b, func(*gateway.Options) {})
	s.create("orders", nil)
	body := `{"QueueUrl":"http://127.0.0.1:9324/000000000000/orders","MessageBody":"` + strings.Repeat("x", 1024) + `"}`
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "http://127.0.0.1:9324/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-amz-json-1.0")
		r.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
	}
}

// BenchmarkGetQueueURL is the cost of the edge alone.
func BenchmarkGetQueueURL(b *testing.B) {
	s := newStack(b, func(*gateway.Options) {})
	s.create("orders", nil)
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "http://127.0.0.1:9324/", strings.NewReader(`{"QueueName":"orders"}`))
		r.Header.Set("Content-Type", "application/x-amz-json-1.0")
		r.Header.Set("X-Amz-Target", "AmazonSQS.GetQueueUrl")
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
	}
}
