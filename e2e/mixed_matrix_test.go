//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicoptions"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicreader"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topictypes"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicwriter"

	"sqsgate/codec"
)

// TestMixedMatrix takes every coding through a queue of either kind in both
// directions: a Topic API writer's messages to an SQS client, and an SQS
// client's to a Topic API reader.
func TestMixedMatrix(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		db := d.YDB(t)
		for _, c := range codings(t) {
			for _, kind := range []string{"standard", "fifo"} {
				suffix := strings.TrimPrefix("."+kind, ".standard")
				for _, protocol := range []string{jsonProtocol, queryProtocol} {
					if protocol == queryProtocol && c.name != "text" && c.name != "lzop" {
						continue // the protocol knows no codings: a sample will do
					}
					t.Run(c.name+" "+kind+" "+protocol, func(t *testing.T) {
						t.Parallel()
						a := d.Actions(t, protocol)
						t.Run("to SQS", func(t *testing.T) { topicToSQS(t, db, fresh(t, a, suffix), c) })
						t.Run("to topic", func(t *testing.T) { sqsToTopic(t, db, fresh(t, a, suffix), c) })
					})
				}
			}
		}
	}, lz4Flags()...)
}

// The writers of topicToSQS, beside those that have none.
const (
	keyedProducer = "writes with keys"
	plainProducer = "writes without"
	bareProducer  = "writes through the bare stream"
)

// topicToSQS has a topic written in all ways and receives all of it.
func topicToSQS(t *testing.T, db *ydb.Driver, q *Queue, c coding) {
	topic := queueName(q)
	writeStored(t, db, topic, keyedProducer, c, func(i int) map[string][]byte {
		return map[string][]byte{"__key": []byte("g"), "message_deduplication_id": fmt.Append(nil, "id ", i)}
	})
	writeStored(t, db, topic, plainProducer, c, func(int) map[string][]byte { return nil })
	var all []bareMessage
	for _, b := range c.bodies {
		all = append(all, bareMessage{b.stored, map[string][]byte{"__key": []byte("h")}})
	}
	ctx, cancel := context.WithTimeout(t.Context(), topicTimeout)
	defer cancel()
	if err := newBareWriter(t, db, topic, bareProducer).write(ctx, c.codec, all...); err != nil {
		t.Fatal(err)
	}
	nobody := newBareWriter(t, db, topic, "")
	for _, b := range c.bodies {
		if err := nobody.write(ctx, c.codec, bareMessage{data: b.stored}); err != nil {
			t.Fatal(err)
		}
	}

	if q.isFIFO() {
		drainGroups(t, q, c)
	} else {
		drainStandard(t, q, c)
	}
	q.WantNone(1)
	if got := q.Counts(); got != [3]string{"0", "0", "0"} {
		t.Errorf("counts of the empty queue: %v", got)
	}
}

// writeStored writes the bodies in order with the SDK.
func writeStored(t *testing.T, db *ydb.Driver, topic, producer string, c coding, metadata func(int) map[string][]byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), topicTimeout)
	defer cancel()
	w := openStoredWriter(t, db, topic, producer, c.codec)
	for i, b := range c.bodies {
		if err := w.Write(ctx, topicwriter.Message{Data: bytes.NewReader(b.stored), Metadata: metadata(i)}); err != nil {
			t.Fatalf("writing %s: %v", b.name, err)
		}
	}
	if err := w.Close(ctx); err != nil {
		t.Fatalf("closing the writer: %v", err)
	}
}

// drainGroups receives a FIFO queue in rounds of one message per group: while
// they are out, nothing else comes, and then the next of every group does. What
// has neither key nor producer is a group too.
func drainGroups(t *testing.T, q *Queue, c coding) {
	t.Helper()
	groups := []string{"g", "h", plainProducer, ""}
	for round, want := range c.bodies {
		seen := map[string]types.Message{}
		for range groups {
			m := q.ReceiveOne(visibleAfter(600))
			group := m.Attributes["MessageGroupId"]
			if _, twice := seen[group]; twice || !slices.Contains(groups, group) {
				t.Fatalf("round %d: %s of group %q came", round, aws.ToString(m.MessageId), group)
			}
			checkBody(t, m, want, c.encoding)
			if id := m.Attributes["MessageDeduplicationId"]; group == "g" && id != fmt.Sprint("id ", round) {
				t.Errorf("deduplication id %q of message %d", id, round)
			}
			seen[group] = m
		}
		q.WantNone(0)
		for _, m := range seen {
			q.Delete(m)
		}
	}
}

