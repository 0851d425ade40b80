package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sqsgate/gateway/api"
)

var update = flag.Bool("update", false, "rewrite testdata")

// answers are the results whose wire forms are kept in testdata.
func answers() []struct {
	name, action string
	write        func(*Encoder)
} {
	message := api.ReceivedMessage{
		MessageID: "67507D10-9D95-5D16-B4E8-D9FAD99F9125", ReceiptHandle: "AQ==", BodyMD5: "0cc175b9c0f1b6a831c399e269772661",
		Body: []byte("a\r\n<\"&\"> é\U0001F600\t"), Attributes: []api.Pair{{Name: "SentTimestamp", Value: "1700000000000"}, {Name: "BodyEncoding", Value: "gzip"}},
		AttributesMD5: "a45daa70926828a2f0a1db3418e6feb4",
		MessageAttributes: []api.ReceivedAttribute{
			{Name: "k", DataType: "String", Value: []byte("x\r")},
			{Name: "b", DataType: "Binary.png", Value: []byte{0, 255}, Binary: true},
		},
	}
	failed := []api.BatchError{{ID: "2", Code: "InvalidParameterValue", Message: `Value "x" is invalid.`, SenderFault: true}, {ID: "3", Code: "ServiceUnavailable"}}
	gone := &Fault{
		Namespace: "com.amazonaws.sqs", Shape: "QueueDoesNotExist", Code: "AWS.SimpleQueueService.NonExistentQueue",
		Status: 400, Sender: true, Message: "The specified \"queue\" does not exist.\x01",
	}
	return []struct {
		name, action string
		write        func(*Encoder)
	}{
		{"create_queue", "CreateQueue", func(e *Encoder) {
			e.QueueURL(&api.QueueURLResult{QueueURL: "http://localhost:9324/000000000000/q"})
		}},
		{"list_queues", "ListQueues", func(e *Encoder) {
			e.ListQueues(&api.ListQueuesResult{QueueURLs: []string{"http://h/0/a", "http://h/0/b"}, NextToken: "bmV4dA"})
		}},
		{"list_queues_empty", "ListQueues", func(e *Encoder) { e.ListQueues(&api.ListQueuesResult{}) }},
		{"list_sources", "ListDeadLetterSourceQueues", func(e *Encoder) {
			e.ListSources(&api.ListSourcesResult{QueueURLs: []string{"http://h/0/a"}, NextToken: "bmV4dA"})
		}},
		{"start_move_task", "StartMessageMoveTask", func(e *Encoder) { e.StartMoveTask(&api.StartMoveTaskResult{TaskHandle: "eyJ9=="}) }},
		{"cancel_move_task", "CancelMessageMoveTask", func(e *Encoder) { e.CancelMoveTask(&api.CancelMoveTaskResult{}) }},
		{"list_move_tasks", "ListMessageMoveTasks", func(e *Encoder) {
			e.ListMoveTasks(&api.ListMoveTasksResult{Tasks: []api.MoveTask{
				{TaskHandle: "eyJ9==", Status: "RUNNING", SourceARN: "arn:s", DestinationARN: "arn:d", Rate: 5, Moved: 1, ToMove: 9, Started: 1700000000000},
				{Status: "FAILED", SourceARN: "arn:s", ToMove: 3, FailureReason: "AWS.SimpleQueueService.NonExistentQueue", Started: 1600000000000},
			}})
		}},
		{"get_queue_attributes", "GetQueueAttributes", func(e *Encoder) {
			e.Attributes(&api.AttributesResult{Attributes: []api.Pair{{Name: "DelaySeconds", Value: "0"}, {Name: "Policy", Value: `{"a":"b"}`}}})
		}},
		{"list_queue_tags", "ListQueueTags", func(e *Encoder) { e.Tags(&api.TagsResult{Tags: []api.Pair{{Name: "k", Value: ""}}}) }},
		{"send_message", "SendMessage", func(e *Encoder) {
			e.SendMessage(&api.SendResult{MessageID: "id", BodyMD5: "md5", AttributesMD5: "amd5", SystemAttributesMD5: "smd5", SequenceNumber: "00000000000000000001"})
		}},
		{"send_message_batch", "SendMessageBatch", func(e *Encoder) {
			e.SendMessageBatch(&api.SendMessageBatchResult{Successful: []api.SendResult{{ID: "1", MessageID: "id", BodyMD5: "md5"}}, Failed: failed})
		}},
		{"receive_message", "ReceiveMessage", func(e *Encoder) {
			e.ReceiveMessage(&api.ReceiveMessageResult{Messages: []api.ReceivedMessage{message, {MessageID: "id2", ReceiptHandle: "h2", BodyMD5: "m2", Body: []byte("b")}}})
		}},
		{"receive_message_empty", "ReceiveMessage", func(e *Encoder) { e.ReceiveMessage(&api.ReceiveMessageResult{}) }},
		{"delete_message", "DeleteMessage", func(e *Encoder) { e.Nothing(&api.Nothing{}) }},
		{"delete_message_batch", "DeleteMessageBatch", func(e *Encoder) {
			e.DeleteMessageBatch(&api.BatchResult{Successful: []string{"1"}, Failed: failed})
		}},
		{"change_message_visibility_batch", "ChangeMessageVisibilityBatch", func(e *Encoder) {
			e.ChangeMessageVisibilityBatch(&api.BatchResult{Successful: []string{"1", "4"}})
		}},
		{"fault", "SendMessage", func(e *Encoder) { e.Fault(gone) }},
	}
}

