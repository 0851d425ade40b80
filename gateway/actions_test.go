package gateway_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"sqsgate/codec"
	"sqsgate/gateway"
	"sqsgate/partition"
)

func TestLifeOfAMessageInJSON(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	q := s.create("orders", nil)
	if want := s.url + "/000000000000/orders"; q != want {
		t.Errorf("queue URL %s, want %s", q, want)
	}
	r := s.request("SendMessage", object{"QueueUrl": q, "MessageBody": "a\r\n\"é", "MessageAttributes": object{
		"k": object{"DataType": "String", "StringValue": "x"}, "b": object{"DataType": "Binary", "BinaryValue": "AP8="},
	}})
	r.Header.Set("X-Amzn-Trace-Id", "Root=1-5759e988-bd862e3fe1be46a994272793")
	sent, err := s.send(t.Context(), r)
	must(t, err)
	if sent.status != 200 || !strings.Contains(string(sent.body), `"MD5OfMessageBody":"`+codec.BodyMD5([]byte("a\r\n\"é"))) ||
		strings.Contains(string(sent.body), "MD5OfMessageSystemAttributes") || strings.Contains(string(sent.body), "SequenceNumber") {
		t.Errorf("sent: %s", sent.body)
	}
	got := s.messages(q, object{"MessageAttributeNames": []string{"k"}, "AttributeNames": []string{"All"}})
	if len(got) != 1 {
		t.Fatalf("received %v", got)
	}
	m := got[0]
	if m["Body"] != "a\r\n\"é" || m["MD5OfMessageAttributes"] != "a45daa70926828a2f0a1db3418e6feb4" || len(member(m, "MessageAttributes")) != 1 {
		t.Errorf("received %v", m)
	}
	attributes := member(m, "Attributes")
	if attributes["AWSTraceHeader"] != "Root=1-5759e988-bd862e3fe1be46a994272793" || attributes["ApproximateReceiveCount"] != "1" || attributes["SenderId"] != "000000000000" {
		t.Errorf("attributes %v", attributes)
	}
	if text(m["MessageId"]) == "" || !strings.Contains(string(sent.body), text(m["MessageId"])) {
		t.Errorf("sent %s, received the id %v", sent.body, m["MessageId"])
	}
	s.call("DeleteMessage", object{"QueueUrl": q, "ReceiptHandle": m["ReceiptHandle"]})
	counts := member(s.call("GetQueueAttributes", object{"QueueUrl": q, "AttributeNames": []string{"All"}}), "Attributes")
	if counts["ApproximateNumberOfMessages"] != "0" || counts["ApproximateNumberOfMessagesNotVisible"] != "0" {
		t.Errorf("after the delete %v", counts)
	}
	if code := s.refused("DeleteMessage", object{"QueueUrl": q, "ReceiptHandle": "garbage"}); code != "ReceiptHandleIsInvalid" {
		t.Errorf("a made-up handle: %s", code)
	}
	s.call("DeleteQueue", object{"QueueUrl": q})
	if code := s.refused("SendMessage", object{"QueueUrl": q, "MessageBody": "x"}); code != "AWS.SimpleQueueService.NonExistentQueue" {
		t.Errorf("after DeleteQueue: %s", code)
	}
}

func TestLifeOfAMessageInQuery(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	s.create("orders", nil)
	const path = "/000000000000/orders"
	sent := s.query(path, url.Values{"Action": {"SendMessage"}, "MessageBody": {"a\rb\n<&>\""}})
	if sent.status != 200 || sent.header.Get("Content-Type") != "text/xml" || !strings.Contains(string(sent.body), "<SendMessageResponse xmlns=") {
		t.Fatalf("sent: %d %s", sent.status, sent.body)
	}
	got := s.query(path, url.Values{"Action": {"ReceiveMessage"}, "WaitTimeSeconds": {"5"}, "AttributeName.1": {"SentTimestamp"}})
	if !strings.Contains(string(got.body), "<Body>a&#xD;b\n&lt;&amp;&gt;&quot;</Body>") || !strings.Contains(string(got.body), "<Attribute><Name>SentTimestamp</Name>") {
		t.Errorf("received: %s", got.body)
	}
	missing := s.query("/000000000000/missing", url.Values{"Action": {"ReceiveMessage"}})
	if missing.status != 400 || !strings.Contains(string(missing.body), "<Code>AWS.SimpleQueueService.NonExistentQueue</Code><Message>The specified queue does not exist for this wsdl version.</Message>") {
		t.Errorf("a queue that is not there: %d %s", missing.status, missing.body)
	}
}

