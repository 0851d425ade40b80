//go:build e2e

package e2e

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// fresh makes a queue of the test's own.
func fresh(t *testing.T, a *Actions, suffix string, extra ...attributes) *Queue {
	t.Helper()
	name := strings.NewReplacer("/", "-", "#", "").Replace(t.Name())
	return a.Create(t, name+suffix, extra...)
}

// TestMessages takes messages through send, receive and delete, one by one and
// in batches. Both SDKs check the digests of bodies and attributes themselves.
func TestMessages(t *testing.T) {
	tests := map[string]func(t *testing.T, a *Actions){
		"bodies":           bodiesUnchanged,
		"attributes":       attributesUnchanged,
		"batches":          batches,
		"visibility":       visibility,
		"visibility batch": visibilityBatch,
		"old handle":       oldHandle,
		"delay":            delay,
		"long poll":        longPoll,
		"counts":           counts,
	}
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		eachProtocol(t, d, func(t *testing.T, a *Actions) {
			for name, test := range tests {
				t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
					t.Parallel()
					test(t, a)
				})
			}
		})
	})
}

func bodiesUnchanged(t *testing.T, a *Actions) {
	q := fresh(t, a, "")
	for _, body := range []string{
		"a", "a\rb\nc\r\n\td", "\"quotes\" & <tags> é – 😀", `{"json": [1, "\u00e9"]}`, "%7B a+b %20 = &", "\ue000\ufffd\U0010ffff",
		strings.Repeat("x", 1<<20),
	} {
		sent := q.Send(body)
		sum := md5.Sum([]byte(body))
		if got := aws.ToString(sent.MD5OfMessageBody); got != hex.EncodeToString(sum[:]) {
			t.Errorf("digest of %q is %s", abbreviate(body), got)
		}
		m := q.ReceiveOne()
		if aws.ToString(m.Body) != body {
			t.Errorf("sent %q, received %q", abbreviate(body), abbreviate(aws.ToString(m.Body)))
		}
		if aws.ToString(m.MessageId) != aws.ToString(sent.MessageId) || aws.ToString(m.MD5OfBody) != aws.ToString(sent.MD5OfMessageBody) {
			t.Errorf("received id %s digest %s, sent %s %s", aws.ToString(m.MessageId), aws.ToString(m.MD5OfBody),
				aws.ToString(sent.MessageId), aws.ToString(sent.MD5OfMessageBody))
		}
		if _, there := m.Attributes["BodyEncoding"]; there {
			t.Errorf("a text has BodyEncoding %q", m.Attributes["BodyEncoding"])
		}
		q.Delete(m)
	}
	q.WantNone(0)
}

func attributesUnchanged(t *testing.T, a *Actions) {
	q := fresh(t, a, "")
	want := map[string]types.MessageAttributeValue{
		"text":   {DataType: aws.String("String"), StringValue: aws.String("é\n")},
		"number": {DataType: aws.String("Number.int"), StringValue: aws.String("42")},
		"bytes":  {DataType: aws.String("Binary"), BinaryValue: []byte{0, 255, 16}},
	}
	before := time.Now().UnixMilli()
	sent := q.Send("with attributes", func(in *sqs.SendMessageInput) { in.MessageAttributes = want })
	if sent.MD5OfMessageAttributes == nil {
		t.Error("no digest of the attributes")
	}
	m := q.ReceiveOne()
	if len(m.MessageAttributes) != len(want) {
		t.Errorf("received attributes %v", m.MessageAttributes)
	}
	for name, w := range want {
		got := m.MessageAttributes[name]
		if aws.ToString(got.DataType) != *w.DataType || aws.ToString(got.StringValue) != aws.ToString(w.StringValue) || !bytes.Equal(got.BinaryValue, w.BinaryValue) {
			t.Errorf("attribute %s: %+v", name, got)
		}
	}
	if m.Attributes["ApproximateReceiveCount"] != "1" || m.Attributes["SenderId"] == "" {
		t.Errorf("system attributes %v", m.Attributes)
	}
	var sentAt, receivedAt int64
	if _, err := fmt.Sscan(m.Attributes["SentTimestamp"]+" "+m.Attributes["ApproximateFirstReceiveTimestamp"], &sentAt, &receivedAt); err != nil {
		t.Fatalf("times in %v: %v", m.Attributes, err)
	}
	if now := time.Now().UnixMilli(); sentAt < before || receivedAt < sentAt || receivedAt > now {
		t.Errorf("sent at %d, received at %d; the test ran from %d to %d", sentAt, receivedAt, before, now)
	}
}

