package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sqsgate/gateway/api"
)

// sameShape compares decoded requests: half surrogates as encoding/json has
// them, and no difference between nil and empty lists.
func sameShape() cmp.Options {
	return cmp.Options{
		cmp.Comparer(func(a, b string) bool { return replaced(a) == replaced(b) }),
		cmp.Comparer(func(a, b []byte) bool {
			return (a == nil) == (b == nil) && replaced(string(a)) == replaced(string(b))
		}),
		cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type() != reflect.TypeFor[[]byte]() }, cmpopts.EquateEmpty()),
	}
}

func input(t testing.TB, action, body string) *Input {
	t.Helper()
	in, err := NewJSON(http.Header{"X-Amz-Target": {"AmazonSQS." + action}}, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func jsonSeeds(f *testing.F) {
	for _, s := range []string{
		``, ` `, `{}`, `null`, `[]`, `{"QueueUrl":"http://h/000000000000/q","Entries":[]}`,
		`{"Entries":[{"Id":"a","MessageBody":"b\n\u00e9\ud83d\ude00\ud800\"\\\/","DelaySeconds":-0,"MessageGroupId":"","MessageDeduplicationId":null}]}`,
		`{"Entries":[{"Id":"a","MessageAttributes":{"n":{"DataType":"Binary","BinaryValue":"AP8="},"m":{"DataType":"String","StringValue":"x","StringListValues":["a"]},"n":null}}]}`,
		`{"Entries":[null,{"Id":1}]}`, `{"Entries":{"a":1}}`, `{"Entries":[{"DelaySeconds":1.5}]}`, `{"Entries":[{"DelaySeconds":99999999999999999999}]}`,
		`{"Unknown":{"a":[1,-2.5e+10,true,false,null,"x"]},"Entries":[]}`, `{"a":01}`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{"a":tru}`, `{"QueueUrl":"a"}x`,
		"{\"QueueUrl\":\"a\tb\"}", `{"QueueUrl":"\x"}`, `{"QueueUrl":"\u12"}`, `{"QueueUrl":"` + strings.Repeat("long ", 20) + `\u0000"}`,
		`{"AttributeNames":["All",null],"MaxNumberOfMessages":10,"WaitTimeSeconds":20,"VisibilityTimeout":0,"ReceiveRequestAttemptId":"x","MessageAttributeNames":[".*"]}`,
		`{"Entries":[{"Id":"a","ReceiptHandle":"h","VisibilityTimeout":5}],"Entries":[{"Id":"b"}]}`,
		"\xef\xbb\xbf{}", "{\"QueueUrl\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
}

// differential decodes data both ways and compares.
func differential[R any](t *testing.T, data []byte, fast func(*Input, *R) error, reference func([]byte) (R, error)) {
	t.Helper()
	if bytes.Count(data, []byte{'['})+bytes.Count(data, []byte{'{'}) > maxDepth/2 {
		t.Skip("the limits of depth and of entries differ")
	}
	want, wantErr := reference(data)
	var got R
	in, err := NewJSON(http.Header{}, bytes.Clone(data))
	if err == nil {
		err = fast(in, &got)
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: error %v, with encoding/json %v", data, err, wantErr)
	}
	if err != nil {
		var e *api.Error
		if !errors.As(err, &e) || e.Kind != api.Serialization {
			t.Fatalf("%q: %v is no serialization error", data, err)
		}
		return
	}
	if diff := cmp.Diff(want, got, sameShape()); diff != "" {
		t.Fatalf("%q (-encoding/json +ours):\n%s", data, diff)
	}
}

func FuzzSendMessageBatchJSON(f *testing.F) {
	jsonSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		differential(t, data, (*Input).SendMessageBatch, refSendMessageBatch)
	})
}

func FuzzReceiveMessageJSON(f *testing.F) {
	jsonSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		differential(t, data, (*Input).ReceiveMessage, refReceiveMessage)
	})
}

func FuzzHandleBatchJSON(f *testing.F) {
	jsonSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		differential(t, data, (*Input).ChangeMessageVisibilityBatch, refHandleBatch)
	})
}

func TestJSONErrors(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 100000)
	tests := []struct {
		body string
		text string
	}{
		{`{"MessageBody":1}`, "NUMBER_VALUE can not be converted to a String"},
		{`{"MessageBody":true}`, "TRUE_VALUE can not be converted to a String"},
		{`{"DelaySeconds":"1"}`, "STRING_VALUE can not be converted to an Integer"},
		{`{"DelaySeconds":1.5}`, "NUMBER_VALUE can not be converted to an Integer"},
		{`{"MessageBody":{}}`, "Start of structure or map found where not expected."},
		{`{"MessageAttributes":[]}`, "Start of list found where not expected."},
		{`[]`, "Start of list found where not expected."},
		{`{"MessageBody":"x`, "The request is not valid JSON, at byte 17."},
		{`{"MessageAttributes":{"a":{"BinaryValue":"%%"}}}`, "A binary value is not valid base64."},
		{deep, "The request is nested too deeply."},
		{`{"x":` + strings.Repeat("[", 100000), "The request is nested too deeply."},
	}
	for _, tt := range tests {
		var r api.SendMessageRequest
		err := input(t, "SendMessage", tt.body).SendMessage(&r)
		if err == nil || err.Error() != tt.text {
			t.Errorf("%.40s: %v, want %s", tt.body, err, tt.text)
		}
	}
	if _, err := NewJSON(http.Header{}, []byte("{\"a\":\"\xff\"}")); err == nil {
		t.Error("a body that is not UTF-8 is accepted")
	}
}

// A body with half a surrogate pair must reach the check of characters as
// something that is refused there, not as a replacement character.
func TestHalfSurrogateIsNoText(t *testing.T) {
	t.Parallel()
	var r api.SendMessageRequest
	if err := input(t, "SendMessage", `{"MessageBody":"a\ud800b"}`).SendMessage(&r); err != nil {
		t.Fatal(err)
	}
	if string(r.Body) != "a\xed\xa0\x80b" {
		t.Errorf("decoded %q", r.Body)
	}
}

func TestTooManyEntriesAreCounted(t *testing.T) {
	t.Parallel()
	var r api.SendMessageBatchRequest
	err := input(t, "SendMessageBatch", `{"Entries":[`+strings.Repeat("{},", 4999)+`{}]}`).SendMessageBatch(&r)
	var e *api.Error
	if !errors.As(err, &e) || e.Kind != api.TooManyEntriesInBatchRequest || !strings.HasSuffix(e.Message, "You have sent 5000.") {
		t.Errorf("5000 entries: %v", err)
	}
}

func FuzzAppendJSON(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"\\\n\r\t\x00\x1f", "é\u2028\U0001F600", "\xff\xed\xa0\x80", "</script>&"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		quoted := append(appendJSON([]byte{'"'}, []byte(s)), '"')
		if err := json.Unmarshal(quoted, &got); err != nil {
			t.Fatalf("%q: %v", quoted, err)
		}
		if want := string([]rune(s)); got != want {
			t.Fatalf("%q came back as %q", s, got)
		}
		if !bytes.Equal(quoted[1:len(quoted)-1], appendJSONString(nil, s)) {
			t.Fatal("strings and bytes differ")
		}
	})
}

func BenchmarkDecodeSendMessage(b *testing.B) {
	body := []byte(`{"QueueUrl":"http://127.0.0.1:9324/000000000000/orders","MessageBody":"` + strings.Repeat("x", 1024) + `"}`)
	h := http.Header{"X-Amz-Target": {"AmazonSQS.SendMessage"}}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		in, err := NewJSON(h, body)
		if err != nil {
			b.Fatal(err)
		}
		var r api.SendMessageRequest
		if err := in.SendMessage(&r); err != nil || len(r.Body) != 1024 {
			b.Fatal(err, len(r.Body))
		}
	}
}