// A duplicate answers the first id and sequence number, and the digest of its
// own body; within one batch as well.
func TestFIFODuplicates(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	q := s.create("a.fifo", object{"FifoQueue": "true"})
	send := func(body, id string) object {
		return s.call("SendMessage", object{"QueueUrl": q, "MessageBody": body, "MessageGroupId": "g", "MessageDeduplicationId": id})
	}
	first, second, repeated := send("a", "1"), send("b", "2"), send("c", "1")
	if repeated["MessageId"] != first["MessageId"] || repeated["SequenceNumber"] != first["SequenceNumber"] {
		t.Errorf("first %v, repeated %v", first, repeated)
	}
	if repeated["MD5OfMessageBody"] != codec.BodyMD5([]byte("c")) {
		t.Errorf("the digest of the duplicate is %v", repeated["MD5OfMessageBody"])
	}
	if a, b := text(first["SequenceNumber"]), text(second["SequenceNumber"]); len(a) != 20 || a >= b {
		t.Errorf("sequence numbers %q, %q", a, b)
	}
	entry := func(id, body, dedup string) object {
		return object{"Id": id, "MessageBody": body, "MessageGroupId": "g", "MessageDeduplicationId": dedup}
	}
	batch := s.call("SendMessageBatch", object{"QueueUrl": q, "Entries": []object{
		entry("x", "d", "3"), entry("y", "e", "3"), entry("z", "f", "2"), entry("bad", "\x01", "4"), entry("w", "g", "4"),
	}})
	list, _ := batch["Successful"].([]any)
	failed, _ := batch["Failed"].([]any)
	if len(list) != 4 || len(failed) != 1 {
		t.Fatalf("batch %v", batch)
	}
	at := func(i int) object { o, _ := list[i].(object); return o }
	if at(0)["MessageId"] != at(1)["MessageId"] || at(2)["MessageId"] != second["MessageId"] || at(1)["MD5OfMessageBody"] != codec.BodyMD5([]byte("e")) {
		t.Errorf("batch %v", batch)
	}
	var bodies []string
	for _, m := range s.messages(q, object{"AttributeNames": []string{"SequenceNumber", "MessageDeduplicationId"}}) {
		bodies = append(bodies, text(m["Body"]))
		if len(bodies) == 1 && member(m, "Attributes")["SequenceNumber"] != first["SequenceNumber"] {
			t.Errorf("received %v, sent %v", m, first)
		}
	}
	if fmt.Sprint(bodies) != "[a b d g]" {
		t.Errorf("received %v", bodies)
	}
}

// A send that failed leaves no deduplication id behind: its repetition is stored.
func TestFailedSendIsNoDuplicate(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(o *gateway.Options) { o.RequestTimeout = 500 * time.Millisecond })
	q := s.create("a.fifo", object{"FifoQueue": "true"})
	ask := object{"QueueUrl": q, "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
	s.control.Fail("StreamWrite", 4, Ydb.StatusIds_UNAVAILABLE)
	failures := 0
	for end := time.Now().Add(20 * time.Second); ; failures++ {
		got, err := s.send(t.Context(), s.request("SendMessage", ask))
		must(t, err)
		if got.status == http.StatusOK {
			break
		}
		if got.status != http.StatusServiceUnavailable || time.Now().After(end) {
			t.Fatalf("after %d failures: %d %s", failures, got.status, got.body)
		}
	}
	if failures == 0 {
		t.Error("no send has failed")
	}
	s.call("SendMessage", ask)
	if got := s.messages(q, nil); len(got) != 1 {
		t.Errorf("received %v, want the message once", got)
	}
}