// drainStandard receives all messages, in whatever order, and deletes them.
func drainStandard(t *testing.T, q *Queue, c coding) {
	t.Helper()
	groups := map[string][]types.Message{}
	all := q.ReceiveAll(4 * len(c.bodies))
	for _, m := range all {
		group := m.Attributes["MessageGroupId"]
		groups[group] = append(groups[group], m)
	}
	if len(groups["g"]) != len(c.bodies) || len(groups["h"]) != len(c.bodies) || len(groups[""]) != 2*len(c.bodies) {
		t.Errorf("%d, %d and %d messages of g, h and without group", len(groups["g"]), len(groups["h"]), len(groups[""]))
	}
	for group, messages := range groups {
		if group != "" {
			checkSet(t, messages, c)
			continue
		}
		slices.SortFunc(messages, func(a, b types.Message) int { return strings.Compare(*a.Body, *b.Body) })
		for odd := range 2 { // each twice: take every other one
			var once []types.Message
			for i := odd; i < len(messages); i += 2 {
				once = append(once, messages[i])
			}
			checkSet(t, once, c)
		}
	}
	q.Delete(all...)
}

// checkSet wants each body once.
func checkSet(t *testing.T, messages []types.Message, c coding) {
	t.Helper()
	left := slices.Clone(c.bodies)
	for _, m := range messages {
		at := slices.IndexFunc(left, func(b storedBody) bool { return aws.ToString(m.Body) == bodyOf(b, c.encoding) })
		if at < 0 {
			t.Errorf("received %q, once too often or never written", abbreviate(aws.ToString(m.Body)))
			continue
		}
		checkBody(t, m, left[at], c.encoding)
		left = slices.Delete(left, at, at+1)
	}
	for _, b := range left {
		t.Errorf("%s was not received", b.name)
	}
}

// bodyOf is the SQS body of stored data.
func bodyOf(b storedBody, encoding string) string {
	if encoding == "" {
		return string(b.stored)
	}
	return base64.StdEncoding.EncodeToString(b.stored)
}

// checkBody holds a message against what was stored, and its decoded body
// against what that was made of.
func checkBody(t *testing.T, m types.Message, want storedBody, encoding string) {
	t.Helper()
	body := aws.ToString(m.Body)
	if body != bodyOf(want, encoding) {
		t.Errorf("%s: body %q", want.name, abbreviate(body))
	}
	if got, there := m.Attributes["BodyEncoding"]; got != encoding || there != (encoding != "") {
		t.Errorf("%s: BodyEncoding %q (there: %v), want %q", want.name, got, there, encoding)
	}
	if sum := md5.Sum([]byte(body)); aws.ToString(m.MD5OfBody) != hex.EncodeToString(sum[:]) {
		t.Errorf("%s: MD5OfBody %s", want.name, aws.ToString(m.MD5OfBody))
	}
	got, err := codec.Decode(body, m.Attributes["BodyEncoding"])
	if err != nil || !bytes.Equal(got, want.original) {
		t.Errorf("%s: decoded to %d bytes, %v; want %d", want.name, len(got), err, len(want.original))
	}
}

// sqsToTopic sends the bodies in two groups and reads them with the SDK. SQS
// bodies are text: what is not is sent as base64, and its coding in an attribute.
func sqsToTopic(t *testing.T, db *ydb.Driver, q *Queue, c coding) {
	r := openReader(t, db, queueName(q), "reader", rawOnly())
	for i, b := range c.bodies {
		sum := md5.Sum(b.original)
		for _, group := range []string{"g", "h"} {
			q.Send(bodyOf(b, c.encoding), func(in *sqs.SendMessageInput) {
				in.MessageGroupId = &group
				in.MessageAttributes = map[string]types.MessageAttributeValue{
					"sum": {DataType: aws.String("Binary.md5"), BinaryValue: sum[:]},
				}
				if c.encoding != "" {
					in.MessageAttributes["coding"] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &c.encoding}
				}
				if q.isFIFO() {
					in.MessageDeduplicationId = aws.String(fmt.Sprint(group, "-", i))
				} else {
					in.DelaySeconds = int32(i) // for readers of the queue alone
				}
			})
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), topicTimeout)
	defer cancel()
	next := map[string]int{}
	for range 2 * len(c.bodies) {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			t.Fatalf("reading, after %v: %v", next, err)
		}
		group := string(m.Metadata["__key"])
		at := next[group]
		if next[group]++; group != "g" && group != "h" || at >= len(c.bodies) {
			t.Fatalf("message %d of group %q", at, group)
		}
		checkRead(t, q, m, c, fmt.Sprint(group, "-", at), at)
		commit(ctx, t, r, m)
	}
}

