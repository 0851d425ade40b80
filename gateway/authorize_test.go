package gateway_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsv4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"

	"sqsgate/gateway"
	"sqsgate/gateway/api"
	"sqsgate/gateway/movetask"
	"sqsgate/gateway/sigv4"
)

// authStack is a stack with an administrator's key, a key for the queues whose
// names begin with orders-, and one that may only send.
func authStack(t *testing.T, change func(*gateway.Options)) *stack {
	t.Helper()
	v, err := sigv4.New(sigv4.Options{Keys: []sigv4.Key{
		{AccessKeyID: "ADMIN", Secret: "hush-admin", Principal: "root"},
		{AccessKeyID: "ORDERS", Secret: "hush-orders", Principal: "shop", Queues: []string{"orders-"}},
		{AccessKeyID: "SENDER", Secret: "hush-sender", Actions: []string{"SendMessage"}},
	}})
	must(t, err)
	return newStack(t, func(o *gateway.Options) {
		o.Auth = v
		if change != nil {
			change(o)
		}
	})
}

func digestOf(r *http.Request) string {
	body := []byte(nil)
	if r.GetBody != nil {
		copied, _ := r.GetBody() // of a bytes.Reader: cannot fail
		body, _ = io.ReadAll(copied)
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// as signs a request with a key of the stack.
func (s *stack) as(id string, r *http.Request, at time.Time) *http.Request {
	s.t.Helper()
	c := aws.Credentials{AccessKeyID: id, SecretAccessKey: "hush-" + strings.ToLower(id)}
	must(s.t, awsv4.NewSigner().SignHTTP(r.Context(), c, r, digestOf(r), "sqs", "eu-west-3", at))
	return r
}

func (s *stack) signedCall(id, action string, params object) (reply, object) {
	s.t.Helper()
	got, err := s.send(s.t.Context(), s.as(id, s.request(action, params), time.Now()))
	must(s.t, err)
	var out object
	must(s.t, json.Unmarshal(got.body, &out))
	return got, out
}

func (s *stack) form(path string, params url.Values) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(params.Encode()))
	must(s.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// How each refusal is named in the two protocols.
func TestSignatureErrors(t *testing.T) {
	t.Parallel()
	s := authStack(t, nil)
	now := time.Now()
	for name, test := range map[string]struct {
		sign              func(*http.Request) *http.Request
		status            int
		shape, code, text string
	}{
		"not signed": {
			func(r *http.Request) *http.Request { return r },
			403, "MissingAuthenticationTokenException", "MissingAuthenticationToken", "Request is missing Authentication Token",
		},
		"malformed": {
			func(r *http.Request) *http.Request { r.Header.Set("Authorization", "Bearer x"); return r },
			400, "IncompleteSignatureException", "IncompleteSignature", "Unsupported AWS 'algorithm': 'Bearer'",
		},
		"unknown key": {
			func(r *http.Request) *http.Request { return s.as("NOBODY", r, now) },
			403, "UnrecognizedClientException", "InvalidClientTokenId", "The security token included in the request is invalid.",
		},
		"another body": {
			func(r *http.Request) *http.Request {
				r = s.as("ADMIN", r, now)
				other := []byte("Action=DeleteQueue")
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(other)), int64(len(other))
				return r
			},
			403, "InvalidSignatureException", "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided.",
		},
		"expired": {
			func(r *http.Request) *http.Request { return s.as("ADMIN", r, now.Add(-16*time.Minute)) },
			403, "InvalidSignatureException", "SignatureDoesNotMatch", "Signature expired: ",
		},
		"from the future": {
			func(r *http.Request) *http.Request { return s.as("ADMIN", r, now.Add(16*time.Minute)) },
			403, "InvalidSignatureException", "SignatureDoesNotMatch", "Signature not yet current: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.send(t.Context(), test.sign(s.request("ListQueues", object{})))
			must(t, err)
			var out object
			must(t, json.Unmarshal(got.body, &out))
			if got.status != test.status || text(out["__type"]) != "com.amazon.coral.service#"+test.shape || !strings.HasPrefix(text(out["message"]), test.text) {
				t.Errorf("JSON: %d %s", got.status, got.body)
			}
			if code := got.header.Get("X-Amzn-Query-Error"); code != test.code+";Sender" {
				t.Errorf("JSON: the code is %q", code)
			}
			if strings.Contains(text(out["message"]), "String-to-Sign") {
				t.Errorf("JSON shows the canonical strings: %s", got.body)
			}
			got, err = s.send(t.Context(), test.sign(s.form("/", url.Values{"Action": {"ListQueues"}})))
			must(t, err)
			if got.status != test.status || !bytes.Contains(got.body, []byte("<Code>"+test.code+"</Code>")) {
				t.Errorf("Query: %d %s", got.status, got.body)
			}
			wanted := strings.HasPrefix(test.text, "The request signature")
			if shown := bytes.Contains(got.body, []byte("The Canonical String for this request should have been\n")); shown != wanted {
				t.Errorf("Query shows the canonical strings: %v: %s", shown, got.body)
			}
			if bytes.Contains(got.body, []byte("hush")) {
				t.Errorf("a secret shows: %s", got.body)
			}
		})
	}
}

