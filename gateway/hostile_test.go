package gateway_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"sqsgate/gateway"
	"sqsgate/gateway/sigv4"
)

const secret = "the body of a message in another queue"

// raw sends bytes over a connection of their own and returns what came back until
// the server closed it. cut: it ends its half of the connection, which a server
// takes for a client that has gone.
func (s *stack) raw(t *testing.T, data string, cut bool) []byte {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	defer func() { _ = conn.Close() }() // there is nothing left to lose
	must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		// A server that has heard enough does not read on.
		_, _ = io.WriteString(conn, data)
		if tcp, ok := conn.(*net.TCPConn); ok && cut {
			_ = tcp.CloseWrite()
		}
	}()
	got, err := io.ReadAll(conn)
	if err != nil && len(got) == 0 {
		t.Errorf("no answer: %v", err)
	}
	_ = conn.Close()
	<-sent
	return got
}

// replies reads the answers in raw bytes.
func replies(t *testing.T, raw []byte, method string) (all []reply) {
	t.Helper()
	in := bufio.NewReader(bytes.NewReader(raw))
	for {
		if _, err := in.Peek(1); errors.Is(err, io.EOF) {
			return all
		}
		res, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%q is no answer of HTTP: %v", abridged(raw), err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatalf("%q ends too early: %v", abridged(raw), err)
		}
		_ = res.Body.Close() // of memory
		all = append(all, reply{res.StatusCode, res.Header, body})
	}
}

func abridged(b []byte) string {
	if len(b) > 300 {
		return string(b[:300]) + "..."
	}
	return string(b)
}

func squeezed(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, s)
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err) // of memory
	}
	return b.String()
}

const (
	jsonHead = "POST / HTTP/1.1\r\nHost: sqs.test\r\nConnection: close\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.%s\r\n"
	formHead = "POST / HTTP/1.1\r\nHost: sqs.test\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n"
)

