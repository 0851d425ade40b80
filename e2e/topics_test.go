//go:build e2e

package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/klauspost/compress/zstd"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicoptions"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicreader"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topictypes"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicwriter"
)

// TestTopicToSQS writes with the YDB SDK what SQS clients then receive: text as
// it is, everything else as base64 of the bytes that are stored.
func TestTopicToSQS(t *testing.T) {
	text := bytes.Repeat([]byte("the same words over and over. "), 200)
	squeezed := zstdBytes(t, text)
	tests := []struct {
		name     string
		codec    topictypes.Codec
		stored   []byte // what the writer sends for the codec
		encoding string // "" = the body is the text itself
	}{
		{"text", topictypes.CodecRaw, text, ""},
		{"binary", topictypes.CodecRaw, []byte{0, 1, 2, 255, 254}, "base64"},
		{"gzip", topictypes.CodecGzip, gzipBytes(t, text), "gzip"},
		{"lzop", topictypes.CodecLzop, []byte("\x89LZO stand-in: never opened by the gateway"), "lzop"},
		{"zstd", topictypes.CodecZstd, squeezed, "zstd"},
		{"custom", topictypes.CodecCustomerFirst + 5, []byte{7, 7, 7}, "brotli"},
		{"custom without a name", topictypes.CodecCustomerFirst + 6, []byte("plain"), "10006"},
	}
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		db := d.YDB(t)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				eachProtocolInOrder(t, d, func(t *testing.T, a *Actions) {
					q := fresh(t, a, "")
					write(t, db, queueName(q), test.codec, topicwriter.Message{
						Data: bytes.NewReader(test.stored), Metadata: map[string][]byte{"__key": []byte("group of the writer")},
					})
					m := q.ReceiveOne()
					want := string(test.stored)
					if test.encoding != "" {
						want = base64.StdEncoding.EncodeToString(test.stored)
					}
					if aws.ToString(m.Body) != want {
						t.Errorf("body %q, want %q", abbreviate(aws.ToString(m.Body)), abbreviate(want))
					}
					if got := m.Attributes["BodyEncoding"]; got != test.encoding {
						t.Errorf("BodyEncoding %q, want %q", got, test.encoding)
					}
					if got := m.Attributes["MessageGroupId"]; got != "group of the writer" {
						t.Errorf("MessageGroupId %q", got)
					}
					if test.codec == topictypes.CodecZstd {
						if got := unzstd(t, aws.ToString(m.Body)); !bytes.Equal(got, text) {
							t.Errorf("decompressed to %q", abbreviate(string(got)))
						}
					}
					q.Delete(m)
					q.WantNone(0)
				})
			})
		}
	}, "--codecs", "10005=brotli")
}

// eachProtocolInOrder is eachProtocol, one after the other.
func eachProtocolInOrder(t *testing.T, d *Deployment, test func(t *testing.T, a *Actions)) {
	t.Helper()
	for _, protocol := range []string{jsonProtocol, queryProtocol} {
		t.Run(protocol, func(t *testing.T) { test(t, d.Actions(t, protocol)) })
	}
}

// TestBodyEncodingUnasked: the attribute comes without being asked for.
func TestBodyEncodingUnasked(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		a := d.Actions(t, jsonProtocol)
		q := a.Create(t, "unasked")
		write(t, d.YDB(t), "unasked", topictypes.CodecRaw, topicwriter.Message{Data: bytes.NewReader([]byte{0})})
		out, err := a.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: q.URL, WaitTimeSeconds: 10})
		if err != nil || len(out.Messages) != 1 || out.Messages[0].Attributes["BodyEncoding"] != "base64" {
			t.Errorf("received %+v, %v", out, err)
		}
	})
}

// TestTopicToFIFO: the groups of messages that a Topic API writer sent are their
// __key, else the writer's producer id.
func TestTopicToFIFO(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		a, db := d.Actions(t, jsonProtocol), d.YDB(t)
		q := a.Create(t, "mixed.fifo")
		for i := range 3 {
			write(t, db, "mixed.fifo", topictypes.CodecRaw, topicwriter.Message{
				Data: bytes.NewReader(fmt.Append(nil, "keyed ", i)), Metadata: map[string][]byte{"__key": []byte("k")},
			})
		}
		write(t, db, "mixed.fifo", topictypes.CodecRaw, topicwriter.Message{Data: bytes.NewReader([]byte("of the producer"))})
		q.Send("of sqs", inGroup("k", "d"))
		groups := map[string][]string{}
		for range 5 { // one at a time: who holds a part of a group locks the rest
			m := q.ReceiveOne()
			group := m.Attributes["MessageGroupId"]
			groups[group] = append(groups[group], aws.ToString(m.Body))
			q.Delete(m)
		}
		if !slices.Equal(groups["k"], []string{"keyed 0", "keyed 1", "keyed 2", "of sqs"}) || !slices.Equal(groups[producer], []string{"of the producer"}) {
			t.Errorf("groups %v", groups)
		}
	})
}

