//go:build e2e

package e2e

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// answer is what a raw request got.
type answer struct {
	status int
	code   string // of the JSON __type, without its namespace, or of the XML error
	legacy string // of x-amzn-query-error, JSON only
	body   string
}

func (d *Deployment) raw(t *testing.T, header map[string]string, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.Endpoint()+"/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := d.HTTPClient(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: resp.StatusCode, body: string(raw)}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/x-amz-json-1.0") {
		var e struct {
			Type string `json:"__type"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Errorf("answer %q: %v", raw, err)
		}
		_, a.code, _ = strings.Cut(e.Type, "#")
		a.legacy, _, _ = strings.Cut(resp.Header.Get("x-amzn-query-error"), ";")
		return a
	}
	var e struct {
		Code string `xml:"Error>Code"`
	}
	if err := xml.Unmarshal(raw, &e); err != nil {
		t.Errorf("answer %q: %v", raw, err)
	}
	a.code = e.Code
	return a
}

func (d *Deployment) rawJSON(t *testing.T, action, body string) answer {
	t.Helper()
	header := map[string]string{"Content-Type": "application/x-amz-json-1.0"}
	if action != "" {
		header["X-Amz-Target"] = "AmazonSQS." + action
	}
	return d.raw(t, header, body)
}

func (d *Deployment) rawForm(t *testing.T, body string) answer {
	t.Helper()
	return d.raw(t, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, body)
}

// TestMalformedRequests: what is no request of the API is refused as such, and
// the gateway goes on.
func TestMalformedRequests(t *testing.T) {
	large := strings.Repeat("x", 5<<20)
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		q := d.Actions(t, jsonProtocol).Create(t, "target")
		jsonCases := []struct {
			name, action, body string
			status             int
			code               string
		}{
			{"no JSON", "SendMessage", `QueueUrl=x`, 400, "SerializationException"},
			{"cut off", "SendMessage", `{"QueueUrl": "x`, 400, "SerializationException"},
			{"no object", "SendMessage", `["QueueUrl"]`, 400, "SerializationException"},
			{"more after the end", "SendMessage", `{} {}`, 400, "SerializationException"},
			{"deep", "SendMessage", strings.Repeat(`{"MessageAttributes":`, 50_000), 400, "SerializationException"},
			{"wrong type", "ReceiveMessage", `{"QueueUrl": "` + *q.URL + `", "MaxNumberOfMessages": "many"}`, 400, "SerializationException"},
			{"unknown action", "LaunchRocket", `{}`, 400, "UnknownOperationException"},
			{"no action", "", `{}`, 400, "UnknownOperationException"},
			{"no queue", "SendMessage", `{"MessageBody": "x"}`, 400, "MissingRequiredParameterException"},
			{"no body", "SendMessage", `{"QueueUrl": "` + *q.URL + `"}`, 400, "MissingRequiredParameterException"},
			{"no handle", "DeleteMessage", `{"QueueUrl": "` + *q.URL + `"}`, 400, "MissingRequiredParameterException"},
			{"no name", "CreateQueue", `{}`, 400, "MissingRequiredParameterException"},
			{"too large", "SendMessage", `{"QueueUrl": "` + *q.URL + `", "MessageBody": "` + large + `"}`, 413, "RequestEntityTooLargeException"},
		}
		for _, c := range jsonCases {
			t.Run("json/"+c.name, func(t *testing.T) {
				if got := d.rawJSON(t, c.action, c.body); got.status != c.status || got.code != c.code {
					t.Errorf("%d %s, want %d %s\n%s", got.status, got.code, c.status, c.code, abbreviate(got.body))
				}
			})
		}
		formCases := []struct {
			name, body string
			status     int
			code       string
		}{
			{"bad escape", "Action=SendMessage&MessageBody=%zz", 400, "MalformedQueryString"},
			{"unknown action", "Action=LaunchRocket&Version=2012-11-05", 400, "InvalidAction"},
			{"no queue", "Action=SendMessage&MessageBody=x", 400, "MissingParameter"},
			{"no body", "Action=SendMessage&QueueUrl=" + url.QueryEscape(*q.URL), 400, "MissingParameter"},
			{"no number", "Action=ReceiveMessage&MaxNumberOfMessages=many&QueueUrl=" + url.QueryEscape(*q.URL), 400, "InvalidParameterValue"},
			{"too large", "Action=SendMessage&QueueUrl=" + url.QueryEscape(*q.URL) + "&MessageBody=" + large, 413, "RequestEntityTooLarge"},
		}
		for _, c := range formCases {
			t.Run("query/"+c.name, func(t *testing.T) {
				if got := d.rawForm(t, c.body); got.status != c.status || got.code != c.code {
					t.Errorf("%d %s, want %d %s\n%s", got.status, got.code, c.status, c.code, abbreviate(got.body))
				}
			})
		}
		t.Run("json/unknown queue", func(t *testing.T) {
			got := d.rawJSON(t, "GetQueueUrl", `{"QueueName": "nowhere"}`)
			if got.status != 400 || got.code != "QueueDoesNotExist" || got.legacy != noQueue {
				t.Errorf("%d %s, legacy %s", got.status, got.code, got.legacy)
			}
		})
		if got := q.Counts(); got != [3]string{"0", "0", "0"} {
			t.Errorf("something of this was stored: %v", got)
		}
		q.Send("still here")
		q.Delete(q.ReceiveOne())
	})
}

