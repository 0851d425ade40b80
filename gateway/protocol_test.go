package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// What the scripts of testdata/surface cannot say: the forms a request can take
// beside the usual two, and the headers of its answer.
func TestFormsOfRequests(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	s.create("q", object{"DelaySeconds": "7"})
	s.create("other", nil)
	get := func(path string, headers ...string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		must(t, err)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		return r
	}
	post := func(path, contentType, body string, headers ...string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
		must(t, err)
		r.Header.Set("Content-Type", contentType)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		return r
	}
	const (
		form    = "application/x-www-form-urlencoded"
		amzJSON = "application/x-amz-json-1.0"
		queue   = "/000000000000/q"
		target  = "AmazonSQS.GetQueueAttributes"
	)
	tests := []struct {
		name    string
		request *http.Request
		status  int
		kind    string // content type
		body    string // pattern
	}{
		{"GET at the queue", get(queue + "?Action=GetQueueAttributes&AttributeName.1=DelaySeconds"), 200, "text/xml", `<Attribute><Name>DelaySeconds</Name><Value>7</Value></Attribute>`},
		{"GET with a version", get(queue + "?Action=GetQueueAttributes&AttributeName=DelaySeconds&Version=2012-11-05"), 200, "text/xml", `<Value>7</Value>`},
		{"POST at the queue", post(queue, form, "Action=GetQueueAttributes&AttributeName.1=DelaySeconds"), 200, "text/xml", `<Value>7</Value>`},
		{"the member's own name of a list", post(queue, form, "Action=GetQueueAttributes&AttributeNames.1=DelaySeconds"), 200, "text/xml", `<Value>7</Value>`},
		{"QueueUrl counts before the path", post("/000000000000/other", form, "Action=GetQueueAttributes&AttributeName.1=DelaySeconds&QueueUrl="+url.QueryEscape(s.url+queue)), 200, "text/xml", `<Value>7</Value>`},
		{"GetQueueUrl at another queue", get("/000000000000/other?Action=GetQueueUrl&QueueName=q"), 200, "text/xml", queue + `</QueueUrl>`},
		{"an empty receive", get(queue + "?Action=ReceiveMessage"), 200, "text/xml", `<ReceiveMessageResult/><ResponseMetadata>`},
		{"an empty list from a careless client", post(queue, form, "Action=ReceiveMessage&MessageAttributeNames="), 200, "text/xml", `<ReceiveMessageResult/>`},
		{"no result element", post("/000000000000/other", form, "Action=PurgeQueue"), 200, "text/xml", `^<\?xml version="1.0"\?><PurgeQueueResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/"><ResponseMetadata><RequestId>[0-9a-f-]{36}</RequestId></ResponseMetadata></PurgeQueueResponse>$`},
		{"JSON asked of Query", get(queue+"?Action=GetQueueAttributes&AttributeName.1=DelaySeconds", "Accept", "application/json"), 200, "application/json", `^{"GetQueueAttributesResponse":{"GetQueueAttributesResult":{"Attributes":\[{"Name":"DelaySeconds","Value":"7"}\]},"ResponseMetadata":{"RequestId":"[0-9a-f-]{36}"}}}$`},
		{"an error in it", get("/000000000000/none?Action=GetQueueAttributes", "Accept", "application/json"), 400, "application/json", `^{"Error":{"Type":"Sender","Code":"AWS.SimpleQueueService.NonExistentQueue","Message":"The specified queue does not exist for this wsdl version."`},
		{"JSON at the queue's path", post(queue, amzJSON, `{"AttributeNames":["DelaySeconds"]}`, "X-Amz-Target", target), 200, amzJSON, `^{"Attributes":{"DelaySeconds":"7"}}$`},
		{"unknown members", post("/", amzJSON, `{"QueueUrl":"q","Surprise":{"a":[1]},"AttributeNames":["DelaySeconds"]}`, "X-Amz-Target", target), 200, amzJSON, `"7"`},
		{"query mode", post("/", amzJSON, `{"QueueUrl":"q"}`, "X-Amz-Target", target, "X-Amzn-Query-Mode", "true"), 200, amzJSON, `^{}$`},
		{"nothing to answer", post("/", amzJSON, `{"QueueUrl":"other"}`, "X-Amz-Target", "AmazonSQS.PurgeQueue"), 200, amzJSON, `^$`},
		{"no JSON", post("/", amzJSON, `{"QueueUrl":`, "X-Amz-Target", target), 400, amzJSON, `"__type":"com.amazon.coral.service#SerializationException"`},
		{"a number that is a list", post("/", amzJSON, `{"QueueUrl":"q","WaitTimeSeconds":[1]}`, "X-Amz-Target", "AmazonSQS.ReceiveMessage"), 400, amzJSON, `SerializationException`},
		{"a broken escape", post("/", form, "Action=%zz"), 400, "text/xml", `<Code>MalformedQueryString</Code>`},
	}
	for _, tt := range tests {
		got, err := s.send(t.Context(), tt.request)
		must(t, err)
		if got.status != tt.status || got.header.Get("Content-Type") != tt.kind || !regexp.MustCompile(tt.body).Match(got.body) {
			t.Errorf("%s: %d %s %s", tt.name, got.status, got.header.Get("Content-Type"), got.body)
		}
		if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(got.header.Get("X-Amzn-Requestid")) {
			t.Errorf("%s: request id %q", tt.name, got.header.Get("X-Amzn-Requestid"))
		}
	}
}

// Statements that are added at the same time are all there in the end.
func TestConcurrentPermissions(t *testing.T) {
	t.Parallel()
	s := newStack(t, nil)
	q := s.create("q", nil)
	var calls sync.WaitGroup
	for i := range 16 {
		calls.Go(func() {
			got, err := s.send(t.Context(), s.request("AddPermission", object{
				"QueueUrl": q, "Label": fmt.Sprint("l", i), "AWSAccountIds": []string{"111111111111"}, "Actions": []string{"SendMessage"},
			}))
			if err != nil || got.status != http.StatusOK {
				t.Errorf("statement %d: %d %s, %v", i, got.status, got.body, err)
			}
		})
	}
	calls.Wait()
	var policy struct{ Statement []object }
	must(t, json.Unmarshal([]byte(text(s.attributes(q)["Policy"])), &policy))
	if len(policy.Statement) != 16 {
		t.Errorf("%d statements of 16", len(policy.Statement))
	}
}