// checkRead holds what a Topic API reader got against the message at this place
// of its group.
func checkRead(t *testing.T, q *Queue, m *topicreader.Message, c coding, id string, at int) {
	t.Helper()
	data, err := io.ReadAll(m)
	if err != nil || string(data) != bodyOf(c.bodies[at], c.encoding) {
		t.Errorf("%s: read %q, %v", id, abbreviate(string(data)), err)
	}
	want := map[string]string{"__key": id[:1], "__message_attributes": ""}
	if q.isFIFO() {
		want["message_deduplication_id"] = id
	} else {
		want["__delay_seconds"] = fmt.Sprint(at)
	}
	record := codec.Record{Codec: codec.Raw, Data: data}
	for key, value := range m.Metadata {
		record.Metadata = append(record.Metadata, codec.Item{Key: key, Value: value})
		if key != "__message_attributes" && want[key] != string(value) {
			t.Errorf("%s: metadata %s is %q", id, key, value)
		}
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("%s: metadata without %v", id, want)
	}

	var encoding string
	message, problems := codec.Encodings{}.Decode(record)
	sum := md5.Sum(c.bodies[at].original)
	for _, attribute := range message.Attributes {
		switch {
		case attribute.Name == "coding" && attribute.DataType == "String":
			encoding = string(attribute.Value)
		case attribute.Name == "sum" && attribute.DataType == "Binary.md5" && bytes.Equal(attribute.Value, sum[:]):
		default:
			t.Errorf("%s: attribute %+v", id, attribute)
		}
	}
	original, err := codec.Decode(string(data), encoding)
	if problems > 0 || err != nil || !bytes.Equal(original, c.bodies[at].original) {
		t.Errorf("%s: decoded as %q to %d bytes, %v; %d problems", id, encoding, len(original), err, problems)
	}
}

// TestEnvelopeToTopic: attributes that a topic message has no room for make it
// one of a codec that Topic API readers know by its number.
func TestEnvelopeToTopic(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		q := d.Actions(t, jsonProtocol).Create(t, "laden")
		with := func(size int) func(*sqs.SendMessageInput) {
			return func(in *sqs.SendMessageInput) {
				in.MessageAttributes = map[string]types.MessageAttributeValue{
					"a": {DataType: aws.String("String"), StringValue: aws.String(strings.Repeat("v", size))},
				}
			}
		}
		var envelopes [][]byte
		r := openReader(t, d.YDB(t), "laden", "reader", rawOnly(), topicoptions.WithAddDecoder(topictypes.Codec(codec.Envelope),
			func(stored io.Reader) (io.Reader, error) {
				data, err := io.ReadAll(stored)
				envelopes = append(envelopes, data)
				return bytes.NewReader(data), err
			}))
		q.Send("light", with(3900))
		q.Send("heavy", with(4200))
		ctx, cancel := context.WithTimeout(t.Context(), topicTimeout)
		defer cancel()
		for _, want := range []string{"light", "heavy"} {
			m, err := r.ReadMessage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(m)
			if want == "heavy" && err == nil {
				data, err = codec.Decode(base64.StdEncoding.EncodeToString(data), "10077")
			}
			if err != nil || string(data) != want {
				t.Errorf("read %q, %v; want %s", abbreviate(string(data)), err, want)
			}
		}
		if len(envelopes) != 1 {
			t.Errorf("%d envelopes, want that of the heavy message", len(envelopes))
		}
		for _, m := range q.ReceiveAll(2) {
			if sent := map[string]int{"light": 3900, "heavy": 4200}[*m.Body]; len(aws.ToString(m.MessageAttributes["a"].StringValue)) != sent {
				t.Errorf("%s has an attribute of %d bytes", *m.Body, len(aws.ToString(m.MessageAttributes["a"].StringValue)))
			}
		}
	})
}