// TestBadParameters: requests of the right form with wrong values.
func TestBadParameters(t *testing.T) {
	const invalid = "InvalidParameterValue"
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		eachProtocol(t, d, func(t *testing.T, a *Actions) {
			q, ordered := fresh(t, a, ""), fresh(t, a, ".fifo")
			small := fresh(t, a, "-small", attributes{"MaximumMessageSize": "1024"})
			nowhere := &Queue{Actions: a, t: t, URL: aws.String(strings.TrimSuffix(*q.URL, queueName(q)) + "nowhere")}
			send := func(q *Queue, body string, change ...func(*sqs.SendMessageInput)) error {
				in := &sqs.SendMessageInput{QueueUrl: q.URL, MessageBody: &body}
				for _, c := range change {
					c(in)
				}
				_, err := a.SendMessage(t.Context(), in)
				return err
			}
			receive := func(q *Queue, count, wait, visibility int32) error {
				in := q.receiving(count, wait)
				in.VisibilityTimeout = visibility
				_, err := a.ReceiveMessage(t.Context(), in)
				return err
			}
			create := func(name string, attributes map[string]string) error {
				_, err := a.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
				return err
			}
			attribute := func(name, dataType, value string) func(*sqs.SendMessageInput) {
				return func(in *sqs.SendMessageInput) {
					in.MessageAttributes = map[string]types.MessageAttributeValue{name: {DataType: &dataType, StringValue: &value}}
				}
			}
			tests := []struct {
				name string
				err  error
				want string
			}{
				{"body of 1 MiB and one byte", send(q, strings.Repeat("x", 1<<20+1)), invalid},
				{"body above the queue's limit", send(small, strings.Repeat("x", 1025)), invalid},
				{"body and attributes above the limit", send(small, strings.Repeat("x", 1020), attribute("abc", "String", "def")), invalid},
				{"illegal character", send(q, "a\x01b"), "InvalidMessageContents"},
				{"delay of 901 s", send(q, "x", delayed(901)), invalid},
				{"negative delay", send(q, "x", delayed(-1)), invalid},
				{"attribute without a type", send(q, "x", attribute("a", "", "v")), invalid},
				{"attribute of no known type", send(q, "x", attribute("a", "Date", "v")), invalid},
				{"number that is none", send(q, "x", attribute("a", "Number", "seven")), invalid},
				{"attribute name with AWS. in front", send(q, "x", attribute("AWS.a", "String", "v")), invalid},
				{"FIFO without a group", send(ordered, "x"), "MissingParameter"},
				{"deduplication id of 129 characters", send(ordered, "x", inGroup("g", strings.Repeat("d", 129))), invalid},
				{"11 messages", receive(q, 11, 0, 0), invalid},
				{"-1 messages", receive(q, -1, 0, 0), invalid},
				{"wait of 21 s", receive(q, 1, 21, 0), invalid},
				{"visibility of 43201 s", receive(q, 1, 0, 43201), invalid},
				{"sending to no queue", send(nowhere, "x"), noQueue},
				{"receiving from no queue", receive(nowhere, 1, 0, 0), noQueue},
				{"queue name with a blank", create("a b", nil), invalid},
				{"queue name of 81 characters", create(strings.Repeat("n", 81), nil), invalid},
				{"FIFO without the ending", create("f", map[string]string{"FifoQueue": "true"}), invalid},
				{"unknown attribute", create("u", map[string]string{"Colour": "red"}), "InvalidAttributeName"},
				{"visibility that is no number", create("v", map[string]string{"VisibilityTimeout": "abc"}), "InvalidAttributeValue"},
				{"visibility of 43201 s as attribute", create("v", map[string]string{"VisibilityTimeout": "43201"}), "InvalidAttributeValue"},
				{"dead-letter queue that is not there", create("r", map[string]string{
					"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:nowhere","maxReceiveCount":1}`,
				}), invalid},
			}
			for _, test := range tests {
				wantCode(t, test.name, test.err, test.want)
			}
			for _, q := range []*Queue{q, ordered, small} {
				if got := q.Counts(); got != [3]string{"0", "0", "0"} {
					t.Errorf("something of this was stored in %s: %v", queueName(q), got)
				}
			}
		})
	})
}

// TestBadHandles: handles that the gateway did not make, of another queue, and
// of a message that is gone.
func TestBadHandles(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		eachProtocol(t, d, func(t *testing.T, a *Actions) {
			q, other := fresh(t, a, ""), fresh(t, a, "-other")
			q.Send("m")
			m := q.ReceiveOne()
			flipped := []byte(aws.ToString(m.ReceiptHandle))
			if flipped[10]++; flipped[10] == '{' || flipped[10] == '[' || flipped[10] == ':' {
				flipped[10] = 'A'
			}
			for _, handle := range []string{"garbage", "AQ", strings.Repeat("A", 2000), string(flipped), aws.ToString(m.ReceiptHandle) + "A", "é"} {
				_, err := a.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: q.URL, ReceiptHandle: &handle})
				wantCode(t, "deleting "+abbreviate(handle), err, "ReceiptHandleIsInvalid")
				_, err = a.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: q.URL, ReceiptHandle: &handle, VisibilityTimeout: 0})
				wantCode(t, "hiding "+abbreviate(handle), err, "ReceiptHandleIsInvalid")
			}
			_, err := a.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: other.URL, ReceiptHandle: m.ReceiptHandle})
			wantCode(t, "a handle of another queue", err, "ReceiptHandleIsInvalid")
			q.WantNone(0) // nothing of this gave the message back
			q.Delete(m)
			q.Delete(m) // repeating a delete is no error
			_, err = a.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: q.URL, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 5})
			wantCode(t, "hiding a deleted message", err, "InvalidParameterValue")
		})
	})
}

// TestBadBatches: what makes a whole batch wrong, for all three actions; nothing
// of it happens.
func TestBadBatches(t *testing.T) {
	const prefix = "AWS.SimpleQueueService."
	ids := func(n int, id func(i int) string) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = id(i)
		}
		return list
	}
	tests := []struct {
		name string
		ids  []string
		want string
	}{
		{"11 entries", ids(11, func(i int) string { return fmt.Sprint("e", i) }), prefix + "TooManyEntriesInBatchRequest"},
		{"the same id twice", []string{"a", "b", "a"}, prefix + "BatchEntryIdsNotDistinct"},
		{"id with other characters", []string{"bad!id"}, prefix + "InvalidBatchEntryId"},
		{"id of 81 characters", []string{strings.Repeat("i", 81)}, prefix + "InvalidBatchEntryId"},
		{"no entries", nil, prefix + "EmptyBatchRequest"},
	}
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		eachProtocol(t, d, func(t *testing.T, a *Actions) {
			q := fresh(t, a, "")
			q.Send("held")
			m := q.ReceiveOne()
			for _, test := range tests {
				send := &sqs.SendMessageBatchInput{QueueUrl: q.URL, Entries: []types.SendMessageBatchRequestEntry{}}
				drop := &sqs.DeleteMessageBatchInput{QueueUrl: q.URL, Entries: []types.DeleteMessageBatchRequestEntry{}}
				hide := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: q.URL, Entries: []types.ChangeMessageVisibilityBatchRequestEntry{}}
				for _, id := range test.ids {
					send.Entries = append(send.Entries, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: aws.String("x")})
					drop.Entries = append(drop.Entries, types.DeleteMessageBatchRequestEntry{Id: &id, ReceiptHandle: m.ReceiptHandle})
					hide.Entries = append(hide.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: &id, ReceiptHandle: m.ReceiptHandle})
				}
				_, err := a.SendMessageBatch(t.Context(), send)
				wantCode(t, "sending "+test.name, err, test.want)
				_, err = a.DeleteMessageBatch(t.Context(), drop)
				wantCode(t, "deleting "+test.name, err, test.want)
				_, err = a.ChangeMessageVisibilityBatch(t.Context(), hide)
				wantCode(t, "hiding "+test.name, err, test.want)
			}
			large := &sqs.SendMessageBatchInput{QueueUrl: q.URL}
			for i := range 10 {
				large.Entries = append(large.Entries, types.SendMessageBatchRequestEntry{
					Id: aws.String(fmt.Sprint(i)), MessageBody: aws.String(strings.Repeat("x", 120<<10)),
				})
			}
			_, err := a.SendMessageBatch(t.Context(), large)
			wantCode(t, "a batch of 1.2 MiB", err, prefix+"BatchRequestTooLong")
			if got := q.Counts(); got != [3]string{"0", "1", "0"} {
				t.Errorf("counts %v, want the held message alone", got)
			}
		})
	})
}
