package consumer_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/codec"
	"sqsgate/consumer"
	"sqsgate/internal/topicid"
	"sqsgate/internal/ydbstatus"
	"sqsgate/topicd"
)

// commit sets the offset of the queue's consumer as somebody else would.
func (s *stack) commit(t *testing.T, partition, offset int64) {
	t.Helper()
	resp, err := s.conn.Topics().CommitOffset(s.t.Context(), &Ydb_Topic.CommitOffsetRequest{
		Path: topic, PartitionId: partition, Consumer: shared, Offset: offset,
	})
	s.must(ydbstatus.Operation(resp.GetOperation(), err, nil))
	after(t, time.Second)
}

func offsets(messages []consumer.Received) []int64 {
	list := make([]int64, len(messages))
	for i, m := range messages {
		list[i] = m.Offset
	}
	slices.Sort(list)
	return list
}

// What others commit forward on the queue's consumer is done with: it is not
// delivered any more, and who has it in hand can delete it.
func TestOthersCommitForward(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		bubble(t, 1, func(t *testing.T, s *stack) {
			q := s.c.Queue(spec(fifo))
			var sent []message
			for _, body := range numbered("m", 8) {
				sent = append(sent, message{body: body, group: "group of " + body})
			}
			s.write(0, sent...)
			got, err := q.Receive(t.Context(), consumer.ReceiveRequest{Max: 3, Visibility: 30 * time.Second, Wait: time.Second})
			s.must(err)
			if want := []int64{0, 1, 2}; !slices.Equal(offsets(got), want) {
				t.Fatalf("received %v", offsets(got))
			}
			s.commit(t, 0, 5)
			s.delete(q, got[0])
			s.commit(t, 0, 0) // changes nothing any more
			rest := s.receive(q, time.Second)
			if want := []int64{5, 6, 7}; !slices.Equal(offsets(rest), want) {
				t.Errorf("fifo %v: received %v behind a commit of 5, want %v", fifo, offsets(rest), want)
			}
			after(t, time.Minute) // the first leases end, and come to nothing
			again := s.receive(q, time.Second)
			if want := []int64{5, 6, 7}; !slices.Equal(offsets(again), want) {
				t.Errorf("fifo %v: received %v when leases had ended, want %v", fifo, offsets(again), want)
			}
			s.delete(q, again...)
			after(t, 2*time.Second)
			if at := s.committed(topic, shared, 0); at != 8 {
				t.Errorf("fifo %v: committed to %d, want 8", fifo, at)
			}
			s.commit(t, 0, 0)
			s.crash()
			s.wantNone(s.c.Queue(spec(fifo)), time.Minute)
		})
	}
}

// Nothing deleted comes back when others set the offset back, not after a restart
// either; what was not deleted is still there, with its receives.
func TestOthersCommitBack(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		bubble(t, 1, func(t *testing.T, s *stack) {
			q := s.c.Queue(spec(fifo))
			var sent []message
			for _, body := range numbered("m", 6) {
				sent = append(sent, message{body: body, group: "group of " + body})
			}
			s.write(0, sent...)
			got := s.want(q, numbered("m", 6)...)
			s.delete(q, got["m0"], got["m1"], got["m2"], got["m4"])
			after(t, 2*time.Second)
			if at := s.committed(topic, shared, 0); at != 3 {
				t.Fatalf("committed to %d, want 3", at)
			}
			s.commit(t, 0, 0)
			for _, crash := range []bool{false, true} {
				if crash {
					s.commit(t, 0, 1)
					s.crash()
					q = s.c.Queue(spec(fifo))
				}
				after(t, 2*time.Minute)
				left := s.receive(q, time.Second)
				if want := []int64{3, 5}; !slices.Equal(offsets(left), want) {
					t.Errorf("fifo %v: received %v, want %v", fifo, offsets(left), want)
				}
				for _, m := range left {
					if m.ReceiveCount < 2 {
						t.Errorf("fifo %v: message %d has %d receives", fifo, m.Offset, m.ReceiveCount)
					}
				}
			}
			after(t, 2*time.Minute)
			s.delete(q, s.receive(q, time.Second)...)
			after(t, 2*time.Second)
			if at := s.committed(topic, shared, 0); at != 6 {
				t.Errorf("fifo %v: committed to %d, want all 6", fifo, at)
			}
		})
	}
}

