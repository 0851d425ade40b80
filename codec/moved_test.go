package codec

import (
	"bytes"
	"strings"
	"testing"
)

func decoded(t *testing.T, r Record) Message {
	t.Helper()
	m, problems := mustEncodings(t, nil).Decode(r)
	if problems != 0 {
		t.Fatalf("%d items of the moved record do not decode", problems)
	}
	return m
}

func TestMovedStandard(t *testing.T) {
	sent := Message{
		Body: []byte("body"), Attributes: []Attribute{{Name: "a", DataType: "String", Value: []byte("1")}},
		GroupID: "tenant", DelaySeconds: 30, TraceHeader: "trace",
	}
	r, err := Encode(&sent)
	if err != nil {
		t.Fatal(err)
	}
	first := Moved(r, Past{MessageID: "id-1", SentMillis: 1000, SourceARN: "arn:q", ReceiveCount: 2})
	m := decoded(t, first)
	if string(m.Body) != "body" || len(m.Attributes) != 1 || m.GroupID != "tenant" || m.TraceHeader != "trace" {
		t.Errorf("the message changed: %+v", m)
	}
	if m.MessageID != "id-1" || m.SentMillis != 1000 || m.DeadLetterSource != "arn:q" || m.ReceiveCount != 2 || m.DelaySeconds != 0 {
		t.Errorf("its past is wrong: %+v", m)
	}
	m = decoded(t, Moved(first, Past{MessageID: "id-2", SentMillis: 2000, SourceARN: "arn:dlq", ReceiveCount: 3}))
	if m.MessageID != "id-1" || m.SentMillis != 1000 || m.DeadLetterSource != "arn:dlq" || m.ReceiveCount != 5 {
		t.Errorf("after a second move: %+v", m)
	}
}

func TestMovedFIFO(t *testing.T) {
	sent := Message{Body: []byte("b"), GroupID: "g", DeduplicationID: "d", PrivateDeduplication: true, DelaySeconds: -1}
	r, err := Encode(&sent)
	if err != nil {
		t.Fatal(err)
	}
	m := decoded(t, Moved(r, Past{MessageID: "id-1", SentMillis: 1000, SourceARN: "arn", ReceiveCount: 1, FIFO: true}))
	if m.GroupID != "g" || m.DeduplicationID != "id-1" || m.SentMillis != 0 {
		t.Errorf("got %+v", m)
	}
	// A Topic API writer's messages are ordered by its producer id, which the mover replaces.
	plain := Record{Codec: Raw, Data: []byte("x"), ProducerID: "writer"}
	if m := decoded(t, Moved(plain, Past{MessageID: "id", FIFO: true})); m.GroupID != "writer" {
		t.Errorf("group %q", m.GroupID)
	}
}

func TestMovedFits(t *testing.T) {
	big := Attribute{Name: "big", DataType: "String", Value: []byte(strings.Repeat("v", 3950))}
	r, err := Encode(&Message{Body: []byte("body"), Attributes: []Attribute{big}, DelaySeconds: -1})
	if err != nil || r.Codec != Raw {
		t.Fatal(r.Codec, err)
	}
	past := Past{MessageID: "id", SentMillis: 1, SourceARN: strings.Repeat("a", 100), ReceiveCount: 1}
	moved := Moved(r, past)
	if moved.Codec != Envelope || metadataSize(moved.Metadata) > MaxMetadataBytes {
		t.Errorf("codec %d, %d bytes of metadata", moved.Codec, metadataSize(moved.Metadata))
	}
	m := decoded(t, moved)
	if len(m.Attributes) != 1 || !bytes.Equal(m.Attributes[0].Value, big.Value) || m.MessageID != "id" {
		t.Errorf("got %d attributes, id %q", len(m.Attributes), m.MessageID)
	}
	// Metadata of others that cannot be packed: the message goes, without its past.
	full := Record{Codec: Gzip, Data: []byte{1}, Metadata: []Item{{Key: "x", Value: make([]byte, 4095)}}}
	if moved := Moved(full, past); metadataSize(moved.Metadata) > MaxMetadataBytes || !bytes.Equal(moved.Data, full.Data) {
		t.Errorf("%d bytes of metadata", metadataSize(moved.Metadata))
	}
}

func TestRedriven(t *testing.T) {
	r, err := Encode(&Message{
		Body: []byte("b"), Attributes: []Attribute{{Name: "a", DataType: "String", Value: []byte("1")}},
		GroupID: "g", DeduplicationID: "d", DelaySeconds: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	dead := Moved(r, Past{MessageID: "id", SentMillis: 5, SourceARN: "arn:q", ReceiveCount: 3})
	if got := DeadLetterSource(dead); got != "arn:q" {
		t.Errorf("source %q", got)
	}
	m := decoded(t, Redriven(dead))
	if m.MessageID != "" || m.SentMillis != 0 || m.DeadLetterSource != "" || m.ReceiveCount != 0 {
		t.Errorf("the message remembers its past: %+v", m)
	}
	if m.GroupID != "g" || m.DeduplicationID != "d" || len(m.Attributes) != 1 || string(m.Body) != "b" {
		t.Errorf("the message changed: %+v", m)
	}
}
