package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sqsgate/codec"
	"sqsgate/gateway"
	"sqsgate/internal/logread"
	"sqsgate/internal/ydbstatus"
)

// write stores records as a Topic API writer with or without a producer id.
func (s *stack) write(path string, partition int64, producer string, records ...codec.Record) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	stream, err := s.conn.Topics().StreamWrite(ctx)
	must(s.t, err)
	next := func() {
		m, err := stream.Recv()
		if err == nil {
			err = ydbstatus.Check(m.GetStatus(), m.GetIssues())
		}
		must(s.t, err)
	}
	must(s.t, stream.Send(&Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_InitRequest{InitRequest: &Ydb_Topic.StreamWriteMessage_InitRequest{
			Path: path, ProducerId: producer,
			Partitioning: &Ydb_Topic.StreamWriteMessage_InitRequest_PartitionId{PartitionId: partition},
		}},
	}))
	next()
	for i, r := range records {
		data := &Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData{SeqNo: int64(i + 1), CreatedAt: timestamppb.Now(), Data: r.Data}
		for _, item := range r.Metadata {
			data.MetadataItems = append(data.MetadataItems, &Ydb_Topic.MetadataItem{Key: item.Key, Value: item.Value})
		}
		must(s.t, stream.Send(&Ydb_Topic.StreamWriteMessage_FromClient{
			ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{WriteRequest: &Ydb_Topic.StreamWriteMessage_WriteRequest{
				Codec: r.Codec, Messages: []*Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData{data},
			}},
		}))
		next()
	}
}

// read is what a Topic API reader gets of a partition.
func (s *stack) read(path string, partition int64) []logread.Message {
	s.t.Helper()
	r, err := logread.Open(s.t.Context(), s.conn.Topics(), logread.Request{Path: path, Partition: partition, Credit: 1 << 20})
	must(s.t, err)
	defer r.Close()
	_, end := r.Bounds()
	var all []logread.Message
	for int64(len(all)) < end {
		messages, cost, err := r.Read()
		must(s.t, err)
		all = append(all, messages...)
		r.Grant(cost)
	}
	return all
}

func item(key, value string) codec.Item { return codec.Item{Key: key, Value: []byte(value)} }

