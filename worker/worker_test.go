package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/prometheus/client_golang/prometheus"
)

var _ SQS = (*sqs.Client)(nil)

func TestOptions(t *testing.T) {
	t.Parallel()
	good := Options{Client: &sqs.Client{}, QueueURL: "http://x/q", Handler: func(context.Context, Message) Outcome { return Ack() }}
	if _, err := New(good); err != nil {
		t.Errorf("the least options: %v", err)
	}
	for want, change := range map[string]func(*Options){
		"Client":           func(o *Options) { o.Client = nil },
		"QueueURL":         func(o *Options) { o.QueueURL = "" },
		"Handler":          func(o *Options) { o.Handler = nil },
		"Concurrency -1":   func(o *Options) { o.Concurrency = -1 },
		"Concurrency 1000": func(o *Options) { o.Concurrency = 100_001 },
		"Prefetch":         func(o *Options) { o.Prefetch = 100_001 },
		"Receivers 11":     func(o *Options) { o.Receivers = 11 },
		"Receivers -1":     func(o *Options) { o.Receivers = -1 },
		"Visibility 12h":   func(o *Options) { o.Visibility = 12*time.Hour + time.Second },
		"Visibility 1.5s":  func(o *Options) { o.Visibility = 1500 * time.Millisecond },
		"Visibility -":     func(o *Options) { o.Visibility = -time.Second },
		"Wait 21s":         func(o *Options) { o.Wait = 21 * time.Second },
		"Wait -":           func(o *Options) { o.Wait = -time.Second },
		"Refresh":          func(o *Options) { o.Refresh = -time.Second },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestReadAttributes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		url    string
		own    time.Duration
		values map[string]string
		want   queueState
		bad    bool
	}{
		"nothing":           {want: queueState{visibility: 30 * time.Second}},
		"visibility":        {values: map[string]string{"VisibilityTimeout": "120"}, want: queueState{visibility: 2 * time.Minute}},
		"own visibility":    {own: time.Hour, values: map[string]string{"VisibilityTimeout": "120"}, want: queueState{visibility: time.Hour}},
		"no visibility":     {values: map[string]string{"VisibilityTimeout": "0"}, want: queueState{visibility: 30 * time.Second}},
		"bad visibility":    {values: map[string]string{"VisibilityTimeout": "1e3"}, bad: true},
		"visibility 12 h":   {values: map[string]string{"VisibilityTimeout": "43201"}, bad: true},
		"FIFO":              {values: map[string]string{"FifoQueue": "true"}, want: queueState{visibility: 30 * time.Second, fifo: true}},
		"FIFO by name":      {url: "http://x/q.fifo", want: queueState{visibility: 30 * time.Second, fifo: true}},
		"redrive":           {values: map[string]string{"RedrivePolicy": `{"maxReceiveCount":5}`}, want: queueState{visibility: 30 * time.Second, maxReceives: 5}},
		"redrive in quotes": {values: map[string]string{"RedrivePolicy": `{"maxReceiveCount":"5"}`}, want: queueState{visibility: 30 * time.Second, maxReceives: 5}},
		"no redrive":        {values: map[string]string{"RedrivePolicy": ""}, want: queueState{visibility: 30 * time.Second}},
		"redrive null":      {values: map[string]string{"RedrivePolicy": "null"}, want: queueState{visibility: 30 * time.Second}},
		"redrive 0":         {values: map[string]string{"RedrivePolicy": `{"maxReceiveCount":0}`}, bad: true},
		"redrive, no count": {values: map[string]string{"RedrivePolicy": `{}`}, bad: true},
		"redrive 1.5":       {values: map[string]string{"RedrivePolicy": `{"maxReceiveCount":1.5}`}, bad: true},
		"redrive, no JSON":  {values: map[string]string{"RedrivePolicy": `x`}, bad: true},
	} {
		got, err := readAttributes(Options{QueueURL: test.url, Visibility: test.own}, test.values)
		if got != test.want || errors.Is(err, errAttributes) != test.bad || (err != nil) != test.bad {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzRedrivePolicy(f *testing.F) {
	f.Add(`{"maxReceiveCount":"5"}`)
	f.Add(`{"maxReceiveCount":1e2,"deadLetterTargetArn":"x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		q, err := readAttributes(Options{}, map[string]string{"RedrivePolicy": text})
		if err == nil && text != "" && q.maxReceives < 1 {
			t.Errorf("%q gives %d receives", text, q.maxReceives)
		}
		if err != nil && !errors.Is(err, errAttributes) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func TestLastReceive(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		before, most, count int
		want                bool
	}{
		{0, 0, 1, false},
		{0, 0, 100, false},
		{1, 1, 1, true},
		{3, 3, 2, false},
		{3, 3, 3, true},
		{3, 3, 0, false},
		{3, 3, 4, false}, // should have been moved: there is no way to the dead-letter queue
		{0, 3, 7, true},
		{10, 3, 7, true}, // the policy has come, or become stricter, since the receive
		{3, 10, 7, false},
		{3, 0, 4, false}, // it has become milder, or has gone
	} {
		if got := (queueState{maxReceives: test.most}).lastReceive(test.count, queueState{maxReceives: test.before}); got != test.want {
			t.Errorf("receive %d of %d, before of %d: %t", test.count, test.most, test.before, got)
		}
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		d           time.Duration
		ceil, floor int64
	}{
		{0, 0, 0},
		{1, 1, 0},
		{time.Second, 1, 1},
		{time.Second + 1, 2, 1},
		{2*time.Second - 1, 2, 1},
		{math.MaxInt64, 9223372037, 9223372036},
		{-1, 0, 0},
		{-time.Hour, -3600, 0},
	} {
		if c, f := ceilSeconds(test.d), floorSeconds(test.d); c != test.ceil || f != test.floor {
			t.Errorf("%d ns: %d up, %d down", test.d, c, f)
		}
	}
}

func TestSenders(t *testing.T) {
	t.Parallel()
	for concurrency, want := range map[int]int{1: 2, 10: 2, 59: 2, 60: 3, 200: 10, 10_000: 16} {
		if got := senders(concurrency); got != want {
			t.Errorf("%d for %d handlers, want %d", got, concurrency, want)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	answer := func(status int, err error) error {
		return &smithy.OperationError{Err: &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err,
		}}}
	}
	coded := func(code string) error { return &smithy.GenericAPIError{Code: code} }
	for name, test := range map[string]struct {
		err            error
		refused, final bool
	}{
		"no way":               {errors.New("connection refused"), false, false},
		"time":                 {context.DeadlineExceeded, false, false},
		"unavailable":          {answer(503, coded("ServiceUnavailable")), false, false},
		"throttled":            {answer(403, coded("RequestThrottled")), false, false},
		"over the limit":       {answer(403, &types.OverLimit{}), false, false},
		"not allowed":          {answer(403, coded("AccessDenied")), false, true},
		"a proxy's limit":      {answer(429, errors.New("no code")), false, false},
		"a proxy's patience":   {answer(408, errors.New("no code")), false, false},
		"no queue":             {answer(400, &types.QueueDoesNotExist{}), false, true},
		"entry: handle":        {fmt.Errorf("x: %w", &entryError{code: "ReceiptHandleIsInvalid", sender: true}), true, true},
		"entry: no fault flag": {&entryError{code: "MessageNotInflight"}, true, true},
		"entry: other":         {&entryError{code: "SomethingNew", sender: true}, true, true},
		"entry: throttled":     {&entryError{code: "RequestThrottled", sender: true}, false, false},
		"entry: server":        {&entryError{code: "InternalError"}, false, false},
	} {
		if r, f := refused(test.err), final(test.err); r != test.refused || f != test.final {
			t.Errorf("%s: refused %t, final %t", name, r, f)
		}
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	m := newMessage(types.Message{
		MessageId: aws.String("id"), Body: aws.String("aGVsbG8="),
		Attributes: map[string]string{
			"BodyEncoding": "base64", "MessageGroupId": "g", "MessageDeduplicationId": "d", "SequenceNumber": "7", "SenderId": "s",
			"ApproximateReceiveCount": "3", "SentTimestamp": "1700000000123", "ApproximateFirstReceiveTimestamp": "x",
		},
		MessageAttributes: map[string]types.MessageAttributeValue{"a": {DataType: aws.String("String"), StringValue: aws.String("v")}},
	}, time.Unix(1, 0), nil)
	data, err := m.Decode()
	if err != nil || string(data) != "hello" {
		t.Errorf("decoded %q, %v", data, err)
	}
	if m.ID != "id" || m.GroupID != "g" || m.DeduplicationID != "d" || m.SequenceNumber != "7" || m.SenderID != "s" || m.ReceiveCount != 3 ||
		!m.Sent.Equal(time.UnixMilli(1700000000123)) || !m.FirstReceived.IsZero() || *m.Attributes["a"].StringValue != "v" {
		t.Errorf("%+v", m)
	}
	m.decode = func(body, encoding string) ([]byte, error) { return []byte(encoding + body), nil }
	if data, err := m.Decode(); err != nil || string(data) != "base64aGVsbG8=" {
		t.Errorf("with a decoder of one's own %q, %v", data, err)
	}
}

// Several Workers may share a registry, and each counts under its queue.
func TestMetricsAreShared(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	for _, queue := range []string{"a", "b"} {
		m, err := newMetrics(r, queue)
		if err != nil {
			t.Fatal(err)
		}
		m.settled(kindAck)
		m.lost.Inc()
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := 0
	for _, f := range families {
		for _, m := range f.Metric {
			series += int(m.GetCounter().GetValue())
		}
	}
	if series != 4 {
		t.Errorf("counted %d, want 4", series)
	}
	bad := prometheus.NewRegistry()
	bad.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "sqsgate_worker_handlers", Help: "of somebody else"}))
	if _, err := newMetrics(bad, "q"); err == nil {
		t.Error("a name taken by another metric is no error")
	}
}