func jsonCall(action, body string, headers ...string) string {
	return fmt.Sprintf(jsonHead, action) + strings.Join(append(headers, ""), "\r\n") + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

func formCall(body string, headers ...string) string {
	return formHead + strings.Join(append(headers, ""), "\r\n") + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

func line(first string, headers ...string) string {
	return first + "\r\n" + strings.Join(append(headers, "Host: sqs.test", "Connection: close", "", ""), "\r\n")
}

// hostile is one connection.
type hostile struct {
	name string
	data string
	// want: the statuses, in order. 0 = net/http refuses: 400, 413, 431, 501 or 505.
	want []int
	cut  bool
}

// hostileRequests are what no client sends. There are the queues q, with nothing
// in it, and other, with the secret.
func hostileRequests() []hostile {
	const list = "Action=ListQueues"
	huge := strings.Repeat("x", 10<<20)
	tests := []hostile{
		{"nothing but an end of line", "\r\n\r\n", []int{0}, true},
		{"a greeting of TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", []int{0}, true},
		{"a greeting of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []int{405}, false},
		{"no version", "GET /\r\n\r\n", []int{0}, true},
		{"HTTP/9.9", line("GET /?" + list + " HTTP/9.9"), []int{0}, false},
		{"HTTP/1.0 without a host", "GET /?" + list + " HTTP/1.0\r\n\r\n", []int{200}, false},
		{"HTTP/1.1 without a host", "GET /?" + list + " HTTP/1.1\r\n\r\n", []int{0}, false},
		{"two hosts", line("GET /?"+list+" HTTP/1.1", "Host: a"), []int{0}, false},
		{"a host of other characters", "GET /?" + list + " HTTP/1.1\r\nHost: <a>\r\n\r\n", []int{0}, false},
		{"a forwarded host of other characters", line("GET /?"+list+" HTTP/1.1", `X-Forwarded-Host: "<a>&\`+"\xff"), []int{200}, false},
		{"a scheme and a host in the target", line("GET http://elsewhere/000000000000/q?Action=GetQueueAttributes HTTP/1.1"), []int{200}, false},
		{"header line without a colon", line("GET /?"+list+" HTTP/1.1", "nonsense"), []int{0}, false},
		{"header name with a blank", line("GET /?"+list+" HTTP/1.1", "a b: c"), []int{0}, false},
		{"header with a NUL", line("GET /?"+list+" HTTP/1.1", "a: b\x00c"), []int{0}, false},
		{"header of 2 MiB", line("GET /?"+list+" HTTP/1.1", "A: "+strings.Repeat("x", 2<<20)), []int{0}, false},
		{"200,000 headers", line("GET /?"+list+" HTTP/1.1", strings.Repeat("A: b\r\n", 200_000)+"C: d"), []int{0}, false},
		{"query string of 10 MiB", line("GET /?" + list + "&x=" + huge + " HTTP/1.1"), []int{0}, false},
		{"query string of 900 KiB", line("GET /?" + list + "&x=" + huge[:900<<10] + " HTTP/1.1"), []int{200}, false},
		{"200,000 parameters", line("GET /?" + strings.Repeat("a&", 200_000) + list + " HTTP/1.1"), []int{400}, false},
		{"path of 100 KiB", line("GET /" + huge[:100<<10] + "?Action=PurgeQueue HTTP/1.1"), []int{400}, false},
		{"NUL in the path", line("GET /000000000000/q\x00?Action=PurgeQueue HTTP/1.1"), []int{0}, false},
		{"NUL in the path, escaped", line("GET /000000000000/q%00?Action=PurgeQueue HTTP/1.1"), []int{400}, false},
		{"no UTF-8 in the path", line("GET /000000000000/%ff%fe?Action=PurgeQueue HTTP/1.1"), []int{400}, false},
		{"a way out of the directory", line("GET /000000000000/../../q?Action=PurgeQueue HTTP/1.1"), []int{400}, false},
		{"the same, escaped", line("GET /000000000000/%2e%2e%2fq?Action=PurgeQueue HTTP/1.1"), []int{400}, false},
		{"the gateway's own topics", line("GET /000000000000/sqsgate/catalog?Action=ReceiveMessage HTTP/1.1"), []int{400}, false},
		{"star as the target", line("GET * HTTP/1.1"), []int{404}, false},
		{"CONNECT", line("CONNECT sqs.test:443 HTTP/1.1"), []int{405}, false},
		{"a tiny method", line("X /?" + list + " HTTP/1.1"), []int{405}, false},
		{"no UTF-8 in the action", line("GET /?Action=%ff%00%3c HTTP/1.1"), []int{400}, false},
		{"action twice", line("GET /000000000000/none?Action=DeleteQueue&" + list + "&Action=GetQueueAttributes HTTP/1.1"), []int{400}, false},
		{"queue twice", formCall("Action=GetQueueUrl&QueueName=none&QueueName=q"), []int{200}, false},
		{"attribute twice", formCall("Action=CreateQueue&QueueName=twice&Attribute.1.Name=DelaySeconds&Attribute.1.Value=1&Attribute.1.Value=2"), []int{200}, false},
		{"list numbers that are none", formCall("Action=SendMessageBatch&QueueUrl=q&SendMessageBatchRequestEntry.99999999999999999999.Id=a&SendMessageBatchRequestEntry.-1.MessageBody=b&SendMessageBatchRequestEntry..=c"), []int{400}, false},
		{"5,000 numbers of a list", formCall("Action=DeleteMessageBatch&QueueUrl=q" + many(4900, "&DeleteMessageBatchRequestEntry.%d.Id=a")), []int{400}, false},
		{"no UTF-8 in a form", formCall("Action=SendMessage&QueueUrl=q&MessageBody=%ff"), []int{400}, false},
		{"no UTF-8 in a system attribute", formCall("Action=SendMessage&QueueUrl=q&MessageBody=b&MessageSystemAttribute.1.Name=AWSTraceHeader&MessageSystemAttribute.1.Value.DataType=String&MessageSystemAttribute.1.Value.StringValue=%ff"), []int{400}, false},
		{"no UTF-8 in an attribute's name", formCall("Action=SendMessage&QueueUrl=q&MessageBody=b&MessageAttribute.1.Name=%ff&MessageAttribute.1.Value.DataType=String&MessageAttribute.1.Value.StringValue=v"), []int{400}, false},
		{"no UTF-8 in an attribute's type", formCall("Action=SendMessage&QueueUrl=q&MessageBody=b&MessageAttribute.1.Name=n&MessageAttribute.1.Value.DataType=String.%ff&MessageAttribute.1.Value.StringValue=v"), []int{400}, false},
		{"no UTF-8 in a group", formCall("Action=SendMessage&QueueUrl=q&MessageBody=b&MessageGroupId=%ff"), []int{400}, false},
		{"no UTF-8 in a tag", formCall("Action=TagQueue&QueueUrl=q&Tag.1.Key=%ff&Tag.1.Value=%fe"), []int{400}, false},
		{"no UTF-8 in a queue's attribute", formCall("Action=SetQueueAttributes&QueueUrl=q&Attribute.1.Name=KmsMasterKeyId&Attribute.1.Value=%ff"), []int{400}, false},
		{"no UTF-8 in a queue's name", formCall("Action=CreateQueue&QueueName=%ff"), []int{400}, false},
		{"no UTF-8 in a label", formCall("Action=AddPermission&QueueUrl=q&Label=%ff&AWSAccountId.1=111111111111&ActionName.1=SendMessage"), []int{400}, false},
		{"no UTF-8 in a prefix", formCall("Action=ListQueues&QueueNamePrefix=%ff"), []int{200}, false},
		{"no UTF-8 in a token", formCall("Action=ListQueues&MaxResults=1&NextToken=%ff%00"), []int{400}, false},
		{"no UTF-8 in a handle", formCall("Action=DeleteMessage&QueueUrl=q&ReceiptHandle=%ff%00"), []int{400}, false},
		{"no UTF-8 in a task handle", formCall("Action=CancelMessageMoveTask&TaskHandle=%ff%00"), []int{400}, false},
		{"no UTF-8 in JSON", jsonCall("SendMessage", "{\"QueueUrl\":\"q\",\"MessageBody\":\"\xff\"}"), []int{400}, false},
		{"half a surrogate in JSON", jsonCall("SendMessage", `{"QueueUrl":"q","MessageBody":"\ud800"}`), []int{400}, false},
		{"no UTF-8 in the trace header", jsonCall("SendMessage", `{"QueueUrl":"q","MessageBody":"traced"}`, "X-Amzn-Trace-Id: \xff\xfe"), []int{200}, false},
		{"no UTF-8 in the target", jsonCall("\xff", "{}"), []int{400}, false},
		{"100,000 objects deep", jsonCall("SendMessage", strings.Repeat(`{"a":`, 100_000)), []int{400}, false},
		{"100,000 lists deep in what is ignored", jsonCall("ListQueues", `{"a":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+"}"), []int{400}, false},
		{"100,000 lists deep in a policy", jsonCall("SetQueueAttributes", `{"QueueUrl":"q","Attributes":{"Policy":"`+strings.Repeat("[", 8000)+`"}}`), []int{400}, false},
		{"a number without an end", jsonCall("ReceiveMessage", `{"QueueUrl":"q","MaxNumberOfMessages":`+strings.Repeat("9", 1<<20)+"}"), []int{400}, false},
		{"a number with a large exponent", jsonCall("ReceiveMessage", `{"QueueUrl":"q","MaxNumberOfMessages":1e999999999}`), []int{400}, false},
		{"a number with a fraction", jsonCall("ReceiveMessage", `{"QueueUrl":"q","WaitTimeSeconds":0.5}`), []int{400}, false},
		{"null for everything", jsonCall("SendMessage", `{"QueueUrl":null,"MessageBody":null,"MessageAttributes":null}`), []int{400}, false},
		{"a list as the request", jsonCall("ListQueues", "[]"), []int{400}, false},
		{"no JSON at all", jsonCall("ListQueues", ""), []int{200}, false},
		{"gzip, JSON", jsonCall("SendMessage", squeezed(`{"QueueUrl":"q","MessageBody":"b"}`), "Content-Encoding: gzip"), []int{400}, false},
		{"gzip, form", formCall(squeezed("Action=PurgeQueue&QueueUrl=q"), "Content-Encoding: gzip"), []int{404}, false},
		{"multipart form", line("POST / HTTP/1.1", "Content-Type: multipart/form-data; boundary=x", "Content-Length: 5") + "--x--", []int{404}, false},
		{"body shorter than it says", fmt.Sprintf(jsonHead, "ListQueues") + "Content-Length: 100\r\n\r\n{}", []int{400}, true},
		{"body longer than it says", strings.Replace(jsonCall("ListQueues", "{}GARBAGE / HTTP/1.1"), "Content-Length: 20", "Content-Length: 2", 1), []int{200}, false},
		{"two lengths", fmt.Sprintf(jsonHead, "ListQueues") + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", []int{0}, false},
		{"a negative length", fmt.Sprintf(jsonHead, "ListQueues") + "Content-Length: -1\r\n\r\n{}", []int{0}, false},
		{"a length beyond all numbers", fmt.Sprintf(jsonHead, "ListQueues") + "Content-Length: 99999999999999999999\r\n\r\n{}", []int{0}, false},
		{"a length beyond all memory", fmt.Sprintf(jsonHead, "ListQueues") + "Content-Length: 9223372036854775807\r\n\r\n{}", []int{413}, false},
		{"10 MiB", jsonCall("SendMessage", huge), []int{413}, false},
		{"10 MiB, asked for first", jsonCall("SendMessage", huge, "Expect: 100-continue"), []int{413}, false},
		{"an expectation that is none", jsonCall("ListQueues", "{}", "Expect: 200-ok"), []int{417}, false},
		{"chunks", fmt.Sprintf(jsonHead, "ListQueues") + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", []int{200}, false},
		{"chunks with extensions and trailers", fmt.Sprintf(jsonHead, "ListQueues") + "Transfer-Encoding: chunked\r\nTrailer: X-Amz-Target\r\n\r\n2;a=b\r\n{}\r\n0\r\nX-Amz-Target: AmazonSQS.PurgeQueue\r\n\r\n", []int{200}, false},
		{"a chunk without a size", fmt.Sprintf(jsonHead, "ListQueues") + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", []int{400}, false},
		{"a chunk beyond all memory", fmt.Sprintf(jsonHead, "ListQueues") + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}\r\n", []int{400}, true},
		{"a chunk that is cut off", fmt.Sprintf(jsonHead, "ListQueues") + "Transfer-Encoding: chunked\r\n\r\n10\r\n{}", []int{400}, true},
		{"chunks without a last one", fmt.Sprintf(jsonHead, "ListQueues") + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", []int{400}, true},
		{"10 MiB in chunks", fmt.Sprintf(jsonHead, "ListQueues") + "Transfer-Encoding: chunked\r\n\r\na00000\r\n" + huge + "\r\n0\r\n\r\n", []int{413}, false},
		{"an extension of a chunk without an end", fmt.Sprintf(jsonHead, "ListQueues") + "Transfer-Encoding: chunked\r\n\r\n2;" + huge[:1<<20] + "\r\n{}\r\n0\r\n\r\n", []int{400}, false},
		{"chunks and a length", fmt.Sprintf(jsonHead, "ListQueues") + "Content-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", []int{200}, false},
		{"another coding of the transfer", fmt.Sprintf(jsonHead, "ListQueues") + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", []int{0}, false},
		{"two requests at once", strings.Replace(jsonCall("ListQueues", "{}"), "Connection: close\r\n", "", 1) + jsonCall("FooBar", "{}"), []int{200, 400}, false},
		{"a target and a form", line("POST /?Action=PurgeQueue&QueueUrl=q HTTP/1.1", "X-Amz-Target: AmazonSQS.ListQueues", "Content-Type: application/x-www-form-urlencoded", "Content-Length: 2") + "{}", []int{200}, false},
		{"two targets", line("POST / HTTP/1.1", "X-Amz-Target: AmazonSQS.ListQueues", "X-Amz-Target: AmazonSQS.PurgeQueue", "Content-Length: 2") + "{}", []int{200}, false},
	}
	for _, method := range []string{"HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"} {
		tests = append(tests, hostile{name: method, data: line(method + " /?" + list + " HTTP/1.1"), want: []int{405}})
	}
	return tests
}

// TestHostileRequests sends what no client sends. What is HTTP is answered within
// the protocol, with no fault of the server's; what is none is refused as HTTP has
// it. Nobody else notices.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	q, other := s.create("q", nil), s.create("other", nil)
	s.call("SendMessage", object{"QueueUrl": other, "MessageBody": secret})
	s.play(t, func(tt *hostile, i int, r reply) error {
		switch {
		case tt.want[i] == 0 && (r.status == 400 || r.status == 413 || r.status == 431 || r.status == 501 || r.status == 505):
			return nil
		case r.status != tt.want[i]:
			return fmt.Errorf("the status is %d, want %d", r.status, tt.want[i])
		case r.status == 417 || strings.HasPrefix(tt.data, "HEAD"):
			return nil // the first is net/http's, the second has no body
		}
		return wellFormed(r)
	})
	// Nothing of it had an effect on others.
	if got := s.messages(other, nil); len(got) != 1 || text(got[0]["Body"]) != secret {
		t.Errorf("the other queue has %v", got)
	}
	for _, m := range s.messages(q, object{"MessageSystemAttributeNames": []string{"All"}}) {
		if body := text(m["Body"]); body != "traced" {
			t.Errorf("a message %q was stored", body)
		}
	}
}

// play sends the hostile requests, each over a connection of its own, and has
// every answer judged.
func (s *stack) play(t *testing.T, judge func(tt *hostile, i int, r reply) error) {
	t.Helper()
	t.Run("requests", func(t *testing.T) {
		for _, tt := range hostileRequests() {
			t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				method, _, _ := strings.Cut(tt.data, " ")
				raw := s.raw(t, tt.data, tt.cut)
				got := replies(t, raw, method)
				if len(got) != len(tt.want) {
					t.Fatalf("%d answers, want %d: %q", len(got), len(tt.want), abridged(raw))
				}
				for i, r := range got {
					if err := judge(&tt, i, r); err != nil {
						t.Errorf("answer %d: %v\n%s", i, err, abridged(r.body))
					}
				}
				if bytes.Contains(raw, []byte(secret)) {
					t.Error("another queue's message is answered")
				}
			})
		}
	})
}

// Where signatures are asked for, none of it gets further than that.
func TestHostileRequestsUnsigned(t *testing.T) {
	t.Parallel()
	verifier, err := sigv4.New(sigv4.Options{Keys: []sigv4.Key{{AccessKeyID: "id", Secret: "secret"}}})
	must(t, err)
	s := newStack(t, func(o *gateway.Options) { o.Auth = verifier })
	s.play(t, func(tt *hostile, i int, r reply) error {
		switch {
		case tt.want[i] == 0 && r.status >= 400 || r.status == 417:
			return nil
		case r.status < 400 || r.status >= 500:
			return fmt.Errorf("the status is %d", r.status)
		case strings.HasPrefix(tt.data, "HEAD"):
			return nil
		}
		return wellFormed(r)
	})
}

func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// A name that a client gives is no way to another's answer, nor out of the
// answer's form.
func TestEchoesAreEscaped(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	const nasty = `"'<script>&]]>\` + "\x00\x1b\r\n\u2028\ufffe"
	for action, field := range map[string]string{
		"ReceiveMessage": "QueueUrl", "CreateQueue": "QueueName", "GetQueueUrl": "QueueName", "ListMessageMoveTasks": "SourceArn", nasty: "QueueUrl",
		"CancelMessageMoveTask": "TaskHandle",
	} {
		for _, accept := range []string{"", "application/json"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(url.Values{"Action": {action}, field: {nasty}}.Encode()))
			must(t, err)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Accept", accept)
			got, err := s.send(t.Context(), r)
			must(t, err)
			if err := wellFormed(got); err != nil || got.status < 400 || got.status >= 500 {
				t.Errorf("%q with Accept %q: %d %s: %v", action, accept, got.status, got.body, err)
			}
			if bytes.Contains(got.body, []byte("<script>")) && accept == "" {
				t.Errorf("%q: %s", action, got.body)
			}
		}
	}
}