func batches(t *testing.T, a *Actions) {
	q := fresh(t, a, "")
	in := &sqs.SendMessageBatchInput{QueueUrl: q.URL}
	for i := range 10 {
		in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{
			Id: aws.String(fmt.Sprintf("entry-%d", i)), MessageBody: aws.String(fmt.Sprintf("body %d", i)),
		})
	}
	in.Entries[3].MessageBody = aws.String("\x00") // not a legal text: this entry alone fails
	out, err := a.SendMessageBatch(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Successful) != 9 || len(out.Failed) != 1 || aws.ToString(out.Failed[0].Id) != "entry-3" || !out.Failed[0].SenderFault {
		t.Fatalf("%d entries succeeded, failed: %+v", len(out.Successful), out.Failed)
	}
	ids := map[string]bool{}
	for _, s := range out.Successful {
		ids[aws.ToString(s.MessageId)] = true
	}
	got := q.ReceiveAll(9)
	drop := &sqs.DeleteMessageBatchInput{QueueUrl: q.URL}
	for i, m := range got {
		if !ids[aws.ToString(m.MessageId)] {
			t.Errorf("received id %s twice or never sent", aws.ToString(m.MessageId))
		}
		delete(ids, aws.ToString(m.MessageId))
		drop.Entries = append(drop.Entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle})
	}
	drop.Entries[4].ReceiptHandle = aws.String("garbage")
	dropped, err := a.DeleteMessageBatch(t.Context(), drop)
	if err != nil {
		t.Fatal(err)
	}
	if len(dropped.Successful) != 8 || len(dropped.Failed) != 1 || aws.ToString(dropped.Failed[0].Id) != "4" ||
		aws.ToString(dropped.Failed[0].Code) != "ReceiptHandleIsInvalid" {
		t.Errorf("deleted %d, failed %+v", len(dropped.Successful), dropped.Failed)
	}
	if got := q.Counts(); got != [3]string{"0", "1", "0"} {
		t.Errorf("counts %v, want the one message in flight", got)
	}
}

func visibility(t *testing.T, a *Actions) {
	q := fresh(t, a, "")
	q.Send("m")
	began := time.Now()
	first := q.ReceiveOne(visibleAfter(2))
	q.WantNone(0)
	second := q.ReceiveOne() // waits for the end of the lease
	if held := time.Since(began); held < 1990*time.Millisecond {
		t.Errorf("the lease of 2 s ended after %v", held)
	}
	if n := receiveCount(t, second); n != 2 {
		t.Errorf("receive count %d, want 2", n)
	}
	if aws.ToString(first.ReceiptHandle) == aws.ToString(second.ReceiptHandle) {
		t.Error("both receives gave the same handle")
	}
	q.Hide(second, 0)
	third := q.ReceiveOne()
	if n := receiveCount(t, third); n != 3 {
		t.Errorf("receive count %d after it was given back, want 3", n)
	}
	began = time.Now()
	q.Hide(third, 1)
	fourth := q.ReceiveOne()
	if held := time.Since(began); held < 990*time.Millisecond {
		t.Errorf("the lease that was changed to 1 s ended after %v", held)
	}
	q.Delete(fourth)
	q.WantNone(0)
}

