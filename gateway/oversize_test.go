package gateway_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"sqsgate/codec"
	"sqsgate/consumer"
	"sqsgate/partition"
)

// put writes records as somebody with a Topic API, one after the other.
func (s *stack) put(topic string, records ...codec.Record) {
	s.t.Helper()
	for i := range records {
		res := s.pool.Write(s.t.Context(), partition.Topic{Path: topic}, []partition.Message{{Record: records[i]}})
		must(s.t, res[0].Err)
	}
}

// A message is handed out whole up to the limit of an answer, and one that is
// larger does not keep the others from being received: in the process and over gRPC,
// up to what a cluster takes in one request.
func TestLargeMessages(t *testing.T) {
	for name, remote := range map[string]bool{"in the process": false, "over gRPC": true} {
		t.Run(name, func(t *testing.T) {
			s := parts{remote: remote}.serve(t)
			q := s.create("orders", object{"YdbMaxActivePartitions": "1"})
			huge := 20 << 20
			if remote {
				huge = 63_900_000
			}
			const whole = 12<<20 - 8<<10 // its base64 is just below 16 MiB
			s.put("/local/orders",
				codec.Record{Codec: codec.Gzip, Data: bytes.Repeat([]byte("z"), whole)},
				codec.Record{Codec: codec.Raw, Data: bytes.Repeat([]byte("t"), 16<<20-16<<10)},
				codec.Record{Codec: codec.Raw, Data: []byte("small")},
				codec.Record{Codec: codec.Zstd, Data: bytes.Repeat([]byte("z"), 12<<20)},
				codec.Record{Codec: codec.Raw, Data: bytes.Repeat([]byte("t"), huge)},
				codec.Record{Codec: codec.Raw, Data: []byte("last")},
			)
			var got []string
			for len(got) < 4 {
				messages := s.messages(q, nil)
				if len(messages) == 0 {
					t.Fatalf("%d messages came, want 4", len(got))
				}
				for _, m := range messages {
					body := text(m["Body"])
					if member(m, "Attributes")["BodyEncoding"] == "gzip" {
						data, err := base64.StdEncoding.DecodeString(body)
						must(t, err)
						body = string(data)
					}
					if m["MD5OfBody"] != codec.BodyMD5([]byte(text(m["Body"]))) {
						t.Errorf("digest of a body of %d bytes is wrong", len(body))
					}
					got = append(got, body)
					s.call("DeleteMessage", object{"QueueUrl": q, "ReceiptHandle": m["ReceiptHandle"]})
				}
			}
			for i, want := range []string{strings.Repeat("z", whole), strings.Repeat("t", 16<<20-16<<10), "small", "last"} {
				if got[i] != want {
					t.Errorf("body %d has %d bytes %.10q, want %d", i, len(got[i]), got[i], len(want))
				}
			}
		})
	}
}

// The limit counts what goes over the wire, in either protocol and whatever must be
// escaped.
func TestAnswersKeepToTheirLimit(t *testing.T) {
	t.Parallel()
	const limit = 256 << 10
	s := parts{consumer: func(o *consumer.Options) { o.MaxAnswerBytes = limit }}.serve(t)
	q := s.create("orders", nil)
	fill := func() {
		for _, unit := range []string{`"`, "&", "\r", "<", "\\", "\n", "é", "x", "\x00"} {
			for range 3 {
				s.put("/local/orders", codec.Record{Codec: codec.Raw, Data: bytes.Repeat([]byte(unit), 40000/len(unit))})
			}
		}
	}
	ask := object{"QueueUrl": q, "MaxNumberOfMessages": 10, "MessageSystemAttributeNames": []string{"All"}, "MessageAttributeNames": []string{"All"}}
	fill()
	for total := 0; total < 27; {
		got, err := s.send(t.Context(), s.request("ReceiveMessage", ask))
		must(t, err)
		var answer struct{ Messages []json.RawMessage }
		must(t, json.Unmarshal(got.body, &answer))
		if len(answer.Messages) == 0 || len(got.body) > limit {
			t.Fatalf("%d messages in an answer of %d bytes, after %d", len(answer.Messages), len(got.body), total)
		}
		total += len(answer.Messages)
	}
	fill()
	for total := 0; total < 27; {
		got := s.query("/000000000000/orders", url.Values{
			"Action": {"ReceiveMessage"}, "MaxNumberOfMessages": {"10"}, "AttributeName": {"All"}, "MessageAttributeName": {"All"},
		})
		n := bytes.Count(got.body, []byte("<Message>"))
		if n == 0 || len(got.body) > limit {
			t.Fatalf("%d messages in an answer of %d bytes, after %d", n, len(got.body), total)
		}
		total += n
	}
}
