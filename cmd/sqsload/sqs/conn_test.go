package sqs

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// exchange is what a server gets and answers.
type exchange struct {
	status int
	header map[string]string
	answer string
	stream bool // answer in chunks

	action, body string
}

func serve(t *testing.T, x *exchange) *Conn {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		x.action, x.body = r.Header.Get("X-Amz-Target"), string(body)
		for k, v := range x.header {
			w.Header().Set(k, v)
		}
		if x.status != 0 {
			w.WriteHeader(x.status)
		}
		if x.stream {
			half := len(x.answer) / 2
			_, _ = io.WriteString(w, x.answer[:half]) // the client's end notices
			if f, ok := w.(http.Flusher); ok {
				f.Flush()
			}
			_, _ = io.WriteString(w, x.answer[half:])
			return
		}
		_, _ = io.WriteString(w, x.answer)
	}))
	t.Cleanup(server.Close)
	endpoint, err := ParseEndpoint(server.URL, false)
	if err != nil {
		t.Fatal(err)
	}
	c := NewConn(endpoint, 5*time.Second, nil)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

var queue = NewQueue("http://host/0/q")

func TestRequests(t *testing.T) {
	x := &exchange{answer: `{}`}
	c := serve(t, x)
	body := []byte("hello")
	handles := []Incoming{{Receipt: []byte("h0")}, {Receipt: []byte("h1")}}
	for name, tc := range map[string]struct {
		answer, want string
		do           func() error
	}{
		"SendMessage": {
			`{}`, `{"QueueUrl":"http://host/0/q","MessageBody":"hello"}`,
			func() error { return c.Send(queue, Outgoing{Body: body}) },
		},
		"SendMessageBatch": {
			`{"Successful":[{"Id":"0"},{"Id":"1"}],"Failed":null}`,
			`{"QueueUrl":"http://host/0/q","Entries":[{"Id":"0","MessageGroupId":"g","MessageDeduplicationId":"d","MessageBody":"hello"},{"Id":"1","MessageBody":"hello"}]}`,
			func() error {
				_, err := c.SendBatch(queue, []Outgoing{{Body: body, Group: []byte("g"), Deduplication: []byte("d")}, {Body: body}})
				return err
			},
		},
		"ReceiveMessage": {
			`{}`, `{"QueueUrl":"http://host/0/q","MaxNumberOfMessages":7,"WaitTimeSeconds":2}`,
			func() error {
				got, err := c.Receive(queue, 7, 2*time.Second, nil)
				if len(got) != 0 {
					t.Errorf("received %v", got)
				}
				return err
			},
		},
		"DeleteMessage": {
			``, `{"QueueUrl":"http://host/0/q","ReceiptHandle":"h0"}`,
			func() error { return c.Delete(queue, handles[0].Receipt) },
		},
		"DeleteMessageBatch": {
			`{"Successful":[{"Id":"0"},{"Id":"1"}]}`,
			`{"QueueUrl":"http://host/0/q","Entries":[{"Id":"0","ReceiptHandle":"h0"},{"Id":"1","ReceiptHandle":"h1"}]}`,
			func() error {
				_, err := c.DeleteBatch(queue, handles)
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			x.answer = tc.answer
			if err := tc.do(); err != nil {
				t.Fatal(err)
			}
			if x.action != "AmazonSQS."+name {
				t.Errorf("action %s", x.action)
			}
			if diff := cmp.Diff(tc.want, x.body); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReceive(t *testing.T) {
	const answer = ` { "Other" : [1,{"a":[true,null,-1.5e3]}], "Messages": [
		{"MessageId":"m","MD5OfBody":"x","Attributes":{"a":"}"},"Body":"one","ReceiptHandle":"r1"},
		{"ReceiptHandle":"r\u002f2","Body":"a\"\\\n\u00e9"} ] }`
	want := []Incoming{{Receipt: []byte("r1"), Body: []byte("one")}, {Receipt: []byte("r/2"), Body: []byte("a\"\\\né")}}
	for _, stream := range []bool{false, true} {
		c := serve(t, &exchange{answer: answer, stream: stream})
		for range 2 { // the connection serves again
			got, err := c.Receive(queue, 10, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
	}
}

func TestBatchAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		`{"Successful":[{"Id":"0"}],"Failed":[{"Id":"1","Code":"RequestThrottled","SenderFault":true}]}`: "[{1 RequestThrottled true}]",
		`{"Successful":[{"Id":"0"},{"Id":"1"}]}`:                                                         "[]",
		`{"Successful":[{"Id":"0"}]}`:                                                                    "malformed answer",
		`{"Successful":[{"Id":"0"}],"Failed":[{"Id":"2","Code":"X"}]}`:                                   "malformed answer",
		`{"Successful":[{"Id":"0"}],"Failed":[{"Code":"X"}]}`:                                            "malformed answer",
		`{"Successful":[{"Id":"0"},{"Id":"1"}]`:                                                          "malformed answer",
		`nonsense`:                                                                                       "malformed answer",
	} {
		refused, err := batch([]byte(answer), 2)
		got := fmt.Sprint(refused)
		if err != nil {
			got = Code(err)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", answer, got, want)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		x    exchange
		code string
	}{
		{exchange{status: 400, answer: `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"gone"}`}, "QueueDoesNotExist"},
		{exchange{status: 400, answer: `{}`, header: map[string]string{"x-amzn-query-error": "RequestThrottled;Sender"}}, "RequestThrottled"},
		{exchange{status: 502, answer: `<html>`}, "HTTP 502"},
		{exchange{answer: `[]`}, "malformed answer"},
	} {
		c := serve(t, &tc.x)
		_, err := c.Receive(queue, 1, 0, nil)
		if err == nil || Code(err) != tc.code {
			t.Errorf("%+v: %v", tc.x, err)
		}
	}
}

func TestConnectionIsMadeAgain(t *testing.T) {
	x := &exchange{answer: `{}`, header: map[string]string{"Connection": "close"}}
	c := serve(t, x)
	for range 3 {
		if err := c.Send(queue, Outgoing{Body: []byte("b")}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInterrupt(t *testing.T) {
	reached, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(reached)
		<-release
	}))
	defer server.Close()
	defer close(release)
	endpoint, err := ParseEndpoint(server.URL, false)
	if err != nil {
		t.Fatal(err)
	}
	c := NewConn(endpoint, time.Hour, nil)
	failed := make(chan error)
	go func() { failed <- c.Send(queue, Outgoing{}) }()
	<-reached
	c.Interrupt()
	if err := <-failed; err == nil {
		t.Error("the call under way succeeded")
	}
	if err := c.Send(queue, Outgoing{}); !errors.Is(err, errInterrupted) {
		t.Errorf("a later call: %v", err)
	}
}

func TestRemoteIsRefused(t *testing.T) {
	for _, raw := range []string{"http://192.0.2.1:80", "https://192.0.2.1", "http://[2001:db8::1]:80"} {
		endpoint, err := ParseEndpoint(raw, false)
		if err != nil {
			t.Fatal(err)
		}
		c := NewConn(endpoint, time.Second, nil)
		if err := c.Send(queue, Outgoing{}); !errors.Is(err, ErrRemote) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, raw := range []string{"", "127.0.0.1:80", "ftp://127.0.0.1", "http://", "http://a/b", "http://u@a", "http://a?b"} {
		if _, err := ParseEndpoint(raw, true); err == nil {
			t.Errorf("%q is accepted", raw)
		}
	}
}

func TestSigned(t *testing.T) {
	if _, err := NewSigner(func(string) string { return "" }); !errors.Is(err, ErrNoCredentials) {
		t.Errorf("without keys: %v", err)
	}
	sign, err := NewSigner(func(name string) string {
		return map[string]string{"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-west-1"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	var authorization, date string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization, date = r.Header.Get("Authorization"), r.Header.Get("X-Amz-Date")
		_, _ = io.WriteString(w, "{}") // the client notices
	}))
	defer server.Close()
	endpoint, err := ParseEndpoint(server.URL, false)
	if err != nil {
		t.Fatal(err)
	}
	c := NewConn(endpoint, 5*time.Second, sign)
	if err := c.Send(queue, Outgoing{Body: []byte("b")}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(authorization, "/eu-west-1/sqs/aws4_request") || !strings.Contains(authorization, "content-length;content-type;host;x-amz-date;x-amz-target") || date == "" {
		t.Errorf("authorization %q, date %q", authorization, date)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