func visibilityBatch(t *testing.T, a *Actions) {
	q := fresh(t, a, "")
	for i := range 3 {
		q.Send(fmt.Sprint(i))
	}
	got := q.ReceiveAll(3)
	in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: q.URL}
	for i, m := range got {
		in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle})
	}
	in.Entries[1].VisibilityTimeout = 43201
	out, err := a.ChangeMessageVisibilityBatch(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Successful) != 2 || len(out.Failed) != 1 || aws.ToString(out.Failed[0].Id) != "1" {
		t.Errorf("succeeded %+v, failed %+v", out.Successful, out.Failed)
	}
	back := q.ReceiveAll(2)
	if slices.Contains(bodies(back), bodies(got)[1]) {
		t.Errorf("%v came back, given back were 0 and 2 of %v", bodies(back), bodies(got))
	}
	q.WantNone(0)
}

// oldHandle deletes with the handle of a lease that has ended: allowed as long
// as nobody else received the message, and no error later either.
func oldHandle(t *testing.T, a *Actions) {
	q := fresh(t, a, "")
	q.Send("m")
	first := q.ReceiveOne(visibleAfter(1))
	second := q.ReceiveOne(visibleAfter(1))
	q.Delete(first) // no error, and the message need not be gone
	eventually(t, 5*time.Second, "the second lease ends", func() bool { return q.Counts() != [3]string{"0", "1", "0"} })
	q.Delete(second)
	q.WantNone(0)
	if got := q.Counts(); got != [3]string{"0", "0", "0"} {
		t.Errorf("counts %v after the delete", got)
	}
}

func delay(t *testing.T, a *Actions) {
	q := fresh(t, a, "", attributes{"DelaySeconds": "2"})
	began := time.Now()
	q.Send("queue's delay")
	q.Send("own delay", delayed(1))
	q.WantNone(0)
	if got := q.Counts(); got != [3]string{"0", "0", "2"} {
		t.Errorf("counts %v, want 2 delayed", got)
	}
	for _, want := range []struct {
		body  string
		after time.Duration
	}{{"own delay", time.Second}, {"queue's delay", 2 * time.Second}} {
		m := q.ReceiveOne()
		// Delays count from the server's reading of the clock, in whole milliseconds.
		if took := time.Since(began); aws.ToString(m.Body) != want.body || took < want.after-10*time.Millisecond {
			t.Errorf("received %q after %v, want %q after %v", aws.ToString(m.Body), took, want.body, want.after)
		}
	}
}

func longPoll(t *testing.T, a *Actions) {
	q := fresh(t, a, "", attributes{"ReceiveMessageWaitTimeSeconds": "1"})
	began := time.Now()
	q.WantNone(1)
	if took := time.Since(began); took < 990*time.Millisecond {
		t.Errorf("an empty poll of 1 s took %v", took)
	}
	got := make(chan []types.Message, 1)
	go func() {
		out, err := q.ReceiveMessage(t.Context(), q.receiving(10, 20))
		if err != nil {
			t.Errorf("long poll: %v", err)
			got <- nil
			return
		}
		got <- out.Messages
	}()
	pass(t, 100*time.Millisecond) // so that the poll waits
	began = time.Now()
	q.Send("wake up")
	if m := <-got; len(m) != 1 || time.Since(began) > 5*time.Second {
		t.Errorf("the poll was woken with %v after %v", bodies(m), time.Since(began))
	}
}

func counts(t *testing.T, a *Actions) {
	q := fresh(t, a, "")
	for i := range 4 {
		q.Send(fmt.Sprint(i))
	}
	q.Send("later", delayed(900))
	if got := q.Counts(); got != [3]string{"4", "0", "1"} {
		t.Errorf("counts %v, want 4 visible and 1 delayed", got)
	}
	held := q.ReceiveAll(1)
	for len(held) < 3 {
		held = append(held, q.Receive(1, 1)...)
	}
	q.Delete(held[0])
	inFlight := fmt.Sprint(len(held) - 1)
	if got := q.Counts(); got != [3]string{fmt.Sprint(4 - len(held)), inFlight, "1"} {
		t.Errorf("counts %v with %d received and one of them deleted", got, len(held))
	}
}
