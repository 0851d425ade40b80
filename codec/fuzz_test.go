package codec

import (
	"bytes"
	"encoding/base64"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func FuzzAttributes(f *testing.F) {
	m := full()
	f.Add(appendAttributes(nil, m.Attributes))
	f.Add([]byte("\x0a\x02\x0a\x00"))
	f.Add([]byte("\x08\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decodeAttributes(b)
		if err != nil {
			return
		}
		again := appendAttributes(nil, list)
		if len(again) != attributesSize(list) {
			t.Fatalf("size %d, computed %d", len(again), attributesSize(list))
		}
		back, err := decodeAttributes(again)
		if err != nil {
			t.Fatalf("what was decoded does not decode again: %v", err)
		}
		equal := cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) })
		if diff := cmp.Diff(list, back, equal); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzEnvelope(f *testing.F) {
	m := full()
	f.Add(seal(m.Attributes, m.Body))
	f.Add([]byte{0})
	f.Add(bytes.Repeat([]byte{0xff}, 10))
	f.Fuzz(func(t *testing.T, data []byte) {
		attributes, body, err := open(data)
		if err != nil {
			return
		}
		_, again, err := open(seal(attributes, body))
		if err != nil || !bytes.Equal(again, body) {
			t.Fatalf("body %q came back as %q, %v", body, again, err)
		}
	})
}

// FuzzDecode: whatever a topic holds, the message has a body a client can be
// given, the stored bytes are in it, and Peek agrees with Decode.
func FuzzDecode(f *testing.F) {
	f.Add(Raw, []byte("text"), "__key", []byte("g"))
	f.Add(Envelope, []byte("\x00text"), "__delay_seconds", []byte("5"))
	f.Add(Zstd, []byte("\x28\xb5\x2f\xfd"), "__message_attributes", []byte("\x0a\x00"))
	f.Add(int32(0), []byte("\xff"), "message_deduplication_id", []byte("d"))
	f.Fuzz(func(t *testing.T, codec int32, data []byte, key string, value []byte) {
		r := Record{Codec: codec, Data: data, Metadata: []Item{{Key: key, Value: value}}}
		m, problems := Encodings{}.Decode(r)
		if !ValidBody(m.Body) || !utf8.Valid(m.Body) {
			t.Fatalf("body %q is no text", m.Body)
		}
		stored := m.Body
		if m.BodyEncoding != "" {
			var err error
			if stored, err = base64.StdEncoding.DecodeString(string(m.Body)); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasSuffix(data, stored) || (codec != Envelope && len(stored) != len(data)) {
			t.Fatalf("stored %q, given out %q", data, stored)
		}
		h := Peek(r)
		if h.Delay != m.DelaySeconds || h.SentMillis != m.SentMillis {
			t.Fatalf("Peek %+v, Decode %+v", h, m)
		}
		if problems == 0 && (h.GroupID != m.GroupID || h.DeduplicationID != m.DeduplicationID) {
			t.Fatalf("Peek %+v, Decode %+v", h, m)
		}
	})
}