// Whatever a Topic API writer writes is received: text as it is, everything else as
// base64 of what is stored, damaged or not, and without the metadata that make no
// sense.
func TestWhatTopicAPIWritersWrite(t *testing.T) {
	const plain, broken = "", "\x1f\x8b broken in the middle"
	for name, test := range map[string]struct {
		record   codec.Record
		producer string
		encoding string // "" = the body is the text
		group    string
		problems int
	}{
		"text":                      {codec.Record{Codec: codec.Raw, Data: []byte("text €")}, "w", plain, "", 0},
		"nothing":                   {codec.Record{Codec: codec.Raw}, "w", plain, "", 0},
		"without a producer":        {codec.Record{Codec: codec.Raw, Data: []byte("text")}, "", plain, "", 0},
		"binary":                    {codec.Record{Codec: codec.Raw, Data: []byte("\x00\xff")}, "w", "base64", "", 0},
		"a character SQS has not":   {codec.Record{Codec: codec.Raw, Data: []byte("bell \a")}, "w", "base64", "", 0},
		"gzip":                      {codec.Record{Codec: codec.Gzip, Data: []byte(broken)}, "w", "gzip", "", 0},
		"lzop":                      {codec.Record{Codec: codec.Lzop, Data: []byte("any text")}, "", "lzop", "", 0},
		"zstd":                      {codec.Record{Codec: codec.Zstd, Data: []byte(broken)}, "w", "zstd", "", 0},
		"a custom codec":            {codec.Record{Codec: 10001, Data: []byte("text")}, "w", "lz4", "", 0},
		"a codec without a name":    {codec.Record{Codec: 10002, Data: []byte("text")}, "w", "10002", "", 0},
		"a damaged envelope":        {codec.Record{Codec: codec.Envelope, Data: []byte("\xff\xff\xff")}, "w", "10077", "", 1},
		"a group":                   {codec.Record{Codec: codec.Raw, Data: []byte("t"), Metadata: []codec.Item{item("__key", "g1"), item("own", "\x00")}}, "w", plain, "g1", 0},
		"compressed, with a group":  {codec.Record{Codec: codec.Gzip, Data: []byte(broken), Metadata: []codec.Item{item("__key", "g2")}}, "", "gzip", "g2", 0},
		"a group that is no text":   {codec.Record{Codec: codec.Raw, Data: []byte("t"), Metadata: []codec.Item{item("__key", "\xff\xfe")}}, "w", plain, "", 1},
		"attributes and a delay":    {codec.Record{Codec: codec.Raw, Data: []byte("t"), Metadata: []codec.Item{item("__message_attributes", "\x0a\x7fno"), item("__delay_seconds", "soon")}}, "w", plain, "", 2},
		"numbers of a moved one":    {codec.Record{Codec: codec.Raw, Data: []byte("t"), Metadata: []codec.Item{item("__sqs_sent_ms", "-1"), item("__sqs_receive_count", "x")}}, "w", plain, "", 2},
		"an envelope in the middle": {codec.Record{Codec: codec.Envelope, Data: []byte("\x00the body")}, "w", plain, "", 0},
	} {
		inBubble(t, parts{gateway: func(o *gateway.Options) {
			encodings, err := codec.NewEncodings(map[int32]string{10001: "lz4"})
			must(t, err)
			o.Encodings, o.Registerer = encodings, prometheus.NewRegistry()
		}}, func(t *testing.T, s *stack) {
			s.makeTopic("/local/dir/orders", 1, defaultConsumer)
			s.write("/local/dir/orders", 0, test.producer, test.record)
			u := s.url4("dir/orders")
			got := s.messages(u, object{"MessageSystemAttributeNames": []string{"MessageGroupId"}, "MessageAttributeNames": []string{"All"}})
			if len(got) != 1 {
				t.Fatalf("%s: received %v", name, got)
			}
			want := string(test.record.Data)
			switch {
			case test.encoding != plain:
				want = base64.StdEncoding.EncodeToString(test.record.Data)
			case test.record.Codec == codec.Envelope:
				want = want[1:]
			}
			attributes := member(got[0], "Attributes")
			if got[0]["Body"] != want || text(attributes["BodyEncoding"]) != test.encoding ||
				got[0]["MD5OfBody"] != codec.BodyMD5([]byte(want)) || text(attributes["MessageGroupId"]) != test.group {
				t.Errorf("%s: received %v, want body %q as %q of group %q", name, got[0], want, test.encoding, test.group)
			}
			if got[0]["MessageId"] != codec.MessageID("/local", "/local/dir/orders", 0, 0) {
				t.Errorf("%s: message id %v", name, got[0]["MessageId"])
			}
			if n := s.counted("sqsgate_gateway_undecodable_items_total"); n != test.problems {
				t.Errorf("%s: %d problems counted, want %d", name, n, test.problems)
			}
			s.call("DeleteMessage", object{"QueueUrl": u, "ReceiptHandle": got[0]["ReceiptHandle"]})
		})
	}
}

// Bytes as YDB's own SQS writes them.
const (
	nativeAttributes = "\x0a\x14\x0a\x05color\x12\x06String\x1a\x03red" +
		"\x0a\x11\x0a\x04blob\x12\x06Binary\x22\x01\x00"
	nativeID = "2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824" // SHA-256 of "hello"
)

func TestWhatNativeYDBWrites(t *testing.T) {
	inBubble(t, parts{}, func(t *testing.T, s *stack) {
		s.makeTopic("/local/orders.fifo", 1, defaultConsumer)
		native := codec.Record{Codec: codec.Raw, Data: []byte("hello"), Metadata: []codec.Item{
			item("__key", "g"), item("message_deduplication_id", nativeID), item("__message_attributes", nativeAttributes),
		}}
		s.write("/local/orders.fifo", 0, "", native)
		got := s.messages(s.url4("orders.fifo"), object{"MessageSystemAttributeNames": []string{"All"}, "MessageAttributeNames": []string{"All"}})
		if len(got) != 1 || got[0]["Body"] != "hello" {
			t.Fatalf("received %v", got)
		}
		system, attributes := member(got[0], "Attributes"), member(got[0], "MessageAttributes")
		if system["MessageGroupId"] != "g" || system["MessageDeduplicationId"] != nativeID {
			t.Errorf("system attributes %v", system)
		}
		digest := codec.AttributesMD5([]codec.Attribute{
			{Name: "blob", DataType: "Binary", Value: []byte{0}}, {Name: "color", DataType: "String", Value: []byte("red")},
		})
		if member(attributes, "color")["StringValue"] != "red" || member(attributes, "blob")["BinaryValue"] != "AA==" ||
			got[0]["MD5OfMessageAttributes"] != digest {
			t.Errorf("attributes %v, digest %v", attributes, got[0]["MD5OfMessageAttributes"])
		}

		s.makeTopic("/local/later", 1, defaultConsumer)
		s.write("/local/later", 0, "", codec.Record{Codec: codec.Raw, Data: []byte("hello"), Metadata: []codec.Item{item("__delay_seconds", "60")}})
		begun := time.Now()
		for len(s.messages(s.url4("later"), nil)) == 0 {
			if time.Since(begun) > 2*time.Minute {
				t.Fatal("the delayed message does not come")
			}
		}
		if waited := time.Since(begun); waited < 60*time.Second {
			t.Errorf("a delay of 60 s was over after %v", waited)
		}
	})
}