// The groups of a FIFO queue on a topic without key ranges keep their order. Where
// its records are was decided by their writers.
func TestFIFOWithoutKeyRanges(t *testing.T) {
	bubble(t, 2, func(t *testing.T, s *stack) {
		item := func(group string) []codec.Item { return []codec.Item{{Key: "__key", Value: []byte(group)}} }
		record := func(body, group string) codec.Record {
			r := codec.Record{Codec: codec.Raw, Data: []byte(body)}
			if group != "" {
				r.Metadata = item(group)
			}
			return r
		}
		s.put(topic, 0, "writer a", record("a0", "a"), record("x0", ""), record("a1", "a"))
		s.put(topic, 1, "writer b", record("b0", "b"), record("y0", ""), record("b1", "b"), record("y1", ""))
		q := s.c.Queue(spec(true))
		s.wantCounts(q, 7, 0, 0)
		var order []string
		for len(order) < 7 {
			got, err := q.Receive(t.Context(), consumer.ReceiveRequest{Max: 1, Visibility: time.Minute, Wait: time.Second})
			s.must(err)
			if len(got) != 1 {
				t.Fatalf("nothing after %v", order)
			}
			order = append(order, string(got[0].Record.Data))
			s.delete(q, got...)
		}
		for _, pair := range [][2]string{{"a0", "a1"}, {"b0", "b1"}, {"y0", "y1"}} {
			if slices.Index(order, pair[0]) > slices.Index(order, pair[1]) {
				t.Errorf("order %v: %s is before %s", order, pair[1], pair[0])
			}
		}
	})
}

// A queue whose topic is gone tells who waits, looks for it for a minute, and ends. A
// topic that is made again at the path is served by the next one alone.
func TestTopicIsDropped(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		identity := func() string {
			resp, err := s.conn.Topics().DescribeTopic(t.Context(), &Ydb_Topic.DescribeTopicRequest{Path: topic})
			var result Ydb_Topic.DescribeTopicResult
			s.must(ydbstatus.Operation(resp.GetOperation(), err, &result))
			return topicid.Of(result.GetSelf())
		}
		first := spec(false)
		first.TopicCreated = identity()
		q := s.c.Queue(first)
		s.write(0, plain("a", "b")...)
		s.delete(q, s.want(q, "a", "b")["a"])
		ended := make(chan error)
		begun := time.Now()
		go func() {
			_, err := q.Receive(context.WithoutCancel(t.Context()), consumer.ReceiveRequest{Max: 1, Wait: 20 * time.Second})
			ended <- err
		}()
		after(t, time.Second)
		s.dropTopic(topic)
		if err := <-ended; !errors.Is(err, consumer.ErrQueueGone) || time.Since(begun) > 3*time.Second {
			t.Errorf("the poll ended with %v after %v", err, time.Since(begun))
		}
		var looks atomic.Int32
		s.control.Intercept(func(p topicd.Passing) topicd.Fault {
			if p.Direction == topicd.FromClient {
				looks.Add(1)
			}
			return topicd.Fault{}
		})
		after(t, 5*time.Minute)
		if n := looks.Load(); n == 0 || n > 40 {
			t.Errorf("%d calls for a topic that is gone", n)
		}
		looks.Store(0)
		after(t, 10*time.Minute)
		if n := looks.Load(); n != 0 {
			t.Errorf("%d calls when the queue should have ended", n)
		}

		s.createTopic(topic, 1)
		s.write(0, plain("new")...)
		if _, err := s.c.Queue(first).Receive(t.Context(), tenForAMinute); !errors.Is(err, consumer.ErrQueueGone) {
			t.Errorf("the old queue on the new topic: %v", err)
		}
		next := spec(false)
		next.TopicCreated, next.Incarnation = identity(), 8
		s.want(s.c.Queue(next), "new")
		// Late news of the old one leave the new one alone.
		s.c.Abandon(topic, shared, 7)
		after(t, time.Minute)
		s.want(s.c.Queue(next), "new")
		s.c.Abandon(topic, shared, 8)
		after(t, time.Minute)
		if s.has(journalPath()) {
			t.Error("the journal of an abandoned queue is there")
		}
	})
}

// has tells whether there is a topic.
func (s *stack) has(path string) bool {
	s.t.Helper()
	resp, err := s.conn.Topics().DescribeTopic(s.t.Context(), &Ydb_Topic.DescribeTopicRequest{Path: path})
	err = ydbstatus.Operation(resp.GetOperation(), err, nil)
	if err != nil && !ydbstatus.Is(err, Ydb.StatusIds_SCHEME_ERROR) {
		s.t.Fatal(err)
	}
	return err == nil
}
