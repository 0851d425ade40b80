//go:build e2e

package e2e

import (
	"context"
	"testing"

	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topictypes"
)

// TestEveryConsumerSeesAll: two queues on one topic and a Topic API reader, each
// with a consumer of its own, see every message once, whoever wrote it.
func TestEveryConsumerSeesAll(t *testing.T) {
	for _, kind := range []struct {
		name, topic string
		fifo        bool
	}{{"standard", "seen-by-all", false}, {"fifo", "seen-by-all.fifo", true}} {
		t.Run(kind.name, func(t *testing.T) {
			eachDeployment(t, func(t *testing.T, d *Deployment) {
				a := d.Actions(t, jsonProtocol)
				own := attributes{"VisibilityTimeout": "600", "YdbMinActivePartitions": "3"}
				if kind.fifo {
					own["FifoQueue"] = "true"
				}
				first, second := a.Create(t, kind.topic, own), a.Create(t, kind.topic+"@other", own)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				l := &mixedLoad{t: t, db: d.YDB(t), topic: kind.topic, fifo: kind.fifo}
				l.receive(ctx, first, 3)
				l.receive(ctx, second, 3)
				l.read(ctx, "reader")
				l.sendBatches(ctx, first, "to-first", 800)
				l.sendBatches(ctx, second, "to-second", 800)
				l.sendSingly(ctx, second, "singly", 200)
				l.writeTopic(ctx, "gzip", topictypes.CodecGzip, 0, 400)
				l.writeTopic(ctx, "zstd", topictypes.CodecZstd, 5, 400)
				l.writeTopic(ctx, "raw", topictypes.CodecRaw, 3, 400)
				l.writeBare(ctx, "", 400)
				l.wait(cancel)
				for _, q := range []*Queue{first, second} {
					q.WantNone(1)
					if got := q.Counts(); got != [3]string{"0", "0", "0"} {
						t.Errorf("counts of the empty queue %s: %v", queueName(q), got)
					}
				}
			}, "--codecs", "10001=lz4", "--fifo-messages-per-second-per-partition", "1000000")
		})
	}
}
