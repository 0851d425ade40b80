package topicd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/sugar"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicoptions"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicreader"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topictypes"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicwriter"
)

func openSDK(t *testing.T, ts *testServer) *ydb.Driver {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	db, err := ydb.Open(ctx, "grpc://"+ts.addr+"/local")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	return db
}

func sdkRead(t *testing.T, r *topicreader.Reader, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var out []string
	for len(out) < n {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			t.Fatalf("after %d messages: %v", len(out), err)
		}
		data, err := io.ReadAll(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(data))
		if err := r.Commit(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// The official client creates, writes, reads, commits, alters, describes and
// drops, and sees what it expects.
func TestSDKLife(t *testing.T) {
	ts := start(t, Options{})
	db := openSDK(t, ts)
	ctx := t.Context()
	if err := sugar.MakeRecursive(ctx, db, "a/b"); err != nil {
		t.Fatal(err)
	}
	if err := db.Topic().Create(ctx, "a/b/orders",
		topicoptions.CreateWithMinActivePartitions(2),
		topicoptions.CreateWithSupportedCodecs(topictypes.CodecRaw, topictypes.CodecGzip),
		topicoptions.CreateWithConsumer(topictypes.Consumer{Name: "c"})); err != nil {
		t.Fatal(err)
	}
	w, err := db.Topic().StartWriter("a/b/orders", topicoptions.WithWriterProducerID("p"), topicoptions.WithWriterWaitServerAck(true))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{}
	for i := range 50 {
		body := fmt.Sprintf("message %d", i)
		want = append(want, body)
		if err := w.Write(ctx, topicwriter.Message{Data: bytes.NewReader([]byte(body)), Metadata: map[string][]byte{"n": {byte(i)}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
	r, err := db.Topic().StartReader("c", topicoptions.ReadTopic("a/b/orders"),
		topicoptions.WithReaderCommitMode(topicoptions.CommitModeSync), topicoptions.WithReaderCommitTimeLagTrigger(0))
	if err != nil {
		t.Fatal(err)
	}
	if got := sdkRead(t, r, 50); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("read %v", got)
	}
	if err := r.Close(ctx); err != nil {
		t.Fatal(err)
	}
	cons, err := db.Topic().DescribeTopicConsumer(ctx, "a/b/orders", "c", topicoptions.IncludeConsumerStats())
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, p := range cons.Partitions {
		sum += p.PartitionConsumerStats.CommittedOffset
	}
	if sum != 50 {
		t.Errorf("committed offsets add up to %d, want 50", sum)
	}
	if err := db.Topic().Alter(ctx, "a/b/orders", topicoptions.AlterWithMinActivePartitions(4),
		topicoptions.AlterWithAddConsumers(topictypes.Consumer{Name: "d", Important: true})); err != nil {
		t.Fatal(err)
	}
	desc, err := db.Topic().Describe(ctx, "a/b/orders", topicoptions.IncludePartitionStats())
	if err != nil {
		t.Fatal(err)
	}
	if desc.Path != "orders" || len(desc.Partitions) != 4 || len(desc.Consumers) != 2 || !desc.Consumers[1].Important {
		t.Errorf("description %+v", desc)
	}
	dir, err := db.Scheme().ListDirectory(ctx, "/local/a/b")
	if err != nil || len(dir.Children) != 1 || !dir.Children[0].IsTopic() {
		t.Errorf("directory %+v, %v", dir, err)
	}
	if err := db.Topic().Drop(ctx, "a/b/orders"); err != nil {
		t.Fatal(err)
	}
	if err := db.Topic().Drop(ctx, "a/b/orders"); !ydb.IsOperationError(err, Ydb.StatusIds_SCHEME_ERROR) {
		t.Errorf("second drop: %v", err)
	}
}

// A reader finds gzip, zstd and custom messages in one partition; the bytes
// come through untouched.
func TestSDKCodecs(t *testing.T) {
	ts := start(t, Options{})
	db := openSDK(t, ts)
	ctx := t.Context()
	ts.createTopic(t, "mixed", 1, "c")
	const custom = topictypes.Codec(10123)
	identity := func(w io.Writer) (io.WriteCloser, error) { return nopCloser{w}, nil }
	for _, codec := range []topictypes.Codec{topictypes.CodecRaw, topictypes.CodecGzip, topictypes.CodecZstd, custom} {
		opts := []topicoptions.WriterOption{
			topicoptions.WithWriterCodec(codec), topicoptions.WithWriterPartitionID(0),
			topicoptions.WithWriterProducerID(fmt.Sprint("p", codec)), topicoptions.WithWriterWaitServerAck(true),
		}
		if codec == topictypes.CodecZstd || codec == custom {
			opts = append(opts, topicoptions.WithWriterAddEncoder(codec, identity))
		}
		w, err := db.Topic().StartWriter("mixed", opts...)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(ctx, topicwriter.Message{Data: bytes.NewReader([]byte("body"))}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	plain := func(r io.Reader) (io.Reader, error) { return r, nil }
	r, err := db.Topic().StartReader("c", topicoptions.ReadTopic("mixed"),
		topicoptions.WithAddDecoder(topictypes.CodecZstd, plain), topicoptions.WithAddDecoder(custom, plain))
	if err != nil {
		t.Fatal(err)
	}
	for i, body := range sdkRead(t, r, 4) {
		if body != "body" {
			t.Errorf("message %d is %q", i, body)
		}
	}
	if err := r.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
