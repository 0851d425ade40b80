package consumer_test

import (
	"context"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/consumer"
	"sqsgate/internal/ydbstatus"
	"sqsgate/partition"
)

// A message that is in the dead-letter topic does not come back when the queue on
// that topic is gone before anybody heard of the write; one that is not, does.
func TestDeadLetterQueueGoneInBetween(t *testing.T) {
	for name, arrived := range map[string]bool{"written": true, "not written": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, s *stack) {
				const dead = "/local/dead"
				s.createTopic(dead, 1)
				pool, err := partition.New(partition.Options{Topics: s.conn.Topics()})
				s.must(err)
				defer func() { s.must(pool.Close(context.Background())) }()
				s.closeConsumer(s.c)
				s.options.Sequence = func(topic, producer string) consumer.SequenceWriter {
					return moves{pool.Sequence(topic, producer)}
				}
				s.c = s.another("moving")
				withPolicy := spec(false)
				withPolicy.Settings.MaxReceiveCount = 1
				withPolicy.Settings.DeadLetterTopic, withPolicy.Settings.DeadLetterConsumer = dead, shared
				q := s.c.Queue(withPolicy)
				s.write(0, plain("m")...)
				s.hide(q, s.want(q, "m")["m"], 0)
				release := s.control.HoldAcks(dead)
				if !arrived {
					s.control.Fail("StreamWrite", 200, unavailable)
				}
				s.wantNone(q, time.Second) // the move begins
				resp, err := s.conn.Topics().AlterTopic(t.Context(), &Ydb_Topic.AlterTopicRequest{Path: dead, DropConsumers: []string{shared}})
				s.must(ydbstatus.Operation(resp.GetOperation(), err, nil))
				s.control.KillSessions(dead)
				release()
				after(t, 15*time.Minute)
				got := s.receive(q, time.Minute)
				if arrived && len(got) > 0 {
					t.Errorf("%v is in the dead-letter topic and here", bodies(got))
				}
				if !arrived && len(got) != 1 {
					t.Errorf("received %v, want the message that was not moved", bodies(got))
				}
			})
		})
	}
}
