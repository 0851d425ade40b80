package codec

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func full() Message {
	return Message{
		Body: []byte("hello ☃"),
		Attributes: []Attribute{
			{Name: "a", DataType: "String", Value: []byte("text")},
			{Name: "n", DataType: "Number.int", Value: []byte("17")},
			{Name: "b", DataType: "Binary.png", Value: []byte{0, 1, 0xff}},
		},
		GroupID: "g 1", DeduplicationID: "d1", DelaySeconds: 7,
		TraceHeader: "Root=1-2-3", SenderID: "AIDA",
		MessageID: "67507D10-9D95-5D16-B4E8-D9FAD99F9125", SentMillis: 1700000000123,
		DeadLetterSource: "arn:aws:sqs:us-east-1:000000000000:src", ReceiveCount: 3,
	}
}

func TestRoundTrip(t *testing.T) {
	none := Message{Body: []byte("x"), DelaySeconds: -1}
	zero := Message{Body: []byte("x"), DelaySeconds: 0}
	private := full()
	private.PrivateDeduplication = true
	large := full()
	large.Attributes = append(large.Attributes, Attribute{Name: "big", DataType: "String", Value: bytes.Repeat([]byte("v"), 5000)})
	tests := []struct {
		name  string
		in    Message
		codec int32
		keys  string
	}{
		{"bare", none, Raw, ""},
		{"an explicit delay of zero survives", zero, Raw, "__delay_seconds"},
		{"everything", full(), Raw, "__key message_deduplication_id __delay_seconds __aws_trace_header __sqs_sender_id" +
			" __sqs_message_id __sqs_dlq_source __sqs_sent_ms __sqs_receive_count __message_attributes"},
		{"private deduplication id", private, Raw, "__key __sqs_deduplication_id __delay_seconds __aws_trace_header __sqs_sender_id" +
			" __sqs_message_id __sqs_dlq_source __sqs_sent_ms __sqs_receive_count __message_attributes"},
		{"attributes too large for metadata", large, Envelope, "__key message_deduplication_id __delay_seconds __aws_trace_header" +
			" __sqs_sender_id __sqs_message_id __sqs_dlq_source __sqs_sent_ms __sqs_receive_count"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Encode(&tt.in)
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			size := 0
			for _, item := range r.Metadata {
				keys = append(keys, item.Key)
				size += len(item.Key) + len(item.Value)
			}
			if got := strings.Join(keys, " "); got != tt.keys {
				t.Errorf("keys %q, want %q", got, tt.keys)
			}
			if r.Codec != tt.codec || size > MaxMetadataBytes {
				t.Errorf("codec %d, %d bytes of metadata", r.Codec, size)
			}
			if tt.codec == Raw && !bytes.Equal(r.Data, tt.in.Body) {
				t.Errorf("data %q is not the body", r.Data)
			}
			out, problems := Encodings{}.Decode(r)
			if problems != 0 {
				t.Errorf("%d problems", problems)
			}
			if diff := cmp.Diff(tt.in, out); diff != "" {
				t.Errorf("in (-) and out (+) differ:\n%s", diff)
			}
		})
	}
}

// The last byte that fits stays in metadata; one more goes into the envelope.
func TestEnvelopeThreshold(t *testing.T) {
	at := func(n int) Record {
		t.Helper()
		r, err := Encode(&Message{DelaySeconds: -1, Attributes: []Attribute{
			{Name: "n", DataType: "String", Value: bytes.Repeat([]byte("v"), n)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	// Around the value: the key; tag and two bytes of length of the attribute; name, data type and value with theirs.
	fits := MaxMetadataBytes - len(keyAttributes) - 3 - (2 + 1 + 2 + 6 + 3)
	if r := at(fits); r.Codec != Raw || len(r.Metadata[0].Key)+len(r.Metadata[0].Value) != MaxMetadataBytes {
		t.Errorf("codec %d with %d bytes", r.Codec, len(r.Metadata[0].Key)+len(r.Metadata[0].Value))
	}
	if r := at(fits + 1); r.Codec != Envelope || len(r.Metadata) != 0 {
		t.Errorf("one byte more: codec %d, %d items", r.Codec, len(r.Metadata))
	}
}

func TestEncodeMetadataTooLarge(t *testing.T) {
	_, err := Encode(&Message{Body: []byte("x"), DelaySeconds: -1, TraceHeader: strings.Repeat("x", MaxMetadataBytes)})
	if !errors.Is(err, ErrMetadataTooLarge) {
		t.Fatalf("got %v", err)
	}
}

// The bytes of a native record, written out by hand.
func TestAttributesWire(t *testing.T) {
	want := "\x0a\x10" + "\x0a\x01a" + "\x12\x06String" + "\x1a\x03txt" +
		"\x0a\x0e" + "\x0a\x01b" + "\x12\x06Binary" + "\x22\x01\xff"
	list := []Attribute{
		{Name: "a", DataType: "String", Value: []byte("txt")},
		{Name: "b", DataType: "Binary", Value: []byte{0xff}},
	}
	if got := string(appendAttributes(nil, list)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := attributesSize(list); n != len(want) {
		t.Errorf("attributesSize = %d, want %d", n, len(want))
	}
	// Fields this version does not know, of two wire types, are skipped.
	got, err := decodeAttributes([]byte("\x18\x05" + want + "\x7a\x01x"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list, got); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkEncode(b *testing.B) {
	m := full()
	m.Body = bytes.Repeat([]byte("x"), 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(&m); err != nil {
			b.Fatal(err)
		}
	}
}
