package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"sqsgate/codec"
	"sqsgate/consumer"
	"sqsgate/gateway/api"
	"sqsgate/gateway/catalog"
	"sqsgate/gateway/wire"
	"sqsgate/partition"
)

// edge is a Server without anything behind it.
func edge(change func(*Options)) *Server {
	o := Options{Catalog: new(catalog.Catalog), Consumer: new(consumer.Consumer), Pool: new(partition.Pool)}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		panic(err)
	}
	return s
}

func TestOptions(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{}); err == nil {
		t.Error("options without a catalogue are accepted")
	}
	for name, change := range map[string]func(*Options){
		"database":   func(o *Options) { o.Database = "local" },
		"account":    func(o *Options) { o.Account = "12" },
		"public URL": func(o *Options) { o.PublicURL = "sqs.example.org" },
		"timeout":    func(o *Options) { o.RequestTimeout = -1 },
		"bytes":      func(o *Options) { o.MaxInFlightBytes = 1 },
	} {
		o := Options{Catalog: new(catalog.Catalog), Consumer: new(consumer.Consumer), Pool: new(partition.Pool)}
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("a wrong %s is accepted", name)
		}
	}
}

func TestNameOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		root, public, path, queueURL string
		want                         string // "" = an error
	}{
		{path: "/", queueURL: "http://localhost:9324/000000000000/orders", want: "orders"},
		{path: "/", queueURL: "https://sqs.eu-west-1.amazonaws.com/123456789012/orders.fifo", want: "orders.fifo"},
		{path: "/", queueURL: "/000000000000/dir/orders@c", want: "dir/orders@c"},
		{path: "/", queueURL: "http://h/000000000000/dir%2Forders%40c", want: "dir/orders@c"},
		{path: "/", queueURL: "orders", want: "orders"},
		{path: "/", queueURL: "dir/orders", want: "dir/orders"},
		{path: "/", queueURL: "http://h/orders", want: "orders"},
		{path: "/000000000000/orders", want: "orders"},
		{path: "/000000000000/orders", queueURL: "http://h/000000000000/other", want: "other"},
		{path: "/orders", want: "orders"},
		{path: "/", queueURL: ""},
		{path: "/", queueURL: "http://h"},
		{path: "/", queueURL: "http://h/%zz"},
		{path: "/000000000000/"},
		{path: "/", queueURL: "http://h/v1/6//local/6/orders/16/ydb-sqs-consumer", want: "orders"},
		{path: "/v1/6//local/6/orders/1/c", want: "orders@c"},
		{path: "/v1/6//local/11/orders.fifo/16/ydb-sqs-consumer.fifo", want: "orders.fifo"},
		{path: "/v1/6//local/8/q/orders/16/ydb-sqs-consumer", root: "q", want: "orders"},
		// What is no native URL is a name that no queue has.
		{path: "/v1/6//local/6/orders/16/ydb-sqs-consumer", root: "q", want: "v1/6//local/6/orders/16/ydb-sqs-consumer"},
		{path: "/v1/5//Root/6/orders/16/ydb-sqs-consumer", want: "v1/5//Root/6/orders/16/ydb-sqs-consumer"},
		{path: "/v1/6//local/99/orders/1/c", want: "v1/6//local/99/orders/1/c"},
		{path: "/v1/6//local/-1/orders/1/c", want: "v1/6//local/-1/orders/1/c"},
		{public: "https://example.org/sqs", path: "/sqs/000000000000/orders", want: "orders"},
		{public: "https://example.org/sqs", path: "/", queueURL: "https://example.org/sqs/000000000000/orders", want: "orders"},
	}
	for _, tt := range tests {
		s := edge(func(o *Options) { o.QueueRoot, o.PublicURL = tt.root, tt.public })
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://h"+tt.path, nil)
		got, err := s.nameOf(r, tt.queueURL)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
}

