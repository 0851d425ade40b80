package codec

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustEncodings(t testing.TB, custom map[int32]string) Encodings {
	t.Helper()
	e, err := NewEncodings(custom)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestDecodeBody(t *testing.T) {
	e := mustEncodings(t, map[int32]string{10001: "lz4"})
	b64 := base64.StdEncoding.EncodeToString
	tests := []struct {
		name           string
		codec          int32
		data           string
		body, encoding string
		problems       int
	}{
		{"text", Raw, "hé", "hé", "", 0},
		{"no codec given", 0, "text", "text", "", 0},
		{"empty", Raw, "", "", "", 0},
		{"broken UTF-8", Raw, "a\xff", b64([]byte("a\xff")), "base64", 0},
		{"a character SQS forbids", Raw, "a\x00", "YQA=", "base64", 0},
		{"gzip is not opened", Gzip, "\x1f\x8b", "H4s=", "gzip", 0},
		{"lzop", Lzop, "l", "bA==", "lzop", 0},
		{"zstd, though the bytes are text", Zstd, "z", "eg==", "zstd", 0},
		{"named custom codec", 10001, "c", "Yw==", "lz4", 0},
		{"other custom codec", 10002, "c", "Yw==", "10002", 0},
		{"codec of a later API", 7, "c", "Yw==", "7", 0},
		{"envelope", Envelope, "\x00text", "text", "", 0},
		{"envelope with a binary body", Envelope, "\x00\xff", "/w==", "base64", 0},
		{"empty envelope", Envelope, "", "", "10077", 1},
		{"envelope cut off", Envelope, "\x05abc", b64([]byte("\x05abc")), "10077", 1},
		{"envelope with an endless length", Envelope, strings.Repeat("\xff", 12), b64(bytes.Repeat([]byte{0xff}, 12)), "10077", 1},
		{"envelope with attributes that do not decode", Envelope, "\x02\x0a\x09text", b64([]byte("\x02\x0a\x09text")), "10077", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, problems := e.Decode(Record{Codec: tt.codec, Data: []byte(tt.data)})
			if string(m.Body) != tt.body || m.BodyEncoding != tt.encoding || problems != tt.problems {
				t.Errorf("body %q, encoding %q, %d problems; want %q, %q, %d", m.Body, m.BodyEncoding, problems, tt.body, tt.encoding, tt.problems)
			}
			if m.DelaySeconds != -1 {
				t.Errorf("delay %d without a delay item", m.DelaySeconds)
			}
		})
	}
}

func TestDecodeMetadata(t *testing.T) {
	item := func(key, value string) Item { return Item{Key: key, Value: []byte(value)} }
	attribute := func(name, dataType, value string) string {
		return string(appendAttributes(nil, []Attribute{{Name: name, DataType: dataType, Value: []byte(value)}}))
	}
	tests := []struct {
		name     string
		items    []Item
		want     Message
		problems int
	}{
		{"items of others", []Item{item("color", "\xff")}, Message{DelaySeconds: -1}, 0},
		{"delay beyond AWS's limit", []Item{item("__delay_seconds", "1800")}, Message{DelaySeconds: 1800}, 0},
		{"delay beyond any retention", []Item{item("__delay_seconds", "1209601")}, Message{DelaySeconds: -1}, 1},
		{"delays that are no numbers", []Item{item("__delay_seconds", "+5"), item("__delay_seconds", ""), item("__delay_seconds", "99999999999999999999")}, Message{DelaySeconds: -1}, 3},
		{"the first of two counts", []Item{item("__key", "a"), item("__key", "b"), item("__delay_seconds", "0"), item("__delay_seconds", "5")}, Message{GroupID: "a"}, 0},
		{"group that is no text", []Item{item("__key", "\xff")}, Message{DelaySeconds: -1}, 1},
		{"deduplication id of either name", []Item{item("__sqs_deduplication_id", "d")}, Message{DelaySeconds: -1, DeduplicationID: "d", PrivateDeduplication: true}, 0},
		{"attributes cut off", []Item{item("__message_attributes", attribute("a", "String", "x")[:6])}, Message{DelaySeconds: -1}, 1},
		{"attribute without a name", []Item{item("__message_attributes", attribute("", "String", "x"))}, Message{DelaySeconds: -1}, 1},
		{"attribute of no SQS type", []Item{item("__message_attributes", attribute("a", "Stringy", "x"))}, Message{DelaySeconds: -1}, 1},
		{"text attribute that is no text", []Item{item("__message_attributes", attribute("a", "String", "\xff"))}, Message{DelaySeconds: -1}, 1},
		{"attribute given twice", []Item{item("__message_attributes", attribute("a", "String", "x")+attribute("a", "String", "y"))}, Message{DelaySeconds: -1}, 1},
		{"sent time and count out of range", []Item{item("__sqs_sent_ms", "253402300800000"), item("__sqs_receive_count", "2147483648")}, Message{DelaySeconds: -1}, 2},
		{"one bad item does not harm the others", []Item{item("__sqs_sent_ms", "x"), item("__aws_trace_header", "Root=1")}, Message{DelaySeconds: -1, TraceHeader: "Root=1"}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, problems := Encodings{}.Decode(Record{Codec: Raw, Data: []byte("b"), Metadata: tt.items})
			if string(m.Body) != "b" {
				t.Errorf("body %q", m.Body)
			}
			m.Body = nil
			if diff := cmp.Diff(tt.want, m); diff != "" {
				t.Error(diff)
			}
			if problems != tt.problems {
				t.Errorf("%d problems, want %d", problems, tt.problems)
			}
		})
	}
}