// What SQS clients send lies in the topic as YDB's own SQS would have written it.
func TestWhatNativeYDBReads(t *testing.T) {
	inBubble(t, parts{}, func(t *testing.T, s *stack) {
		attributes := object{
			"color": object{"DataType": "String", "StringValue": "red"}, "blob": object{"DataType": "Binary", "BinaryValue": "AA=="},
		}
		fifo := s.create("orders.fifo", object{"FifoQueue": "true"})
		sent := s.call("SendMessage", object{
			"QueueUrl": fifo, "MessageBody": "héllo\r\n", "MessageGroupId": "g", "MessageDeduplicationId": "id", "MessageAttributes": attributes,
		})
		std := s.create("orders", nil)
		s.call("SendMessage", object{"QueueUrl": std, "MessageBody": "later", "DelaySeconds": 60})
		got := s.read("/local/orders.fifo", 0)
		if len(got) != 1 || got[0].Codec != codec.Raw || string(got[0].Data) != "héllo\r\n" {
			t.Fatalf("read %+v", got)
		}
		want := map[string]string{"__key": "g", "message_deduplication_id": "id", "__message_attributes": nativeAttributes}
		for _, it := range got[0].Metadata {
			value := string(it.GetValue())
			if it.GetKey() == "__message_attributes" && len(value) == len(nativeAttributes) && bytes.Contains(it.GetValue(), []byte(nativeAttributes[:22])) {
				value = nativeAttributes // in another order
			}
			if expected, native := want[it.GetKey()]; native && value != expected {
				t.Errorf("%s is %q, want %q", it.GetKey(), it.GetValue(), expected)
			}
			delete(want, it.GetKey())
		}
		if len(want) > 0 {
			t.Errorf("%v is not in the metadata", want)
		}
		if sent["MessageId"] != codec.MessageID("/local", "/local/orders.fifo", 0, got[0].Offset) {
			t.Errorf("message id %v is not that of the place in the topic", sent["MessageId"])
		}
		later := s.read("/local/orders", 0)
		if len(later) != 1 || !slices.ContainsFunc(later[0].Metadata, func(it *Ydb_Topic.MetadataItem) bool {
			return it.GetKey() == "__delay_seconds" && string(it.GetValue()) == "60"
		}) {
			t.Errorf("read %+v, want a delay of 60 s", later)
		}
	})
}

// A topic with a fixed number of partitions has no key ranges: groups go to
// partitions by YDB's arithmetic rule, and keep their order.
func TestFixedPartitions(t *testing.T) {
	inBubble(t, parts{}, func(t *testing.T, s *stack) {
		s.makeTopic("/local/orders.fifo", 2, defaultConsumer)
		u := s.url4("orders.fifo")
		want := map[string][]string{}
		for i := range 12 {
			group := []string{"message_group_id_1", "message_group_id_2", "c"}[i%3]
			body := string(rune('a' + i))
			s.call("SendMessage", object{"QueueUrl": u, "MessageBody": body, "MessageGroupId": group, "MessageDeduplicationId": body})
			want[group] = append(want[group], body)
		}
		for partition, group := range []string{"message_group_id_1", "message_group_id_2"} {
			n := 0
			for _, m := range s.read("/local/orders.fifo", int64(partition)) {
				for _, it := range m.Metadata {
					if it.GetKey() == "__key" && string(it.GetValue()) == group {
						n++
					}
				}
			}
			if n != 4 {
				t.Errorf("%d of the 4 messages of %s are in partition %d", n, group, partition)
			}
		}
		got := map[string][]string{}
		for range 12 {
			for _, m := range s.messages(u, object{"MaxNumberOfMessages": 1, "MessageSystemAttributeNames": []string{"MessageGroupId"}}) {
				group := text(member(m, "Attributes")["MessageGroupId"])
				got[group] = append(got[group], text(m["Body"]))
				s.call("DeleteMessage", object{"QueueUrl": u, "ReceiptHandle": m["ReceiptHandle"]})
			}
		}
		for group, bodies := range want {
			if !slices.Equal(got[group], bodies) {
				t.Errorf("group %s: received %q, want %q", group, got[group], bodies)
			}
		}
	})
}
