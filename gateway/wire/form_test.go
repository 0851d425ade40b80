package wire

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sqsgate/gateway/api"
)

func query(t testing.TB, body string) *Input {
	t.Helper()
	in, err := NewQuery("", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// Both protocols must decode a request to the same shape.
func TestFormEqualsJSON(t *testing.T) {
	t.Parallel()
	t.Run("SendMessage", func(t *testing.T) {
		t.Parallel()
		same(t, (*Input).SendMessage,
			`{"QueueUrl":"http://h/000000000000/q","MessageBody":"a b+c\r\né","DelaySeconds":5,"MessageGroupId":"","MessageDeduplicationId":"d",
			 "MessageAttributes":{"n":{"DataType":"Number","StringValue":"1"},"b":{"DataType":"Binary","BinaryValue":"AP8="}},
			 "MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String","StringValue":"Root=1"}}}`,
			`Action=SendMessage&QueueUrl=http%3A%2F%2Fh%2F000000000000%2Fq&MessageBody=a+b%2Bc%0D%0A%C3%A9&DelaySeconds=5&MessageGroupId=&MessageDeduplicationId=d`+
				`&MessageAttribute.1.Name=n&MessageAttribute.1.Value.DataType=Number&MessageAttribute.1.Value.StringValue=1`+
				`&MessageAttributes.2.Name=b&MessageAttributes.2.Value.DataType=Binary&MessageAttributes.2.Value.BinaryValue=AP8%3D`+
				`&MessageSystemAttribute.1.Name=AWSTraceHeader&MessageSystemAttribute.1.Value.StringValue=Root%3D1&MessageSystemAttribute.1.Value.DataType=String`)
	})
	t.Run("SendMessageBatch", func(t *testing.T) {
		t.Parallel()
		same(t, (*Input).SendMessageBatch,
			`{"QueueUrl":"q","Entries":[{"Id":"1","MessageBody":"a"},{"Id":"2","MessageBody":"b","MessageAttributes":{"k":{"DataType":"String","StringValue":"x"}}},{"Id":"3","MessageBody":""}]}`,
			// Numbers with gaps, and out of order.
			`QueueUrl=q&SendMessageBatchRequestEntry.20.Id=2&SendMessageBatchRequestEntry.20.MessageBody=b&SendMessageBatchRequestEntry.3.Id=1&SendMessageBatchRequestEntry.3.MessageBody=a`+
				`&SendMessageBatchRequestEntry.20.MessageAttribute.1.Name=k&SendMessageBatchRequestEntry.20.MessageAttribute.1.Value.DataType=String&SendMessageBatchRequestEntry.20.MessageAttribute.1.Value.StringValue=x`+
				`&Entries.21.Id=3&Entries.21.MessageBody=`)
	})
	t.Run("empty batch", func(t *testing.T) {
		t.Parallel()
		same(t, (*Input).SendMessageBatch, `{"QueueUrl":"q","Entries":[]}`, `QueueUrl=q&Entries=`)
	})
	t.Run("ReceiveMessage", func(t *testing.T) {
		t.Parallel()
		same(t, (*Input).ReceiveMessage,
			`{"QueueUrl":"q","AttributeNames":["All","SenderId"],"MessageSystemAttributeNames":["SentTimestamp"],"MessageAttributeNames":["a","b.*"],"MaxNumberOfMessages":10,"VisibilityTimeout":0,"WaitTimeSeconds":-1,"ReceiveRequestAttemptId":"x"}`,
			`QueueUrl=q&AttributeName.1=All&AttributeName.2=SenderId&MessageSystemAttributeName.1=SentTimestamp&MessageAttributeName.2=b.%2A&MessageAttributeName.1=a&MaxNumberOfMessages=10&VisibilityTimeout=0&WaitTimeSeconds=-1&ReceiveRequestAttemptId=x`)
	})
	t.Run("DeleteMessage", func(t *testing.T) {
		t.Parallel()
		same(t, (*Input).DeleteMessage, `{"QueueUrl":"q","ReceiptHandle":"a/b+c=="}`, `QueueUrl=q&ReceiptHandle=a%2Fb%2Bc%3D%3D`)
	})
	t.Run("ChangeMessageVisibility", func(t *testing.T) {
		t.Parallel()
		same(t, (*Input).ChangeMessageVisibility, `{"QueueUrl":"q","ReceiptHandle":"h","VisibilityTimeout":0}`, `QueueUrl=q&ReceiptHandle=h&VisibilityTimeout=0`)
	})
	t.Run("DeleteMessageBatch", func(t *testing.T) {
		t.Parallel()
		same(t, (*Input).DeleteMessageBatch, `{"QueueUrl":"q","Entries":[{"Id":"1","ReceiptHandle":"h"}]}`, `QueueUrl=q&DeleteMessageBatchRequestEntry.1.Id=1&DeleteMessageBatchRequestEntry.1.ReceiptHandle=h`)
	})
	t.Run("ChangeMessageVisibilityBatch", func(t *testing.T) {
		t.Parallel()
		same(t, (*Input).ChangeMessageVisibilityBatch, `{"QueueUrl":"q","Entries":[{"Id":"1","ReceiptHandle":"h","VisibilityTimeout":3}]}`,
			`QueueUrl=q&ChangeMessageVisibilityBatchRequestEntry.1.Id=1&ChangeMessageVisibilityBatchRequestEntry.1.ReceiptHandle=h&ChangeMessageVisibilityBatchRequestEntry.1.VisibilityTimeout=3`)
	})
	t.Run("CreateQueue", func(t *testing.T) {
		t.Parallel()
		same(t, (*Input).CreateQueue, `{"QueueName":"q","Attributes":{"DelaySeconds":"1","Policy":""},"tags":{"k":"v"}}`,
			`QueueName=q&Attribute.1.Name=DelaySeconds&Attribute.1.Value=1&Attribute.2.Name=Policy&Attribute.2.Value=&Tag.1.Key=k&Tag.1.Value=v`)
	})
	t.Run("SetQueueAttributes without numbers", func(t *testing.T) {
		t.Parallel()
		same(t, (*Input).SetQueueAttributes, `{"QueueUrl":"q","Attributes":{"VisibilityTimeout":"35"}}`, `QueueUrl=q&Attribute.Name=VisibilityTimeout&Attribute.Value=35`)
	})
	t.Run("GetQueueAttributes without a number", func(t *testing.T) {
		t.Parallel()
		same(t, (*Input).GetQueueAttributes, `{"QueueUrl":"q","AttributeNames":["All"]}`, `QueueUrl=q&AttributeName=All`)
	})
	t.Run("ListQueues", func(t *testing.T) {
		t.Parallel()
		same(t, (*Input).ListQueues, `{"QueueNamePrefix":"p","MaxResults":3,"NextToken":"t"}`, `QueueNamePrefix=p&MaxResults=3&NextToken=t`)
	})
	t.Run("TagQueue", func(t *testing.T) {
		t.Parallel()
		same(t, (*Input).TagQueue, `{"QueueUrl":"q","Tags":{"a":"","b":"c"}}`, `QueueUrl=q&Tags.1.Key=a&Tags.1.Value=&Tag.2.Key=b&Tag.2.Value=c`)
	})
	t.Run("UntagQueue", func(t *testing.T) {
		t.Parallel()
		same(t, (*Input).UntagQueue, `{"QueueUrl":"q","TagKeys":["a","b"]}`, `QueueUrl=q&TagKey.1=a&TagKey.2=b`)
	})
}

func same[R any](t *testing.T, decode func(*Input, *R) error, json, form string) {
	t.Helper()
	var fromJSON, fromForm R
	if err := decode(input(t, "", json), &fromJSON); err != nil {
		t.Fatalf("JSON: %v", err)
	}
	if err := decode(query(t, form), &fromForm); err != nil {
		t.Fatalf("form: %v", err)
	}
	if diff := cmp.Diff(fromJSON, fromForm, sameShape()); diff != "" {
		t.Errorf("(-JSON +form):\n%s", diff)
	}
}

func TestFormErrors(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"a=%", "a=%zz", "%4=x", strings.Repeat("a=b&", maxParameters+1)} {
		if _, err := NewQuery("", []byte(body)); err == nil {
			t.Errorf("%.20q is accepted", body)
		}
	}
	var r api.SendMessageRequest
	var e *api.Error
	if err := query(t, "DelaySeconds=abc").SendMessage(&r); !errors.As(err, &e) || e.Kind != api.InvalidParameterValue {
		t.Errorf("a delay that is no number: %v", err)
	}
	if err := query(t, "MessageAttribute.1.Value.BinaryValue=%25").SendMessage(&r); !errors.As(err, &e) || e.Kind != api.InvalidParameterValue {
		t.Errorf("bad base64: %v", err)
	}
	many := &strings.Builder{}
	for i := range maxMembers + 1 {
		fmt.Fprintf(many, "AttributeName.%d=x&", i)
	}
	if err := query(t, many.String()).ReceiveMessage(new(api.ReceiveMessageRequest)); err == nil {
		t.Error("a list without end is accepted")
	}
	if err := query(t, "MessageAttribute.99999999999999999999.Name=a").SendMessage(&r); err != nil {
		t.Errorf("a number beyond int64 counts as no number: %v", err)
	}
}

func FuzzForm(f *testing.F) {
	for _, s := range []string{
		"", "Action=SendMessage&MessageBody=a%20b", "a&b==&&=c&%41=+", "SendMessageBatchRequestEntry.1.MessageAttribute.2.Value.BinaryValue=AA%3D%3D",
		"Entries.-1.Id=x&Entries.member.1.Id=y&Attribute.1.Name=a&Tag.1.Key=k", "a=%f", "AttributeName.1=All&AttributeName=",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, err := url.ParseQuery(string(data))
		in, ours := NewQuery("", data) // decodes data in place: from here on it is changed
		if ours != nil {
			if err == nil && len(want) < maxParameters/2 {
				t.Fatalf("%q is refused: %v", data, ours)
			}
			return
		}
		// A semicolon is no separator for us, and an error for net/url.
		if err == nil {
			for key, values := range want {
				if got := in.form.get(key); got != values[len(values)-1] {
					t.Fatalf("%s is %q, want %q", key, got, values[len(values)-1])
				}
			}
		}
		for _, decode := range []func() error{
			func() error { return in.SendMessage(new(api.SendMessageRequest)) },
			func() error { return in.SendMessageBatch(new(api.SendMessageBatchRequest)) },
			func() error { return in.ReceiveMessage(new(api.ReceiveMessageRequest)) },
			func() error { return in.ChangeMessageVisibilityBatch(new(api.HandleBatchRequest)) },
			func() error { return in.CreateQueue(new(api.CreateQueueRequest)) },
			func() error { return in.UntagQueue(new(api.UntagQueueRequest)) },
			func() error { return in.ListQueues(new(api.ListQueuesRequest)) },
		} {
			var e *api.Error
			if err := decode(); err != nil && !errors.As(err, &e) {
				t.Fatalf("%v is no error of the API", err)
			}
		}
	})
}
