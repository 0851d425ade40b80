package topicd

import (
	"strings"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

// Above the write speed acks come later and say why; nothing is refused.
func TestWriteQuota(t *testing.T) {
	for _, enforce := range []bool{true, false} {
		virtual(t, Options{EnforceQuota: enforce}, func(t *testing.T, ts *testServer) {
			res, err := ts.client.CreateTopic(t.Context(), &Ydb_Topic.CreateTopicRequest{
				Path: "t", PartitionWriteSpeedBytesPerSecond: 100_000, PartitionWriteBurstBytes: 200_000,
			})
			wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
			w := ts.mustWriter(t, "t", "p", 0)
			begin := time.Now()
			var waited time.Duration
			for i := range 12 {
				w.request(1, message(int64(i+1), strings.Repeat("x", 100_000)))
				waited += w.recv().GetWriteResponse().GetWriteStatistics().GetPartitionQuotaWaitTime().AsDuration()
			}
			// 1.2 MB: 200 kB of burst, and the last request is sent when the ones
			// before it are paid.
			took := time.Since(begin)
			if !enforce {
				if waited != 0 {
					t.Errorf("waited %v without a quota", waited)
				}
				return
			}
			if took < 8*time.Second || took > 11*time.Second || waited < 8*time.Second {
				t.Errorf("1.2 MB took %v and said %v, want about 9 s", took, waited)
			}
		})
	}
}

// What a consumer has read is counted.
func TestBytesRead(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 1, "c", "d")
	ts.fill(t, "t", 0, 10)
	r := ts.mustReader(t, "t", "c")
	r.accept(0)
	r.credit(1 << 20)
	r.take(10)
	d := ts.describeConsumer(t, "t", "c")
	sum, part := d.GetConsumer().GetConsumerStats().GetBytesRead(), d.GetPartitions()[0].GetPartitionConsumerStats().GetBytesRead()
	if sum.GetPerMinute() < 10 || part.GetPerDay() != sum.GetPerDay() {
		t.Errorf("read %v, of the partition %v", sum, part)
	}
	if other := ts.describeConsumer(t, "t", "d").GetConsumer().GetConsumerStats().GetBytesRead(); other.GetPerDay() != 0 {
		t.Errorf("a consumer that has not read shows %v", other)
	}
}