func FuzzNameOf(f *testing.F) {
	s := edge(nil)
	for _, u := range []string{"http://h/000000000000/q", "v1/6//local/1/q/1/c", "/v1/", "%", "://", "http://h/%41"} {
		f.Add(u)
	}
	f.Fuzz(func(t *testing.T, queueURL string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://h/", nil)
		name, err := s.nameOf(r, queueURL)
		if (name == "") != (err != nil) {
			t.Errorf("%q: %q, %v", queueURL, name, err)
		}
	})
}

func TestQueueURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		public string
		header http.Header
		want   string
	}{
		{"", nil, "http://sqs.internal:9324/000000000000/q"},
		{"", http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"sqs.example.org, inner"}}, "https://sqs.example.org/000000000000/q"},
		{"", http.Header{"X-Forwarded-Proto": {"gopher"}}, "http://sqs.internal:9324/000000000000/q"},
		{"https://example.org/sqs/", http.Header{"X-Forwarded-Host": {"other"}}, "https://example.org/sqs/000000000000/q"},
	}
	for _, tt := range tests {
		s := edge(func(o *Options) { o.PublicURL = tt.public })
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://sqs.internal:9324/", nil)
		for name, values := range tt.header {
			r.Header[name] = values
		}
		if got := s.queueURL(r, "q"); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
	// HTTP/1.0 names no host: the address that was called will do.
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 9324}),
		http.MethodGet, "/", nil)
	r.Host = ""
	if got := edge(nil).queueURL(r, "q"); got != "http://10.0.0.1:9324/000000000000/q" {
		t.Errorf("without a host: %s", got)
	}
}

// Every kind but InternalFailure must stand in the table, with a sender's fault
// below 500 and no other.
func TestFaultTable(t *testing.T) {
	t.Parallel()
	for kind := range api.Kind(api.Kinds) {
		f := faultOf(kind)
		if (f.Code == "InternalError") != (kind == api.InternalFailure) {
			t.Errorf("kind %d has the code %q", kind, f.Code)
		}
		if f.Namespace == "" || f.Shape == "" || f.Sender != (f.Status < 500) {
			t.Errorf("kind %d: %+v", kind, f)
		}
	}
}