// The principal of the sender's key is the message's SenderId, and stands in the
// request's line.
func TestPrincipal(t *testing.T) {
	t.Parallel()
	var log lines
	s := authStack(t, func(o *gateway.Options) {
		o.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	_, made := s.signedCall("ADMIN", "CreateQueue", object{"QueueName": "orders-1"})
	q := text(made["QueueUrl"])
	for _, id := range []string{"ORDERS", "SENDER"} {
		s.signedCall(id, "SendMessage", object{"QueueUrl": q, "MessageBody": id})
	}
	s.signedCall("ADMIN", "SendMessageBatch", object{"QueueUrl": q, "Entries": []object{{"Id": "a", "MessageBody": "ADMIN"}}})
	got := map[string]string{}
	for range 30 {
		_, out := s.signedCall("ORDERS", "ReceiveMessage", object{"QueueUrl": q, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 1, "AttributeNames": []string{"SenderId"}})
		list, _ := out["Messages"].([]any)
		for _, m := range list {
			m, _ := m.(object)
			got[text(m["Body"])] = text(member(m, "Attributes")["SenderId"])
		}
		if len(got) == 3 {
			break
		}
	}
	if diff := cmp.Diff(map[string]string{"ORDERS": "shop", "SENDER": "SENDER", "ADMIN": "root"}, got); diff != "" {
		t.Error(diff)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if !strings.Contains(log.buf.String(), `"principal":"shop"`) || strings.Contains(log.buf.String(), "hush") {
		t.Errorf("the log:\n%s", log.buf.String())
	}
}

type noMover struct{}

func (noMover) Move(context.Context, string, string, int) (int, error) {
	return 0, errors.New("nothing is to be moved")
}

// A key for some queues is refused with every action on others, whether they are
// there or not; lists leave them out.
func TestQueuesOfAKey(t *testing.T) {
	t.Parallel()
	var actions []string
	s := authStack(t, func(o *gateway.Options) {
		runner, err := movetask.New(movetask.Options{Catalog: o.Catalog, Mover: noMover{}})
		must(t, err)
		o.MoveTasks = runner
		edge, err := gateway.New(*o)
		must(t, err)
		actions = edge.Actions()
	})
	for _, name := range []string{"orders-1", "orders-2", "bills-1"} {
		s.signedCall("ADMIN", "CreateQueue", object{"QueueName": name})
	}
	for _, name := range []string{"bills-1", "bills-not-there"} {
		address := s.url + "/000000000000/" + name
		arn := "arn:aws:sqs:us-east-1:000000000000:" + name
		for _, action := range actions {
			if action == "ListQueues" {
				continue
			}
			got, out := s.signedCall("ORDERS", action, object{
				"QueueUrl": address, "QueueName": name, "SourceArn": arn,
				"TaskHandle":  api.TaskHandle{TaskID: "t", SourceARN: arn}.String(),
				"Entries":     []object{{"Id": "a", "MessageBody": "x", "ReceiptHandle": "h", "VisibilityTimeout": 1}},
				"MessageBody": "x", "ReceiptHandle": "h", "VisibilityTimeout": 1, "Attributes": object{"DelaySeconds": "1"},
				"Label": "l", "AWSAccountIds": []string{"111111111111"}, "Actions": []string{"SendMessage"},
			})
			if got.status != 403 || text(out["__type"]) != "com.amazon.coral.service#AccessDeniedException" || !strings.Contains(text(out["message"]), "is denied.") {
				t.Errorf("%s on %s: %d %s", action, name, got.status, got.body)
			}
		}
	}
	for id, want := range map[string][]any{
		"ADMIN":  {s.url + "/000000000000/bills-1", s.url + "/000000000000/orders-1", s.url + "/000000000000/orders-2"},
		"ORDERS": {s.url + "/000000000000/orders-1", s.url + "/000000000000/orders-2"},
	} {
		_, out := s.signedCall(id, "ListQueues", object{})
		if diff := cmp.Diff(want, out["QueueUrls"]); diff != "" {
			t.Errorf("ListQueues of %s: %s", id, diff)
		}
	}
	if _, out := s.signedCall("ORDERS", "ListQueues", object{"QueueNamePrefix": "bills"}); out["QueueUrls"] != nil {
		t.Errorf("ListQueues of a prefix: %v", out)
	}
}

func TestActionsOfAKey(t *testing.T) {
	t.Parallel()
	s := authStack(t, nil)
	_, made := s.signedCall("ADMIN", "CreateQueue", object{"QueueName": "q"})
	q := text(made["QueueUrl"])
	if got, _ := s.signedCall("SENDER", "SendMessageBatch", object{"QueueUrl": q, "Entries": []object{{"Id": "a", "MessageBody": "x"}}}); got.status != 200 {
		t.Errorf("SendMessageBatch: %d %s", got.status, got.body)
	}
	for _, action := range []string{"ReceiveMessage", "ListQueues", "PurgeQueue"} {
		got, out := s.signedCall("SENDER", action, object{"QueueUrl": q})
		if got.status != 403 || text(out["message"]) != "Access to the resource "+s.url+"/ is denied." {
			t.Errorf("%s: %d %s", action, got.status, got.body)
		}
	}
}

// A presigned link works as a bare GET, and for nothing else.
func TestPresignedLink(t *testing.T) {
	t.Parallel()
	s := authStack(t, nil)
	s.signedCall("ADMIN", "CreateQueue", object{"QueueName": "q"})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/000000000000/q?Action=SendMessage&MessageBody=a+b%21&X-Amz-Expires=60", http.NoBody)
	must(t, err)
	c := aws.Credentials{AccessKeyID: "ADMIN", SecretAccessKey: "hush-admin", SessionToken: "a/b+c="}
	link, _, err := awsv4.NewSigner().PresignHTTP(t.Context(), c, r, digestOf(r), "sqs", "eu-west-3", time.Now().Add(-50*time.Second))
	must(t, err)
	get := func(link string) reply {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, http.NoBody)
		must(t, err)
		got, err := s.send(t.Context(), r)
		must(t, err)
		return got
	}
	if got := get(link); got.status != 200 || !bytes.Contains(got.body, []byte("<MessageId>")) {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, change := range [][2]string{{"Action=SendMessage", "Action=PurgeQueue"}, {"/q?", "/r?"}, {"Expires=60", "Expires=61"}} {
		if got := get(strings.Replace(link, change[0], change[1], 1)); got.status != 403 || !bytes.Contains(got.body, []byte("SignatureDoesNotMatch")) {
			t.Errorf("with %s: %d %s", change[1], got.status, got.body)
		}
	}
}
