//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicoptions"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topictypes"
)

// TestMixedLoad: a standard and a FIFO queue whose topics split all the while are
// written and read through both APIs. Nothing is lost, nothing comes after it was
// deleted, and every group keeps its order on every side that promises one.
//
// It has the processors to itself: many tests look at leases of a few seconds.
func TestMixedLoad(t *testing.T) {
	for _, deployment := range []struct {
		name     string
		messages int // at least, over both queues
	}{{separate, 100_000}, {embedded, 20_000}} {
		t.Run(deployment.name, func(t *testing.T) {
			d := newDeployment(t, deployment.name, "--codecs", "10001=lz4", "--fifo-messages-per-second-per-partition", "1000000")
			for _, topic := range []string{"split", "split.fifo"} {
				t.Run(topic, func(t *testing.T) {
					t.Parallel()
					loadWithSplits(t, d, topic, deployment.messages/2)
				})
			}
		})
	}
}

func loadWithSplits(t *testing.T, d *Deployment, topic string, messages int) {
	db := d.YDB(t)
	q := d.Actions(t, jsonProtocol).Create(t, topic, attributes{
		"VisibilityTimeout": "600", "YdbPartitionWriteSpeedBytes": fmt.Sprint(4 << 20),
	})
	splitEarly(t, db, topic)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &mixedLoad{t: t, db: db, topic: topic, fifo: q.isFIFO()}
	l.receive(ctx, q, 6)
	l.read(ctx, "reader")

	l.goOn.Store(true)
	const wanted = 5 // partitions: a split, and one of its children
	l.reading.Go(func() {
		for ctx.Err() == nil && partitions(ctx, t, db, topic) < wanted {
			rest(ctx, 100*time.Millisecond)
		}
		l.goOn.Store(false)
	})
	part := messages / 20
	for i := range 4 {
		l.sendBatches(ctx, q, fmt.Sprint("batches-", i), 2*part)
	}
	l.sendSingly(ctx, q, "singly-1", part/4)
	l.sendSingly(ctx, q, "singly-2", part/4)
	l.writeTopic(ctx, "raw", topictypes.CodecRaw, 0, 2*part)
	l.writeTopic(ctx, "raw-keys", topictypes.CodecRaw, 7, 2*part)
	l.writeTopic(ctx, "gzip", topictypes.CodecGzip, 0, part)
	l.writeTopic(ctx, "lzop", topictypes.CodecLzop, 3, part)
	l.writeTopic(ctx, "zstd", topictypes.CodecZstd, 5, 2*part)
	l.writeTopic(ctx, "lz4", codecLZ4, 0, part)
	l.writeBare(ctx, "-1", part)
	l.writeBare(ctx, "-2", 2*part)
	l.wait(cancel)

	if written := l.written.Load(); written < int64(messages) {
		t.Errorf("%d messages were written, want %d", written, messages)
	}
	q.WantNone(1)
	if got := q.Counts(); got != [3]string{"0", "0", "0"} {
		t.Errorf("counts of the empty queue: %v", got)
	}
	if got := partitions(t.Context(), t, db, topic); got < wanted {
		t.Errorf("%d partitions, want splits", got)
	}
}

// splitEarly has a topic split under little load.
func splitEarly(t *testing.T, db *ydb.Driver, topic string) {
	t.Helper()
	err := db.Topic().Alter(t.Context(), topic,
		topicoptions.AlterWithAutoPartitioningStrategy(topictypes.AutoPartitioningStrategyScaleUp),
		topicoptions.AlterWithAutoPartitioningWriteSpeedStabilizationWindow(2*time.Second),
		topicoptions.AlterWithAutoPartitioningWriteSpeedUpUtilizationPercent(2),
	)
	if err != nil {
		t.Fatalf("altering %s: %v", topic, err)
	}
}

// partitions is how many a topic has, split ones too.
func partitions(ctx context.Context, t *testing.T, db *ydb.Driver, topic string) int {
	d, err := db.Topic().Describe(ctx, topic)
	if err != nil {
		if ctx.Err() == nil {
			t.Errorf("describing %s: %v", topic, err)
		}
		return 0
	}
	return len(d.Partitions)
}