func TestOutward(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		kind api.Kind
	}{
		{api.Missing("X"), api.MissingParameter},
		{fmt.Errorf("x: %w", api.Missing("X")), api.MissingParameter},
		{fmt.Errorf("x: %w", catalog.ErrNotFound), api.QueueDoesNotExist},
		{consumer.ErrQueueGone, api.QueueDoesNotExist},
		{partition.ErrTopicGone, api.QueueDoesNotExist},
		{partition.ErrThrottled, api.RequestThrottled},
		{partition.ErrOverloaded, api.ServiceUnavailable},
		{partition.ErrUnavailable, api.ServiceUnavailable},
		{consumer.ErrUnavailable, api.ServiceUnavailable},
		{catalog.ErrUnavailable, api.ServiceUnavailable},
		{context.DeadlineExceeded, api.ServiceUnavailable},
		{consumer.ErrOverLimit, api.OverLimit},
		{codec.ErrMetadataTooLarge, api.InvalidParameterValue},
		{catalog.ErrRefused, api.InvalidParameterValue},
		{errors.New("secret cause"), api.InternalFailure},
	}
	for _, tt := range tests {
		e := outward(tt.err)
		if e.Kind != tt.kind {
			t.Errorf("%v is of kind %d, want %d", tt.err, e.Kind, tt.kind)
		}
		if strings.Contains(e.Message, "secret") {
			t.Errorf("the cause is sent: %s", e.Message)
		}
	}
	const handle = "h"
	for err, want := range map[error]string{
		consumer.ErrHandle:  `The input receipt handle "h" is not a valid receipt handle.`,
		consumer.ErrExpired: "Value h for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.",
		consumer.ErrGone:    "Value h for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.",
		consumer.ErrTooLong: "Value 9 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]",
	} {
		if got := handleError(err, handle, 9).Error(); got != want {
			t.Errorf("%v: %s", err, got)
		}
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

func do(s *Server, r *http.Request) answer {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

func jsonRequest(ctx context.Context, action, body string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost:9324/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	return r
}

func TestRequestsWithoutAnAction(t *testing.T) {
	t.Parallel()
	s := edge(nil)
	get := func(target string) *http.Request {
		return httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://h"+target, nil)
	}
	accepting := get("/000000000000/q")
	accepting.Header.Set("Accept", "application/json")
	wrongTarget := jsonRequest(t.Context(), "SendMessage", "{}")
	wrongTarget.Header.Set("X-Amz-Target", "DynamoDB_20120810.SendMessage")
	big := jsonRequest(t.Context(), "SendMessage", strings.Repeat(" ", maxBody+1))
	chunked := jsonRequest(t.Context(), "SendMessage", "")
	chunked.Body, chunked.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat(" ", maxBody+1))), -1
	short := jsonRequest(t.Context(), "SendMessage", "{}")
	short.ContentLength = 10
	tests := []struct {
		name    string
		request *http.Request
		status  int
		body    string // a regular expression
		query   string // x-amzn-query-error
	}{
		{"no action", get("/000000000000/q"), 404, `^<UnknownOperationException/>$`, ""},
		{"no action, JSON accepted", accepting, 404, `^<UnknownOperationException/>$`, ""},
		{"unknown action", get("/?Action=FooBar"), 400, `<Code>InvalidAction</Code><Message>The action FooBar is not valid for this endpoint.</Message>`, ""},
		{"unknown JSON action", jsonRequest(t.Context(), "FooBar", "{}"), 400, `"__type":"com.amazon.coral.service#UnknownOperationException"`, "InvalidAction;Sender"},
		{"another service", wrongTarget, 400, `UnknownOperationException`, "InvalidAction;Sender"},
		{"ListQueues at a queue", get("/000000000000/q?Action=ListQueues"), 400, `<Code>InvalidAction</Code>`, ""},
		{"not built", jsonRequest(t.Context(), "StartMessageMoveTask", "{}"), 400, `com.amazonaws.sqs#UnsupportedOperation`, "AWS.SimpleQueueService.UnsupportedOperation;Sender"},
		{"malformed JSON", jsonRequest(t.Context(), "SendMessage", `{"a"`), 400, `com.amazon.coral.service#SerializationException`, "MalformedQueryString;Sender"},
		{"NUL byte", jsonRequest(t.Context(), "SendMessage", "{\"MessageBody\":\"\x00\"}"), 400, `SerializationException`, "MalformedQueryString;Sender"},
		{"malformed query", get("/?Action=%zz"), 400, `<Code>MalformedQueryString</Code>`, ""},
		{"no queue", jsonRequest(t.Context(), "SendMessage", `{"MessageBody":"x"}`), 400, `The request must contain the parameter QueueUrl.`, "MissingParameter;Sender"},
		{"impossible name", jsonRequest(t.Context(), "SendMessage", `{"QueueUrl":"a/../b","MessageBody":"x"}`), 400, `"The specified queue does not exist."`, "AWS.SimpleQueueService.NonExistentQueue;Sender"},
		{"impossible name, Query", get("/?Action=SendMessage&QueueUrl=..&MessageBody=x"), 400, `<Message>The specified queue does not exist for this wsdl version.</Message>`, ""},
		{"other method", httptest.NewRequestWithContext(t.Context(), http.MethodPut, "http://h/", nil), 405, `MethodNotAllowed`, ""},
		{"too large", big, 413, `RequestEntityTooLarge`, "RequestEntityTooLarge;Sender"},
		{"too large in chunks", chunked, 413, `RequestEntityTooLarge`, "RequestEntityTooLarge;Sender"},
		{"cut short", short, 400, `SerializationException`, "MalformedQueryString;Sender"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := do(s, tt.request)
			if got.status != tt.status || !regexp.MustCompile(tt.body).MatchString(got.body) || got.header.Get("X-Amzn-Query-Error") != tt.query {
				t.Errorf("got %d %s %v", got.status, got.body, got.header)
			}
			if id := got.header.Get("X-Amzn-Requestid"); !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) {
				t.Errorf("request id %q", id)
			}
		})
	}
}

