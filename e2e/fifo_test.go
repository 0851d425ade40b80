//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// TestFIFO tests what FIFO queues promise beyond standard ones.
func TestFIFO(t *testing.T) {
	tests := map[string]func(t *testing.T, a *Actions){
		"batch order":         fifoBatchOrder,
		"locked group":        fifoLockedGroup,
		"order after expiry":  fifoOrderAfterExpiry,
		"expired handle":      fifoExpiredHandle,
		"explicit duplicate":  fifoExplicitDuplicate,
		"duplicate by body":   fifoDuplicateByBody,
		"scope of group":      fifoScopeOfGroup,
		"concurrent repeats":  fifoConcurrentRepeats,
		"delay of the queue":  fifoQueueDelay,
		"delay of one":        fifoOwnDelay,
		"purge remembers ids": fifoPurge,
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

func fifoBatchOrder(t *testing.T, a *Actions) {
	q := fresh(t, a, ".fifo")
	in := &sqs.SendMessageBatchInput{QueueUrl: q.URL}
	var want []string
	for i := range 10 {
		body := fmt.Sprint(i)
		in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{
			Id: &body, MessageBody: &body, MessageGroupId: aws.String("g"), MessageDeduplicationId: &body,
		})
		want = append(want, body)
	}
	out, err := a.SendMessageBatch(t.Context(), in)
	if err != nil || len(out.Failed) > 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	got := q.Receive(10, 5)
	if !slices.Equal(bodies(got), want) {
		t.Fatalf("received %v in one call, want %v", bodies(got), want)
	}
	last := ""
	for i, m := range got {
		number := m.Attributes["SequenceNumber"]
		if len(number) != 20 || number <= last || number != aws.ToString(out.Successful[i].SequenceNumber) {
			t.Errorf("message %d: SequenceNumber %q after %q, sent as %q", i, number, last, aws.ToString(out.Successful[i].SequenceNumber))
		}
		last = number
		if m.Attributes["MessageGroupId"] != "g" || m.Attributes["MessageDeduplicationId"] != want[i] {
			t.Errorf("message %d: attributes %v", i, m.Attributes)
		}
	}
}

func fifoLockedGroup(t *testing.T, a *Actions) {
	q := fresh(t, a, ".fifo")
	for _, body := range []string{"1", "2"} {
		q.Send(body, inGroup("g", body))
	}
	q.Send("other", inGroup("h", "other"))
	first := q.ReceiveOne()
	if got := q.ReceiveOne(); first.Attributes["MessageGroupId"] == got.Attributes["MessageGroupId"] {
		t.Fatalf("received %s and %s of one group", aws.ToString(first.Body), aws.ToString(got.Body))
	}
	q.Send("3", inGroup("g", "3"))
	q.WantNone(0)
	if first.Attributes["MessageGroupId"] != "g" {
		t.Fatalf("the group of the oldest message came second")
	}
	q.Delete(first)
	if got := q.Receive(10, 5); !slices.Equal(bodies(got), []string{"2", "3"}) {
		t.Errorf("after the delete: %v, want 2 and 3", bodies(got))
	}
}

func fifoOrderAfterExpiry(t *testing.T, a *Actions) {
	q := fresh(t, a, ".fifo")
	want := []string{"1", "2", "3", "4", "5"}
	for _, body := range want {
		q.Send(body, inGroup("g", body))
	}
	if got := q.Receive(10, 5, visibleAfter(1)); !slices.Equal(bodies(got), want) {
		t.Fatalf("received %v", bodies(got))
	}
	got := q.Receive(10, 10)
	if !slices.Equal(bodies(got), want) {
		t.Fatalf("received %v after the leases ended", bodies(got))
	}
	for _, m := range got {
		if n := receiveCount(t, m); n != 2 {
			t.Errorf("%s: receive count %d, want 2", aws.ToString(m.Body), n)
		}
	}
	// Given back one by one, the group becomes available up to the first that is
	// still out.
	q.Hide(got[0], 0)
	q.Hide(got[2], 0)
	if again := q.Receive(10, 5); !slices.Equal(bodies(again), []string{"1"}) {
		t.Errorf("received %v, want 1 alone: 2 is still out", bodies(again))
	}
}

func fifoExpiredHandle(t *testing.T, a *Actions) {
	q := fresh(t, a, ".fifo")
	q.Send("m", inGroup("g", "d"))
	first := q.ReceiveOne(visibleAfter(1))
	second := q.ReceiveOne()
	_, err := a.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: q.URL, ReceiptHandle: first.ReceiptHandle})
	wantCode(t, "deleting with the handle of the ended lease", err, "InvalidParameterValue")
	q.Delete(second)
}

