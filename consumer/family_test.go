package consumer_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/internal/ydbstatus"
)

// splitting runs test with a stack whose topic has one partition that can be
// split.
func splitting(t *testing.T, test func(t *testing.T, s *stack)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, vfs.NewCrashableMem())
		defer s.close()
		resp, err := s.conn.Topics().CreateTopic(t.Context(), &Ydb_Topic.CreateTopicRequest{
			Path: topic,
			PartitioningSettings: &Ydb_Topic.PartitioningSettings{
				MinActivePartitions: 1, MaxActivePartitions: 10,
				AutoPartitioningSettings: &Ydb_Topic.AutoPartitioningSettings{
					Strategy: Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_SCALE_UP,
				},
			},
			Consumers: []*Ydb_Topic.Consumer{{Name: shared}},
		})
		s.must(ydbstatus.Operation(resp.GetOperation(), err, nil))
		test(t, s)
	})
}

// A group waits for the oldest of its partitions, though the generation between
// has no messages and is finished.
func TestGrandchildWaits(t *testing.T) {
	for name, restart := range restarts {
		t.Run(name, func(t *testing.T) {
			splitting(t, func(t *testing.T, s *stack) {
				s.write(0, grouped("g", "1")...)
				q := s.fifo()
				first := s.want(q, "1")["1"]
				s.must(s.control.Split(topic, 0))
				s.must(s.control.Split(topic, 1))
				s.write(3, append(grouped("g", "2"), grouped("h", "x")...)...)
				after(t, time.Second)
				s.delete(q, s.want(q, "x")["x"])
				s.hide(q, first, time.Hour)
				restart(s)
				q = s.fifo()
				s.wantNone(q, 10*time.Minute)
				s.delete(q, first)
				if got := bodies(s.receive(q, time.Second)); !slices.Equal(got, []string{"2"}) {
					t.Errorf("received %v after the group's first was deleted", got)
				}
			})
		})
	}
}

// The children of a finished partition belong to whom the server gives them, not
// to whom has the parent. Otherwise two gateways would fence each other for ever.
func TestChildrenOfAFinishedPartition(t *testing.T) {
	splitting(t, func(t *testing.T, s *stack) {
		s.must(s.control.Split(topic, 0))
		q := s.fifo()
		after(t, time.Second)
		second := s.another("second")
		defer s.closeConsumer(second)
		other := second.Queue(spec(true))
		for range 10 {
			s.must(s.control.Rebalance(topic, shared))
			after(t, 5*time.Second)
			s.must(s.c.Ready())
			s.must(second.Ready())
		}
		s.write(1, grouped("g", "1")...)
		s.write(2, grouped("h", "2")...)
		after(t, time.Second)
		own, err := q.ReceiveOwn(t.Context(), tenForAMinute)
		s.must(err)
		others, err := other.ReceiveOwn(t.Context(), tenForAMinute)
		s.must(err)
		if got := bodies(append(own, others...)); len(own) > 1 || len(others) > 1 || len(got) != 2 {
			t.Errorf("one gateway received %v, the other %v", bodies(own), bodies(others))
		}
	})
}