func TestNewEncodings(t *testing.T) {
	for _, bad := range []map[int32]string{
		{9999: "a"},
		{Envelope: "a"},
		{10001: ""},
		{10001: "gzip"},
		{10001: "base64"},
		{10001: "10001"},
		{10001: "a b"},
		{10001: strings.Repeat("a", 65)},
		{10001: "a", 10002: "a"},
	} {
		if _, err := NewEncodings(bad); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

func TestPeek(t *testing.T) {
	m := full()
	r, err := Encode(&m)
	if err != nil {
		t.Fatal(err)
	}
	r.ProducerID = "p"
	h := Peek(r)
	if diff := cmp.Diff(Header{GroupID: "g 1", DeduplicationID: "d1", Delay: 7, SentMillis: 1700000000123, DeadLetter: true}, h); diff != "" {
		t.Error(diff)
	}
	if g := h.Group(&r, true); g != "g 1" {
		t.Errorf("own group gives way to %q", g)
	}
	// Bytes that are no text order messages all the same.
	foreign := Record{ProducerID: "p", Metadata: []Item{{Key: "__key", Value: []byte{0xff}}}}
	h = Peek(foreign)
	if h.Group(&foreign, true) != "\xff" || h.Delay != -1 {
		t.Errorf("header %+v", h)
	}
	bare := Record{ProducerID: "p"}
	h = Peek(bare)
	if h.Group(&bare, true) != "p" || h.Group(&bare, false) != "" {
		t.Error("the fallback to the producer is for FIFO queues, and only there")
	}
}

func TestValidBody(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 4)
	for _, s := range []string{"", "\t\n\r", " ~\x7f", "\ud7ff\ue000\ufffd\U00010000\U0010ffff", long, long + "\u00e9" + long, "\ufffd"} {
		if !ValidBody([]byte(s)) {
			t.Errorf("%q is valid", s)
		}
	}
	for _, s := range []string{"\x00", "\x08", "\x0b", "\x0c", "\x1f", "\ufffe", "\uffff", "\xff", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "\xe2\x82"} {
		for pad := range 9 {
			if ValidBody([]byte(long[:pad] + s + long)) {
				t.Errorf("%q after %d bytes is not valid", s, pad)
			}
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	m := full()
	m.Body = bytes.Repeat([]byte("x"), 1024)
	r, err := Encode(&m)
	if err != nil {
		b.Fatal(err)
	}
	var e Encodings
	b.ReportAllocs()
	for b.Loop() {
		e.Decode(r)
	}
}

func BenchmarkPeek(b *testing.B) {
	m := full()
	r, err := Encode(&m)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		Peek(r)
	}
}