func fifoExplicitDuplicate(t *testing.T, a *Actions) {
	q := fresh(t, a, ".fifo")
	first := q.Send("a", inGroup("g", "d"))
	again := q.Send("b", inGroup("g", "d"), func(in *sqs.SendMessageInput) {
		in.MessageAttributes = map[string]types.MessageAttributeValue{"k": {DataType: aws.String("String"), StringValue: aws.String("v")}}
	})
	if *again.MessageId != *first.MessageId || *again.SequenceNumber != *first.SequenceNumber {
		t.Errorf("the repeat got %s %s, the first %s %s", *again.MessageId, *again.SequenceNumber, *first.MessageId, *first.SequenceNumber)
	}
	got := q.Receive(10, 5)
	if !slices.Equal(bodies(got), []string{"a"}) {
		t.Fatalf("received %v, want a alone", bodies(got))
	}
	q.Delete(got...)
	q.Send("c", inGroup("g", "d")) // deleted or not, the window counts from the send
	q.Send("d", inGroup("h", "d")) // nor does the group matter
	q.WantNone(1)
}

func fifoDuplicateByBody(t *testing.T, a *Actions) {
	plain := fresh(t, a, "-none.fifo")
	_, err := a.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: plain.URL, MessageBody: aws.String("x"), MessageGroupId: aws.String("g")})
	wantCode(t, "sending without an id", err, "InvalidParameterValue")

	q := fresh(t, a, ".fifo", attributes{"ContentBasedDeduplication": "true"})
	first := q.Send("same", inGroup("g", ""))
	again := q.Send("same", inGroup("g", ""))
	explicit := q.Send("same", inGroup("g", "own-id")) // an id given counts instead of the body
	if *again.MessageId != *first.MessageId || *explicit.MessageId == *first.MessageId {
		t.Errorf("ids %s, %s, with an explicit id %s", *first.MessageId, *again.MessageId, *explicit.MessageId)
	}
	if got := q.Receive(10, 5); len(got) != 2 {
		t.Errorf("received %v, want 2 messages", bodies(got))
	}
}

func fifoScopeOfGroup(t *testing.T, a *Actions) {
	q := fresh(t, a, ".fifo", attributes{"ContentBasedDeduplication": "true", "DeduplicationScope": "messageGroup"})
	for _, group := range []string{"g", "h", "g", "h"} {
		q.Send("same", inGroup(group, ""))
	}
	got := q.ReceiveAll(2)
	if got[0].Attributes["MessageGroupId"] == got[1].Attributes["MessageGroupId"] {
		t.Errorf("both messages are of group %s", got[0].Attributes["MessageGroupId"])
	}
	q.WantNone(1)
}

func fifoConcurrentRepeats(t *testing.T, a *Actions) {
	q := fresh(t, a, ".fifo")
	const senders = 16
	ids := make([]string, senders)
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			out, err := q.SendMessage(t.Context(), &sqs.SendMessageInput{
				QueueUrl: q.URL, MessageBody: aws.String(fmt.Sprint(i)), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("d"),
			})
			if err != nil {
				t.Errorf("sending: %v", err)
				return
			}
			ids[i] = *out.MessageId
		})
	}
	wg.Wait()
	if distinct := slices.Compact(slices.Sorted(slices.Values(ids))); len(distinct) != 1 {
		t.Errorf("the repeats got the ids %v", distinct)
	}
	if got := q.Receive(10, 5); len(got) != 1 {
		t.Errorf("received %v, want one message", bodies(got))
	}
}

func fifoQueueDelay(t *testing.T, a *Actions) {
	q := fresh(t, a, ".fifo", attributes{"DelaySeconds": "2"})
	began := time.Now()
	q.Send("1", inGroup("g", "1"))
	q.WantNone(0)
	first := q.ReceiveOne()
	if took := time.Since(began); took < 1990*time.Millisecond {
		t.Errorf("the delay of 2 s ended after %v", took)
	}
	q.Hide(first, 0)
	q.Send("2", inGroup("g", "2"))
	// A delayed message behind does not hold the visible one before it.
	if got := q.Receive(10, 0); !slices.Equal(bodies(got), []string{"1"}) {
		t.Errorf("received %v, want 1", bodies(got))
	}
}

func fifoOwnDelay(t *testing.T, a *Actions) {
	q := fresh(t, a, ".fifo")
	_, err := a.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: q.URL, MessageBody: aws.String("x"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("d"), DelaySeconds: 5,
	})
	wantCode(t, "a delay of one FIFO message", err, "InvalidParameterValue")
}

func fifoPurge(t *testing.T, a *Actions) {
	q := fresh(t, a, ".fifo")
	q.Send("a", inGroup("g", "d"))
	held := q.ReceiveOne()
	q.Send("b", inGroup("g", "b"))
	if _, err := a.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: q.URL}); err != nil {
		t.Fatal(err)
	}
	q.WantNone(0)
	q.Send("c", inGroup("g", "c")) // the group is free: its leased message is gone
	got := q.ReceiveOne()
	if aws.ToString(got.Body) != "c" || aws.ToString(got.MessageId) == aws.ToString(held.MessageId) {
		t.Errorf("received %s", aws.ToString(got.Body))
	}
}
