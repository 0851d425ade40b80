//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// Queue is one queue seen through one client. Its methods fail the test when the
// gateway refuses; who wants the error calls the client.
type Queue struct {
	*Actions
	t   testing.TB
	URL *string
}

type attributes map[string]string

// Create makes a queue; a name that ends in .fifo makes it a FIFO queue. The
// extra attributes are merged.
func (a *Actions) Create(t testing.TB, name string, extra ...attributes) *Queue {
	t.Helper()
	in := &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{}}
	if strings.HasSuffix(name, ".fifo") {
		in.Attributes["FifoQueue"] = "true"
	}
	for _, e := range extra {
		maps.Copy(in.Attributes, e)
	}
	out, err := a.CreateQueue(t.Context(), in)
	if err != nil {
		t.Fatalf("creating %s: %v", name, err)
	}
	return &Queue{Actions: a, t: t, URL: out.QueueUrl}
}

// With is the same queue through another client.
func (q *Queue) With(t testing.TB, a *Actions) *Queue { return &Queue{Actions: a, t: t, URL: q.URL} }

// Send sends a body; change may fill in more of the request.
func (q *Queue) Send(body string, change ...func(*sqs.SendMessageInput)) *sqs.SendMessageOutput {
	q.t.Helper()
	in := &sqs.SendMessageInput{QueueUrl: q.URL, MessageBody: &body}
	for _, c := range change {
		c(in)
	}
	out, err := q.SendMessage(q.t.Context(), in)
	if err != nil {
		q.t.Fatalf("sending %q: %v", abbreviate(body), err)
	}
	return out
}

func inGroup(group, deduplication string) func(*sqs.SendMessageInput) {
	return func(in *sqs.SendMessageInput) {
		in.MessageGroupId = &group
		if deduplication != "" {
			in.MessageDeduplicationId = &deduplication
		}
	}
}

func delayed(seconds int32) func(*sqs.SendMessageInput) {
	return func(in *sqs.SendMessageInput) { in.DelaySeconds = seconds }
}

// receiving is a request for up to count messages with everything there is to
// know about them.
func (q *Queue) receiving(count, wait int32) *sqs.ReceiveMessageInput {
	return &sqs.ReceiveMessageInput{
		QueueUrl: q.URL, MaxNumberOfMessages: count, WaitTimeSeconds: wait,
		AttributeNames: []types.QueueAttributeName{"All"}, MessageAttributeNames: []string{"All"}, //nolint:staticcheck // known to both SDKs
	}
}

func visibleAfter(seconds int32) func(*sqs.ReceiveMessageInput) {
	return func(in *sqs.ReceiveMessageInput) { in.VisibilityTimeout = seconds }
}

// Receive is one call for up to count messages.
func (q *Queue) Receive(count, wait int32, change ...func(*sqs.ReceiveMessageInput)) []types.Message {
	q.t.Helper()
	in := q.receiving(count, wait)
	for _, c := range change {
		c(in)
	}
	out, err := q.ReceiveMessage(q.t.Context(), in)
	if err != nil {
		q.t.Fatalf("receiving: %v", err)
	}
	return out.Messages
}

// ReceiveOne waits for a single message.
func (q *Queue) ReceiveOne(change ...func(*sqs.ReceiveMessageInput)) types.Message {
	q.t.Helper()
	got := q.Receive(1, 10, change...)
	if len(got) != 1 {
		q.t.Fatalf("received %d messages, want 1", len(got))
	}
	return got[0]
}

// WantNone fails when a message can be received within wait seconds.
func (q *Queue) WantNone(wait int32) {
	q.t.Helper()
	if got := q.Receive(10, wait); len(got) > 0 {
		q.t.Fatalf("received %v, want nothing", bodies(got))
	}
}

// ReceiveAll receives until count messages are there, at most for 20 s.
func (q *Queue) ReceiveAll(count int) []types.Message {
	q.t.Helper()
	var all []types.Message
	for deadline := time.Now().Add(20 * time.Second); len(all) < count; {
		if time.Now().After(deadline) {
			q.t.Fatalf("received %d messages in 20 s, want %d: %v", len(all), count, bodies(all))
		}
		all = append(all, q.Receive(10, 1)...)
	}
	return all
}

// Delete deletes messages one by one.
func (q *Queue) Delete(messages ...types.Message) {
	q.t.Helper()
	for _, m := range messages {
		if _, err := q.DeleteMessage(q.t.Context(), &sqs.DeleteMessageInput{QueueUrl: q.URL, ReceiptHandle: m.ReceiptHandle}); err != nil {
			q.t.Fatalf("deleting %q: %v", abbreviate(aws.ToString(m.Body)), err)
		}
	}
}

// Hide changes the visibility of a message, in seconds; 0 gives it back.
func (q *Queue) Hide(m types.Message, seconds int32) {
	q.t.Helper()
	_, err := q.ChangeMessageVisibility(q.t.Context(), &sqs.ChangeMessageVisibilityInput{
		QueueUrl: q.URL, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: seconds,
	})
	if err != nil {
		q.t.Fatalf("changing the visibility of %q: %v", abbreviate(aws.ToString(m.Body)), err)
	}
}

// Attributes reads all attributes.
func (q *Queue) Attributes() map[string]string {
	q.t.Helper()
	out, err := q.GetQueueAttributes(q.t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: q.URL, AttributeNames: []types.QueueAttributeName{"All"},
	})
	if err != nil {
		q.t.Fatalf("reading attributes: %v", err)
	}
	return out.Attributes
}

// Counts are the messages that are visible, in flight and delayed.
func (q *Queue) Counts() [3]string {
	q.t.Helper()
	a := q.Attributes()
	return [3]string{
		a["ApproximateNumberOfMessages"], a["ApproximateNumberOfMessagesNotVisible"], a["ApproximateNumberOfMessagesDelayed"],
	}
}

func bodies(messages []types.Message) []string {
	list := make([]string, len(messages))
	for i, m := range messages {
		list[i] = abbreviate(aws.ToString(m.Body))
	}
	return list
}

func abbreviate(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}

// receiveCount is the message's attribute of that name.
func receiveCount(t testing.TB, m types.Message) int {
	t.Helper()
	n, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
	if err != nil {
		t.Fatalf("receive count of %q: %v", aws.ToString(m.Body), err)
	}
	return n
}

// errorCode is the code of an error of the API, or says what else it is.
func errorCode(err error) string {
	var api smithy.APIError
	switch {
	case err == nil:
		return "no error"
	case errors.As(err, &api):
		return api.ErrorCode()
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	}
	return fmt.Sprintf("not of the API: %v", err)
}

func wantCode(t testing.TB, what string, err error, want string) {
	t.Helper()
	if got := errorCode(err); got != want {
		t.Errorf("%s: %s (%v), want %s", what, got, err, want)
	}
}