// TestWriterWithoutProducer: such messages have no producer id and no sequence
// numbers, and a stable message id all the same.
func TestWriterWithoutProducer(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		a := d.Actions(t, jsonProtocol)
		q := a.Create(t, "anonymous")
		w, err := d.YDB(t).Topic().StartWriter("anonymous",
			topicoptions.WithWriterWaitServerAck(true), topicoptions.WithWriterCodec(topictypes.CodecRaw), topicoptions.WithWriterPartitionID(0))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for i := range 3 {
			if err := w.Write(ctx, topicwriter.Message{Data: bytes.NewReader(fmt.Append(nil, i))}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(ctx); err != nil {
			t.Fatal(err)
		}
		first := q.ReceiveAll(3)
		ids := map[string]string{}
		for _, m := range first {
			ids[aws.ToString(m.Body)] = aws.ToString(m.MessageId)
		}
		d.Kill()
		d.Start()
		for _, m := range first {
			q.Hide(m, 0)
		}
		for _, m := range q.ReceiveAll(3) {
			if id := aws.ToString(m.MessageId); id == "" || id != ids[aws.ToString(m.Body)] {
				t.Errorf("%s: id %s, before %s", aws.ToString(m.Body), id, ids[aws.ToString(m.Body)])
			}
			if n := receiveCount(t, m); n != 2 {
				t.Errorf("%s: count %d, want 2", aws.ToString(m.Body), n)
			}
		}
	})
}

// TestExistingTopic: a topic that somebody else has made becomes a queue.
func TestExistingTopic(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		a, db := d.Actions(t, jsonProtocol), d.YDB(t)
		if err := db.Topic().Create(t.Context(), "theirs", topicoptions.CreateWithMinActivePartitions(2),
			topicoptions.CreateWithSupportedCodecs(topictypes.CodecRaw)); err != nil {
			t.Fatal(err)
		}
		write(t, db, "theirs", topictypes.CodecRaw, topicwriter.Message{Data: bytes.NewReader([]byte("there before"))})
		q := a.Create(t, "theirs")
		if got := q.ReceiveOne(); aws.ToString(got.Body) != "there before" {
			t.Errorf("received %q", aws.ToString(got.Body))
		}
	})
}

// TestSQSToTopic reads with the YDB SDK what SQS clients sent.
func TestSQSToTopic(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		a, db := d.Actions(t, jsonProtocol), d.YDB(t)
		q := a.Create(t, "orders.fifo")
		want := []string{"plain", "é – 😀\r\n", string(bytes.Repeat([]byte("z"), 300_000))}
		for i, body := range want {
			q.Send(body, inGroup("customer-7", fmt.Sprint("id-", i)), func(in *sqs.SendMessageInput) {
				in.MessageAttributes = map[string]types.MessageAttributeValue{"k": {DataType: aws.String("String"), StringValue: aws.String("v")}}
			})
		}
		if err := db.Topic().Alter(t.Context(), "orders.fifo", topicoptions.AlterWithAddConsumers(topictypes.Consumer{Name: "reader"})); err != nil {
			t.Fatal(err)
		}
		r, err := db.Topic().StartReader("reader", topicoptions.ReadTopic("orders.fifo"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for i, body := range want {
			m, err := r.ReadMessage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(m)
			if err != nil || string(got) != body {
				t.Errorf("message %d is %q (%v), sent %q", i, abbreviate(string(got)), err, abbreviate(body))
			}
			if string(m.Metadata["__key"]) != "customer-7" || string(m.Metadata["message_deduplication_id"]) != fmt.Sprint("id-", i) ||
				len(m.Metadata["__message_attributes"]) == 0 {
				t.Errorf("message %d: metadata %q", i, m.Metadata)
			}
			commit(ctx, t, r, m)
		}
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
		// The reader's consumer is its own: the queue has everything still.
		if got := q.Receive(10, 10); len(got) != len(want) {
			t.Errorf("the queue has %d messages, want %d", len(got), len(want))
		}
	})
}

func commit(ctx context.Context, t *testing.T, r *topicreader.Reader, m *topicreader.Message) {
	t.Helper()
	if err := r.Commit(ctx, m); err != nil {
		t.Errorf("committing: %v", err)
	}
}

const producer = "the writer"

// write sends one message through the SDK. The data is what the topic stores
// for the codec: nothing is compressed on the way.
func write(t *testing.T, db *ydb.Driver, topic string, codec topictypes.Codec, m topicwriter.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	w, err := db.Topic().StartWriter(topic, topicoptions.WithWriterProducerID(producer), topicoptions.WithWriterWaitServerAck(true),
		topicoptions.WithWriterAddEncoder(codec, func(w io.Writer) (io.WriteCloser, error) { return asIs{w}, nil }),
		topicoptions.WithWriterCodec(codec))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(ctx, m); err != nil {
		t.Fatalf("writing to %s: %v", topic, err)
	}
	if err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// asIs is an encoder that does not encode.
type asIs struct{ io.Writer }

func (asIs) Close() error { return nil }

func queueName(q *Queue) string {
	url := *q.URL
	return url[bytes.LastIndexByte([]byte(url), '/')+1:]
}

func zstdBytes(t testing.TB, data []byte) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return e.EncodeAll(data, nil)
}

func unzstd(t *testing.T, body string) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	out, err := d.DecodeAll(raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func gzipBytes(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