// The delay of a standard queue is fixed when a message is sent: raising it later
// does not hide what is there.
func TestDelayIsNotRetroactive(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	q := s.create("orders", nil)
	s.call("SendMessage", object{"QueueUrl": q, "MessageBody": "before"})
	s.call("SetQueueAttributes", object{"QueueUrl": q, "Attributes": object{"DelaySeconds": "900"}})
	s.call("SendMessage", object{"QueueUrl": q, "MessageBody": "after"})
	s.call("SendMessage", object{"QueueUrl": q, "MessageBody": "own", "DelaySeconds": 0})
	var bodies []string
	for range 2 {
		for _, m := range s.messages(q, object{"MaxNumberOfMessages": 1}) {
			bodies = append(bodies, text(m["Body"]))
		}
	}
	if fmt.Sprint(bodies) != "[before own]" {
		t.Errorf("received %v", bodies)
	}
	counts := member(s.call("GetQueueAttributes", object{"QueueUrl": q, "AttributeNames": []string{"ApproximateNumberOfMessagesDelayed"}}), "Attributes")
	if counts["ApproximateNumberOfMessagesDelayed"] != "1" {
		t.Errorf("delayed: %v", counts)
	}
}

// What a Topic API writer compressed is handed out as it is stored.
func TestBodyEncodingIsAlwaysReturned(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	q := s.create("orders", nil)
	res := s.pool.Write(t.Context(), partition.Topic{Path: "/local/orders"}, []partition.Message{{Record: gzipped}})
	must(t, res[0].Err)
	got := s.messages(q, nil)
	if len(got) != 1 {
		t.Fatalf("received %v", got)
	}
	body := base64.StdEncoding.EncodeToString(gzipped.Data)
	if got[0]["Body"] != body || member(got[0], "Attributes")["BodyEncoding"] != "gzip" || got[0]["MD5OfBody"] != codec.BodyMD5([]byte(body)) {
		t.Errorf("received %v", got[0])
	}
}

// A client that leaves during its long poll must not take a message with it.
func TestMessageOfALostClientIsNotLost(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	q := s.create("orders", nil)
	gone, leave := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer leave()
	if _, err := s.send(gone, s.request("ReceiveMessage", object{"QueueUrl": q, "WaitTimeSeconds": 20})); err == nil {
		t.Fatal("the poll of an empty queue was answered")
	}
	s.call("SendMessage", object{"QueueUrl": q, "MessageBody": "a"})
	got := s.messages(q, object{"AttributeNames": []string{"ApproximateReceiveCount"}})
	if len(got) != 1 || got[0]["Body"] != "a" {
		t.Errorf("the second client received %v", got)
	}
}

// brokenWriter is a connection that breaks when the answer is written.
type brokenWriter struct{ header http.Header }

func (w *brokenWriter) Header() http.Header         { return w.header }
func (w *brokenWriter) WriteHeader(int)             {}
func (w *brokenWriter) Write(_ []byte) (int, error) { return 0, io.ErrClosedPipe }

// An answer that cannot be written must not hide its messages.
func TestMessageOfAnUnwrittenAnswerIsNotLost(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	q := s.create("orders", nil)
	s.call("SendMessage", object{"QueueUrl": q, "MessageBody": "a"})
	s.handler.ServeHTTP(&brokenWriter{http.Header{}}, s.request("ReceiveMessage", object{"QueueUrl": q, "WaitTimeSeconds": 5}))
	got := s.messages(q, object{"AttributeNames": []string{"ApproximateReceiveCount"}})
	if len(got) != 1 || member(got[0], "Attributes")["ApproximateReceiveCount"] != "2" {
		t.Errorf("the second client received %v", got)
	}
}