// A panic of an action is a 500 without its cause, and the next request works.
func TestPanicIsGuarded(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := edge(func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	s.routes["ListQueues"] = route{run: func(context.Context, *call, *wire.Input, *wire.Encoder) error { panic("boom") }}
	got := do(s, jsonRequest(t.Context(), "ListQueues", "{}"))
	if got.status != 500 || !strings.Contains(got.body, "com.amazon.coral.service#InternalFailure") || strings.Contains(got.body, "boom") ||
		got.header.Get("X-Amzn-Query-Error") != "InternalError;Receiver" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if !strings.Contains(log.String(), "boom") || !strings.Contains(log.String(), "action=ListQueues") {
		t.Errorf("the log says %s", log.String())
	}
	if got := do(s, jsonRequest(t.Context(), "FooBar", "{}")); got.status != 400 {
		t.Errorf("after the panic: %d", got.status)
	}
}

func TestInFlightLimits(t *testing.T) {
	t.Parallel()
	s := edge(func(o *Options) { o.MaxInFlight = 1 })
	entered, leave := make(chan struct{}), make(chan struct{})
	s.routes["ListQueues"] = route{run: func(context.Context, *call, *wire.Input, *wire.Encoder) error {
		close(entered)
		<-leave
		return nil
	}}
	first := make(chan answer, 1)
	go func() { first <- do(s, jsonRequest(t.Context(), "ListQueues", "{}")) }()
	<-entered
	if got := do(s, jsonRequest(t.Context(), "FooBar", "{}")); got.status != 503 || got.header.Get("X-Amzn-Query-Error") != "ServiceUnavailable;Receiver" {
		t.Errorf("the second request: %d %s", got.status, got.body)
	}
	close(leave)
	if got := <-first; got.status != 200 {
		t.Errorf("the first request: %d", got.status)
	}
	if n, bytes := s.inFlight.Load(), s.inFlightBytes.Load(); n != 0 || bytes != 0 {
		t.Errorf("%d requests and %d bytes are still counted", n, bytes)
	}
	s.opts.MaxInFlight, s.opts.MaxInFlightBytes = 10, 10
	if got := do(s, jsonRequest(t.Context(), "FooBar", strings.Repeat(" ", 11))); got.status != 503 {
		t.Errorf("beyond the bytes: %d", got.status)
	}
}

func TestCooldown(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	c := newCooldown(time.Minute, func() time.Time { return now })
	if !c.mark("a") || c.mark("a") || !c.cooling("a") || c.cooling("b") {
		t.Error("a mark must hold for its name only")
	}
	now = now.Add(time.Minute)
	if c.cooling("a") || !c.mark("a") {
		t.Error("a mark must end after the period")
	}
	c.clear("a")
	if !c.mark("a") {
		t.Error("a mark that was taken back holds")
	}
	for i := range 3 * maxCooling {
		now = now.Add(time.Millisecond)
		c.mark(fmt.Sprint(i))
	}
	if len(c.last) > maxCooling {
		t.Errorf("%d names are remembered", len(c.last))
	}
	off := newCooldown(0, func() time.Time { return now })
	if first, second := off.mark("a"), off.mark("a"); !first || !second || off.cooling("a") {
		t.Error("no period, no cooldown")
	}
}

func TestDistinct(t *testing.T) {
	t.Parallel()
	message := func(id, group string) outgoing {
		return outgoing{message: codec.Message{DeduplicationID: id, GroupID: group}}
	}
	bad := message("a", "g")
	bad.err = errors.New("refused")
	out := []outgoing{bad, message("a", "g"), message("a", "h"), message("b", "g"), message("a", "g")}
	firsts, same := distinct(out, false)
	if fmt.Sprint(firsts, same) != "[1 3] [-1 -1 1 -1 1]" {
		t.Errorf("over the queue: %v %v", firsts, same)
	}
	firsts, same = distinct(out, true)
	if fmt.Sprint(firsts, same) != "[1 2 3] [-1 -1 -1 -1 1]" {
		t.Errorf("per group: %v %v", firsts, same)
	}
}
