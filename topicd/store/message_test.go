package store

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample() *Message {
	return &Message{
		Offset: 5, SeqNo: 1 << 40, WrittenMs: 1_700_000_000_123, CreatedSec: -62135596800, CreatedNano: 999_999_999,
		Codec: 10_077, UncompressedSize: 77, Producer: "producer", SessionMeta: []Item{{"k", []byte("v")}},
		Items: []Item{{"__key", []byte("group")}, {"empty", []byte{}}}, Data: []byte("data"),
	}
}

func TestMessageRecord(t *testing.T) {
	for _, m := range []*Message{sample(), {Data: []byte{}}, {SeqNo: 1, Data: bytes.Repeat([]byte{7}, 100_000)}} {
		rec := m.appendTo(nil)
		if len(rec) != m.encodedLen() {
			t.Errorf("the record has %d bytes, encodedLen says %d", len(rec), m.encodedLen())
		}
		got := new(Message)
		if err := decodeMessage(got, m.Offset, rec); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Error(diff)
		}
		for cut := range min(len(rec)-len(m.Data), 200) {
			if decodeMessage(new(Message), 0, rec[:cut]) == nil {
				t.Errorf("a record cut to %d of %d bytes decodes", cut, len(rec))
			}
		}
	}
}

// Whatever decodes encodes to a record that decodes to the same.
func FuzzMessageRecord(f *testing.F) {
	f.Add(sample().appendTo(nil))
	f.Add([]byte{recordVersion})
	f.Add([]byte{recordVersion, 1, 2, 3, 4, 5, 6, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, rec []byte) {
		m := new(Message)
		if decodeMessage(m, 1, rec) != nil {
			return
		}
		again := m.appendTo(nil)
		if len(again) != m.encodedLen() {
			t.Fatalf("encodedLen %d, length %d", m.encodedLen(), len(again))
		}
		back := new(Message)
		if err := decodeMessage(back, 1, again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, back); diff != "" {
			t.Error(diff)
		}
	})
}