func TestConcurrentCreatesGetTheSameQueue(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	var wg sync.WaitGroup
	got := make([]reply, 32)
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = s.send(t.Context(), s.request("CreateQueue", object{"QueueName": "orders", "Attributes": object{"DelaySeconds": "1"}})); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, r := range got {
		if r.status != 200 || string(r.body) != string(got[0].body) {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	if code := s.refused("CreateQueue", object{"QueueName": "orders", "Attributes": object{"DelaySeconds": "2"}}); code != "QueueAlreadyExists" {
		t.Errorf("another delay: %s", code)
	}
}

func TestTagsAreReadAsWritten(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	q := s.create("orders", nil)
	if got := s.call("ListQueueTags", object{"QueueUrl": q}); len(got) != 0 {
		t.Errorf("no tags: %v", got)
	}
	s.call("TagQueue", object{"QueueUrl": q, "Tags": object{"a": "1", "b": ""}})
	if got := member(s.call("ListQueueTags", object{"QueueUrl": q}), "Tags"); len(got) != 2 || got["a"] != "1" || got["b"] != "" {
		t.Errorf("tags: %v", got)
	}
	s.call("UntagQueue", object{"QueueUrl": q, "TagKeys": []string{"a", "none"}})
	if got := member(s.call("ListQueueTags", object{"QueueUrl": q}), "Tags"); len(got) != 1 {
		t.Errorf("tags: %v", got)
	}
}

func TestListQueuesPages(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	for _, name := range []string{"b-2", "b-1", "a", "b-3"} {
		s.create(name, nil)
	}
	var names []string
	token := ""
	for pages := 0; ; pages++ {
		ask := object{"QueueNamePrefix": "b-", "MaxResults": 2}
		if token != "" {
			ask["NextToken"] = token
		}
		got := s.call("ListQueues", ask)
		list, _ := got["QueueUrls"].([]any)
		for _, u := range list {
			names = append(names, text(u)[strings.LastIndexByte(text(u), '/')+1:])
		}
		if token = text(got["NextToken"]); token == "" || pages > 5 {
			break
		}
	}
	if fmt.Sprint(names) != "[b-1 b-2 b-3]" {
		t.Errorf("pages hold %v", names)
	}
	if got := s.call("ListQueues", object{"QueueNamePrefix": "none"}); len(got) != 0 {
		t.Errorf("no match: %v", got)
	}
	if code := s.refused("ListQueues", object{"NextToken": "!"}); code != "InvalidParameterValue" {
		t.Errorf("a bad token: %s", code)
	}
}

func TestRedrivePolicyIsChecked(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	q := s.create("orders", nil)
	s.create("dlq", object{"RedriveAllowPolicy": `{"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:us-east-1:000000000000:orders"]}`})
	s.create("dlq.fifo", object{"FifoQueue": "true"})
	other := s.create("other", nil)
	policy := func(name string) object {
		return object{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:` + name + `","maxReceiveCount":"3"}`}
	}
	s.call("SetQueueAttributes", object{"QueueUrl": q, "Attributes": policy("dlq")})
	got := member(s.call("GetQueueAttributes", object{"QueueUrl": q, "AttributeNames": []string{"RedrivePolicy"}}), "Attributes")
	if got["RedrivePolicy"] != policy("dlq")["RedrivePolicy"] {
		t.Errorf("stored %v", got)
	}
	for name, ask := range map[string]object{
		"unknown":       {"QueueUrl": q, "Attributes": policy("missing")},
		"FIFO":          {"QueueUrl": q, "Attributes": policy("dlq.fifo")},
		"itself":        {"QueueUrl": q, "Attributes": policy("orders")},
		"not admitted":  {"QueueUrl": other, "Attributes": policy("dlq")},
		"other account": {"QueueUrl": q, "Attributes": object{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000001:dlq","maxReceiveCount":3}`}},
	} {
		if code := s.refused("SetQueueAttributes", ask); code != "InvalidParameterValue" {
			t.Errorf("%s: %s", name, code)
		}
	}
	s.call("SetQueueAttributes", object{"QueueUrl": q, "Attributes": object{"RedrivePolicy": ""}})
	if got := s.call("GetQueueAttributes", object{"QueueUrl": q, "AttributeNames": []string{"RedrivePolicy"}}); len(got) != 0 {
		t.Errorf("after the removal: %v", got)
	}
}

func TestCooldowns(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var mu sync.Mutex
	s := newStack(t, func(o *gateway.Options) {
		o.PurgeCooldown, o.DeleteCooldown = time.Minute, time.Minute
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	})
	q := s.create("orders", nil)
	s.call("PurgeQueue", object{"QueueUrl": q})
	if code := s.refused("PurgeQueue", object{"QueueUrl": q}); code != "AWS.SimpleQueueService.PurgeQueueInProgress" {
		t.Errorf("second purge: %s", code)
	}
	s.call("DeleteQueue", object{"QueueUrl": q})
	if code := s.refused("CreateQueue", object{"QueueName": "orders"}); code != "AWS.SimpleQueueService.QueueDeletedRecently" {
		t.Errorf("create after delete: %s", code)
	}
	mu.Lock()
	now = now.Add(time.Minute)
	mu.Unlock()
	s.create("orders", nil)
	s.call("PurgeQueue", object{"QueueUrl": q})
}

// Old clients send to the native URL, and to the bare name.
func TestOtherAddresses(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	s.create("dir/orders", nil)
	for _, address := range []string{"dir/orders", "/v1/6//local/10/dir/orders/16/ydb-sqs-consumer", "https://elsewhere/999999999999/dir/orders"} {
		s.call("SendMessage", object{"QueueUrl": address, "MessageBody": address})
	}
	sent := s.query("/v1/6//local/10/dir/orders/16/ydb-sqs-consumer", url.Values{"Action": {"SendMessage"}, "MessageBody": {"x"}})
	if sent.status != http.StatusOK {
		t.Errorf("by path: %d %s", sent.status, sent.body)
	}
	counts := member(s.call("GetQueueAttributes", object{"QueueUrl": "dir/orders", "AttributeNames": []string{"All"}}), "Attributes")
	if counts["ApproximateNumberOfMessages"] != "4" || counts["QueueArn"] != "arn:aws:sqs:us-east-1:000000000000:dir/orders" {
		t.Errorf("attributes %v", counts)
	}
}

// A message of 1 MiB must pass in either protocol, also when everything in it is
// escaped.
func TestLargestMessage(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	q := s.create("orders", nil)
	body := strings.Repeat("é", 1<<19)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url,
		strings.NewReader(`{"QueueUrl":"orders","MessageBody":"`+strings.Repeat(`\u00e9`, 1<<19)+`"}`))
	must(t, err)
	r.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
	for name, got := range map[string]func() (reply, error){
		"JSON": func() (reply, error) { return s.send(t.Context(), r) },
		"Query": func() (reply, error) {
			return s.query("/", url.Values{"Action": {"SendMessage"}, "QueueUrl": {"orders"}, "MessageBody": {body}}), nil
		},
	} {
		if sent, err := got(); err != nil || sent.status != http.StatusOK || !strings.Contains(string(sent.body), codec.BodyMD5([]byte(body))) {
			t.Errorf("%s: %d %.200s %v", name, sent.status, sent.body, err)
		}
	}
	if code := s.refused("SendMessage", object{"QueueUrl": q, "MessageBody": body + "a"}); code != "InvalidParameterValue" {
		t.Errorf("one byte more: %s", code)
	}
	for range 2 {
		got := s.messages(q, object{"MaxNumberOfMessages": 1})
		if len(got) != 1 || got[0]["Body"] != body {
			t.Errorf("received %d messages", len(got))
		}
	}
}
