package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"sqsgate/gateway"
	"sqsgate/gateway/movetask"
)

// requests of every action, most of which succeed.
var everyAction = map[string]string{
	"AddPermission":                `{"QueueUrl":"q","Label":"l","AWSAccountIds":["111111111111"],"Actions":["SendMessage"]}`,
	"CancelMessageMoveTask":        `{"TaskHandle":"eyJ0YXNrSWQiOiJ4In0="}`,
	"ChangeMessageVisibility":      `{"QueueUrl":"q","ReceiptHandle":"AQ","VisibilityTimeout":0}`,
	"ChangeMessageVisibilityBatch": `{"QueueUrl":"q","Entries":[{"Id":"a","ReceiptHandle":"AQ","VisibilityTimeout":0}]}`,
	"CreateQueue":                  `{"QueueName":"q","Attributes":{"VisibilityTimeout":"0"},"tags":{"a":"b"}}`,
	"DeleteMessage":                `{"QueueUrl":"q","ReceiptHandle":"AQ"}`,
	"DeleteMessageBatch":           `{"QueueUrl":"q","Entries":[{"Id":"a","ReceiptHandle":"AQ"}]}`,
	"DeleteQueue":                  `{"QueueUrl":"none"}`,
	"GetQueueAttributes":           `{"QueueUrl":"q","AttributeNames":["All"]}`,
	"GetQueueUrl":                  `{"QueueName":"q"}`,
	"ListDeadLetterSourceQueues":   `{"QueueUrl":"q","MaxResults":1}`,
	"ListMessageMoveTasks":         `{"SourceArn":"arn:aws:sqs:us-east-1:000000000000:q"}`,
	"ListQueueTags":                `{"QueueUrl":"q"}`,
	"ListQueues":                   `{"QueueNamePrefix":"q","MaxResults":1,"NextToken":"x"}`,
	"PurgeQueue":                   `{"QueueUrl":"q"}`,
	"ReceiveMessage":               `{"QueueUrl":"q.fifo","MaxNumberOfMessages":10,"MessageSystemAttributeNames":["All"],"MessageAttributeNames":["a.*"],"VisibilityTimeout":0,"ReceiveRequestAttemptId":"r"}`,
	"RemovePermission":             `{"QueueUrl":"q","Label":"l"}`,
	"SendMessage":                  `{"QueueUrl":"q.fifo","MessageBody":"b","MessageGroupId":"g","MessageDeduplicationId":"d","MessageAttributes":{"a":{"DataType":"Number.x","StringValue":"1"}}}`,
	"SendMessageBatch":             `{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"b","DelaySeconds":0},{"Id":"b","MessageBody":"\u0001","MessageAttributes":{"a":{"DataType":"Binary","BinaryValue":"AAE="}}}]}`,
	"SetQueueAttributes":           `{"QueueUrl":"q","Attributes":{"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:q\",\"maxReceiveCount\":1}"}}`,
	"StartMessageMoveTask":         `{"SourceArn":"arn:aws:sqs:us-east-1:000000000000:q"}`,
	"TagQueue":                     `{"QueueUrl":"q","Tags":{"a":"b"}}`,
	"UntagQueue":                   `{"QueueUrl":"q","TagKeys":["a"]}`,
}

// No request makes a whole gateway panic, fail, or answer outside the protocol.
func FuzzServeHTTP(f *testing.F) {
	ctx := context.Background()
	s := assemble(f, func(o *gateway.Options) {
		tasks, err := movetask.New(movetask.Options{Catalog: o.Catalog, Mover: idleMover{}})
		must(f, err)
		o.MoveTasks = tasks
	})
	call := func(action, body string) {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://sqs.test/", strings.NewReader(body))
		r.Header.Set("X-Amz-Target", "AmazonSQS."+action)
		s.handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	call("CreateQueue", `{"QueueName":"q","Attributes":{"VisibilityTimeout":"0"}}`)
	call("CreateQueue", `{"QueueName":"q.fifo","Attributes":{"FifoQueue":"true","VisibilityTimeout":"0"}}`)
	for _, action := range s.edge.Actions() {
		body, known := everyAction[action]
		if !known {
			f.Fatalf("there is no request of %s", action)
		}
		f.Add("POST", "/", "application/x-amz-json-1.0", action, "", body)
		var params object
		must(f, json.Unmarshal([]byte(body), &params))
		form := url.Values{"Action": {action}}
		if members, ok := tree(params).(object); ok {
			addForm(form, action, "", members)
		}
		f.Add("POST", "/000000000000/q", "application/x-www-form-urlencoded", "", "", form.Encode())
		f.Add("GET", "/000000000000/q.fifo?"+form.Encode(), "", "", "application/json", "")
	}
	f.Add("POST", "/?Action=SendMessage&MessageBody=x", "text/plain", "", "", "QueueUrl=%FF&MessageAttribute.1.Name=a")
	f.Fuzz(func(t *testing.T, method, target, contentType, action, accept, body string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || u.Path == "" || method == "" {
			return // net/http refuses these
		}
		r := httptest.NewRequest(http.MethodPost, "http://sqs.test/", strings.NewReader(body))
		r.Method, r.URL, r.RequestURI = method, u, target
		// A client that leaves after a moment ends its long poll.
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		r = r.WithContext(ctx)
		if contentType != "" {
			r.Header.Set("Content-Type", contentType)
		}
		if action != "" {
			r.Header.Set("X-Amz-Target", "AmazonSQS."+action)
		}
		if accept != "" {
			r.Header.Set("Accept", accept)
		}
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		got := reply{w.Code, w.Header(), w.Body.Bytes()}
		if err := wellFormed(got); err != nil {
			t.Errorf("%d %s: %v", got.status, got.body, err)
		}
		if got.status >= http.StatusInternalServerError && ctx.Err() == nil {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
}

// idleMover moves nothing.
type idleMover struct{}

func (idleMover) Move(context.Context, string, string, int) (int, error) { return 0, nil }

// tree is a value of a request as addForm takes it: lists are objects with
// numbers for names, and numbers are texts.
func tree(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for name, member := range v {
			out[name] = tree(member)
		}
		return out
	case []any:
		out := object{}
		for i, member := range v {
			out[strconv.Itoa(i+1)] = tree(member)
		}
		return out
	default:
		return fmt.Sprint(v)
	}
}
