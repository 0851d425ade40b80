package gateway_test

import (
	"errors"
	"strings"
	"testing"

	"sqsgate/gateway"
)

func (s *stack) attributes(queueURL string) object {
	s.t.Helper()
	return member(s.call("GetQueueAttributes", object{"QueueUrl": queueURL, "AttributeNames": []string{"All"}}), "Attributes")
}

func TestDeclare(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	kept := s.create("kept", object{"DelaySeconds": "5", "VisibilityTimeout": "7"})
	s.call("TagQueue", object{"QueueUrl": kept, "Tags": object{"old": "1", "team": "a"}})
	s.call("SendMessage", object{"QueueUrl": kept, "MessageBody": "still here", "DelaySeconds": 0})
	// The dead-letter queue comes after the queue that names it.
	all := []gateway.Declaration{
		{Name: "work.fifo", Attributes: map[string]string{
			"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":"3"}`, "VisibilityTimeout": "60",
		}},
		{Name: "dead.fifo", Attributes: map[string]string{"MessageRetentionPeriod": "1209600"}},
		{Name: "kept", Attributes: map[string]string{"VisibilityTimeout": "8"}, Tags: map[string]string{"team": "b"}},
	}
	must(t, s.edge.Declare(t.Context(), all))
	must(t, s.edge.Declare(t.Context(), all)) // as at the next start
	work := s.attributes(s.url + "/000000000000/work.fifo")
	if work["FifoQueue"] != "true" || work["VisibilityTimeout"] != "60" || !strings.Contains(text(work["RedrivePolicy"]), "dead.fifo") {
		t.Errorf("work.fifo: %v", work)
	}
	now := s.attributes(kept)
	if now["VisibilityTimeout"] != "8" || now["DelaySeconds"] != "5" {
		t.Errorf("kept: %v", now)
	}
	if tags := member(s.call("ListQueueTags", object{"QueueUrl": kept}), "Tags"); tags["team"] != "b" || tags["old"] != "1" {
		t.Errorf("tags of kept: %v", tags)
	}
	if got := s.messages(kept, nil); len(got) != 1 {
		t.Errorf("messages of kept: %v", got)
	}
}

func TestDeclareRefuses(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	s.create("there.fifo", object{"FifoQueue": "true"})
	one := func(name string, attributes map[string]string) []gateway.Declaration {
		return []gateway.Declaration{{Name: name, Attributes: attributes}}
	}
	tests := []struct {
		name  string
		all   []gateway.Declaration
		queue string
		says  string
	}{
		{"a name", one("no such name", nil), "no such name", "1 to 80"},
		{"an attribute", one("q", map[string]string{"VisibilityTimout": "1"}), "q", "VisibilityTimout"},
		{"a value", one("q", map[string]string{"VisibilityTimeout": "43201"}), "q", "VisibilityTimeout"},
		{"a FIFO attribute", one("q", map[string]string{"ContentBasedDeduplication": "true"}), "q", "ContentBasedDeduplication"},
		{"a tag", []gateway.Declaration{{Name: "q", Tags: map[string]string{"aws:x": "1"}}}, "q", "aws:"},
		{"no dead-letter queue", one("q", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:none","maxReceiveCount":1}`}), "q", "RedrivePolicy"},
		{"twice", []gateway.Declaration{{Name: "q"}, {Name: "q"}}, "q", "twice"},
	}
	for _, tt := range tests {
		err := s.edge.Declare(t.Context(), tt.all)
		var bad *gateway.DeclarationError
		if !errors.As(err, &bad) || bad.Queue != tt.queue || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestAutoCreateQueues(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(o *gateway.Options) { o.AutoCreateQueues = true })
	s.call("SendMessage", object{"QueueUrl": "sent", "MessageBody": "x"})
	if got := s.messages("sent", nil); len(got) != 1 {
		t.Errorf("received %v", got)
	}
	if got := s.messages("received", object{"WaitTimeSeconds": 0}); len(got) != 0 {
		t.Errorf("received %v", got)
	}
	if got := s.call("GetQueueUrl", object{"QueueName": "asked.fifo"})["QueueUrl"]; got != s.url+"/000000000000/asked.fifo" {
		t.Errorf("got %v", got)
	}
	s.call("SendMessageBatch", object{"QueueUrl": s.url + "/000000000000/batch", "Entries": []object{{"Id": "1", "MessageBody": "x"}}})
	if list, _ := s.call("ListQueues", object{})["QueueUrls"].([]any); len(list) != 4 {
		t.Errorf("queues %v", list)
	}
	if fifo := s.attributes("asked.fifo")["FifoQueue"]; fifo != "true" {
		t.Errorf("FifoQueue %v", fifo)
	}
	const missing = "AWS.SimpleQueueService.NonExistentQueue"
	if code := s.refused("DeleteMessage", object{"QueueUrl": "other", "ReceiptHandle": "x"}); code != missing {
		t.Errorf("another action: %s", code)
	}
	if code := s.refused("SendMessage", object{"QueueUrl": "no.name", "MessageBody": "x"}); code != missing {
		t.Errorf("no name of a queue to create: %s", code)
	}
	off := newStack(t, nil)
	if code := off.refused("SendMessage", object{"QueueUrl": "sent", "MessageBody": "x"}); code != missing {
		t.Errorf("by default: %s", code)
	}
}