func TestGoldenAnswers(t *testing.T) {
	t.Parallel()
	for _, a := range answers() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			for _, f := range []Format{JSON, XML, QueryJSON} {
				var e Encoder
				e.Reset(f, a.action, "00000000-0000-4000-8000-000000000000")
				a.write(&e)
				got.WriteString("-- " + [...]string{"json", "xml", "query json"}[f] + " --\n")
				got.Write(e.Bytes())
				got.WriteString("\n")
				if f == XML {
					wellFormed(t, e.Bytes())
				} else if nothing := f == JSON && a.name == "delete_message"; nothing != (len(e.Bytes()) == 0) || !nothing && !json.Valid(e.Bytes()) {
					t.Errorf("not JSON: %s", e.Bytes())
				}
			}
			file := filepath.Join("testdata", a.name+".golden")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

func wellFormed(t *testing.T, doc []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(doc))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("not XML: %v\n%s", err, doc)
			return
		}
	}
}

// A request without an action has an answer of its own shape.
func TestUnknownOperation(t *testing.T) {
	t.Parallel()
	var e Encoder
	e.Reset(XML, "", "id")
	e.Fault(&Fault{Shape: "UnknownOperationException", Status: 404})
	if got := string(e.Bytes()); got != "<UnknownOperationException/>" {
		t.Error(got)
	}
}

func FuzzAppendXML(f *testing.F) {
	for _, s := range []string{"", "a\r\nb\tc", "<&>\"'", "\x00\x1f\ufffe\uffff", "\xff", "é\U0001F600]]>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		doc := append(appendXML([]byte("<a>"), []byte(s)), "</a>"...)
		if short := append(appendXMLString([]byte("<a>"), s), "</a>"...); !bytes.Equal(short, doc) {
			t.Fatalf("strings and bytes differ: %q, %q", short, doc)
		}
		var got string
		if err := xml.Unmarshal(doc, &got); err != nil {
			t.Fatalf("%q: %v", doc, err)
		}
		want := strings.Map(func(r rune) rune {
			if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
				return 0xfffd
			}
			return r
		}, string([]rune(s)))
		if got != want {
			t.Fatalf("%q came back as %q, want %q", s, got, want)
		}
	})
}

func BenchmarkEncodeReceiveTen(b *testing.B) {
	var r api.ReceiveMessageResult
	for range 10 {
		r.Messages = append(r.Messages, api.ReceivedMessage{
			MessageID: "67507D10-9D95-5D16-B4E8-D9FAD99F9125", ReceiptHandle: strings.Repeat("h", 60),
			BodyMD5: "0cc175b9c0f1b6a831c399e269772661", Body: bytes.Repeat([]byte("x"), 1024),
			Attributes: []api.Pair{{Name: "SentTimestamp", Value: "1700000000000"}, {Name: "ApproximateReceiveCount", Value: "1"}},
		})
	}
	for _, f := range []Format{JSON, XML} {
		b.Run([...]string{"json", "xml"}[f], func(b *testing.B) {
			var e Encoder
			b.ReportAllocs()
			for b.Loop() {
				e.Reset(f, "ReceiveMessage", "00000000-0000-4000-8000-000000000000")
				e.ReceiveMessage(&r)
			}
			b.SetBytes(int64(len(e.Bytes())))
		})
	}
}
