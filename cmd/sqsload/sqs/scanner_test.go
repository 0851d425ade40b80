package sqs

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// The scanner agrees with encoding/json about every answer that is JSON, and
// survives everything that is not.
func FuzzScanner(f *testing.F) {
	f.Add([]byte(`{"Messages":[{"ReceiptHandle":"r","Body":"b\n\u00e9"},{"Body":"x","n":[1,2,{}]}],"a":null}`))
	f.Add([]byte(`{"Messages":[]}`))
	f.Add([]byte(`{"a":"\`))
	f.Add(bytes.Repeat([]byte(`[`), 100))
	f.Fuzz(func(t *testing.T, data []byte) {
		var bodies [][]byte
		in := scanner{data: data}
		in.object(func(key []byte) {
			if string(key) != "Messages" || in.next() != '[' {
				in.skip()
				return
			}
			in.array(func() { bodies = append(bodies, message(&in).Body) })
		})
		failed := in.failed
		_, _ = batch(data, 1)      // only must not panic or hang
		_ = failure(400, "", data) // likewise

		// One key, no key twice, only texts, only valid UTF-8: there the two have to
		// agree.
		var keys map[string]json.RawMessage
		var messages []map[string]string
		if !utf8.Valid(data) || json.Unmarshal(data, &keys) != nil || len(keys) != 1 || bytes.Count(data, []byte("Messages")) != 1 {
			return
		}
		if json.Unmarshal(keys["Messages"], &messages) != nil || messages == nil || bytes.Count(data, []byte("Body")) > len(messages) {
			return
		}
		if failed || len(bodies) != len(messages) {
			t.Fatalf("%q: failed %v, %d messages of %d", data, failed, len(bodies), len(messages))
		}
		for i, m := range messages {
			if string(bodies[i]) != m["Body"] {
				t.Errorf("body %d: %q, want %q", i, bodies[i], m["Body"])
			}
		}
	})
}
