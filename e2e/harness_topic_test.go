//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicoptions"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicreader"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topictypes"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicwriter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sqsgate/codec"
)

// topicTimeout ends a write to a topic, or the wait for its messages.
const topicTimeout = 60 * time.Second

// openWriter starts a writer of the SDK, which compresses by itself if it knows
// the codec.
func openWriter(t testing.TB, db *ydb.Driver, topic, producer string, number topictypes.Codec) *topicwriter.Writer {
	t.Helper()
	if number == topictypes.CodecRaw || number == topictypes.CodecGzip {
		return startWriter(t, db, topic, topicoptions.WithWriterProducerID(producer), topicoptions.WithWriterCodec(number))
	}
	return openStoredWriter(t, db, topic, producer, number)
}

// openStoredWriter starts a writer of the SDK whose data the topic stores as they
// are, under the codec.
func openStoredWriter(t testing.TB, db *ydb.Driver, topic, producer string, number topictypes.Codec) *topicwriter.Writer {
	t.Helper()
	return startWriter(t, db, topic, topicoptions.WithWriterProducerID(producer), topicoptions.WithWriterCodec(number),
		topicoptions.WithWriterAddEncoder(number, func(w io.Writer) (io.WriteCloser, error) { return asIs{w}, nil }))
}

func startWriter(t testing.TB, db *ydb.Driver, topic string, options ...topicoptions.WriterOption) *topicwriter.Writer {
	t.Helper()
	w, err := db.Topic().StartWriter(topic, options...)
	if err != nil {
		t.Fatalf("opening a writer of %s: %v", topic, err)
	}
	return w
}

// bareWriter is a write session without the SDK, for what the SDK cannot do:
// several codecs in one session, and no producer id. One goroutine may use it.
type bareWriter struct {
	topics   Ydb_Topic_V1.TopicServiceClient
	topic    string
	producer string // "" is none

	stream Ydb_Topic_V1.TopicService_StreamWriteClient // nil while there is no session
	cancel context.CancelFunc
	seqNo  int64
}

// bareMessage is what the topic stores.
type bareMessage struct {
	data     []byte
	metadata map[string][]byte
}

func newBareWriter(t testing.TB, db *ydb.Driver, topic, producer string) *bareWriter {
	t.Helper()
	w := &bareWriter{topics: Ydb_Topic_V1.NewTopicServiceClient(ydb.GRPCConn(db)), topic: topic, producer: producer}
	t.Cleanup(w.close)
	return w
}

// write stores messages by one request and waits until they are durable. When
// their partition was split meanwhile none of them is stored, and they go to
// another one.
func (w *bareWriter) write(ctx context.Context, number topictypes.Codec, messages ...bareMessage) error {
	request := &Ydb_Topic.StreamWriteMessage_WriteRequest{Codec: int32(number)}
	for _, m := range messages {
		w.seqNo++
		data := &Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData{
			SeqNo: w.seqNo, CreatedAt: timestamppb.Now(), Data: m.data, UncompressedSize: int64(len(m.data)),
		}
		for key, value := range m.metadata {
			data.MetadataItems = append(data.MetadataItems, &Ydb_Topic.MetadataItem{Key: key, Value: value})
		}
		request.Messages = append(request.Messages, data)
	}
	for ctx.Err() == nil {
		code, err := w.try(ctx, request)
		if err == nil && code == Ydb.StatusIds_SUCCESS {
			return nil
		}
		if code != Ydb.StatusIds_OVERLOADED {
			return fmt.Errorf("writing to %s: %v, %w", w.topic, code, err)
		}
		w.close()
	}
	return ctx.Err()
}

func (w *bareWriter) try(ctx context.Context, request *Ydb_Topic.StreamWriteMessage_WriteRequest) (Ydb.StatusIds_StatusCode, error) {
	if w.stream == nil {
		if code, err := w.open(ctx); err != nil || code != Ydb.StatusIds_SUCCESS {
			return code, err
		}
	}
	return w.exchange(&Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{WriteRequest: request},
	})
}

func (w *bareWriter) open(ctx context.Context) (Ydb.StatusIds_StatusCode, error) {
	ctx, w.cancel = context.WithCancel(ctx)
	stream, err := w.topics.StreamWrite(ctx)
	if err != nil {
		w.cancel()
		return 0, err
	}
	w.stream = stream
	init := &Ydb_Topic.StreamWriteMessage_InitRequest{Path: w.topic, ProducerId: w.producer}
	if w.producer != "" {
		init.Partitioning = &Ydb_Topic.StreamWriteMessage_InitRequest_MessageGroupId{MessageGroupId: w.producer}
	}
	return w.exchange(&Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_InitRequest{InitRequest: init},
	})
}

func (w *bareWriter) exchange(m *Ydb_Topic.StreamWriteMessage_FromClient) (Ydb.StatusIds_StatusCode, error) {
	if err := w.stream.Send(m); err != nil && !errors.Is(err, io.EOF) { // after io.EOF Recv says why
		return 0, err
	}
	answer, err := w.stream.Recv()
	if err != nil {
		return 0, err
	}
	return answer.GetStatus(), nil
}

func (w *bareWriter) close() {
	if w.stream != nil {
		w.cancel()
		w.stream = nil
	}
}

// openReader reads a topic through a consumer that it adds, with the SDK. What
// is compressed comes out as the original data.
func openReader(t testing.TB, db *ydb.Driver, topic, consumer string, more ...topicoptions.ReaderOption) *topicreader.Reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), topicTimeout)
	defer cancel()
	err := db.Topic().Alter(ctx, topic, topicoptions.AlterWithAddConsumers(topictypes.Consumer{Name: consumer}))
	if err != nil {
		t.Fatalf("adding %s to %s: %v", consumer, topic, err)
	}
	options := []topicoptions.ReaderOption{topicoptions.WithReaderCommitTimeLagTrigger(0)}
	for _, c := range []struct {
		number   topictypes.Codec
		encoding string
	}{{topictypes.CodecLzop, "lzop"}, {topictypes.CodecZstd, "zstd"}, {codecLZ4, "lz4"}} {
		options = append(options, topicoptions.WithAddDecoder(c.number, decodeAll(c.encoding)))
	}
	r, err := db.Topic().StartReader(consumer, topicoptions.ReadTopic(topic), append(options, more...)...)
	if err != nil {
		t.Fatalf("reading %s: %v", topic, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), topicTimeout)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Errorf("closing the reader of %s: %v", topic, err)
		}
	})
	return r
}

// rawOnly lets a reader fail at every message that is not stored under CodecRaw.
func rawOnly() topicoptions.ReaderOption {
	return topicoptions.WithAddDecoder(topictypes.CodecGzip, func(io.Reader) (io.Reader, error) {
		return nil, errors.New("stored under gzip, want raw")
	})
}

// decodeAll is a decoder for the SDK's reader.
func decodeAll(encoding string) topicoptions.CreateDecoderFunc {
	return func(stored io.Reader) (io.Reader, error) {
		data, err := io.ReadAll(stored)
		if err != nil {
			return nil, err
		}
		original, err := codec.Decode(base64.StdEncoding.EncodeToString(data), encoding)
		return bytes.NewReader(original), err
	}
}
