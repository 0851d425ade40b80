package consumer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sqsgate/consumer"
)

func TestReceiveAndDelete(t *testing.T) {
	bubble(t, 3, func(t *testing.T, s *stack) {
		s.write(0, plain("a", "b")...)
		s.write(2, plain("c")...)
		q := s.standard()
		s.wantCounts(q, 3, 0, 0)
		got := s.want(q, "a", "b", "c")
		if m := got["c"]; m.Partition != 2 || m.Offset != 0 || m.ReceiveCount != 1 || !m.FirstReceived.Equal(time.Now()) {
			t.Errorf("received %+v", m)
		}
		s.wantCounts(q, 0, 3, 0)
		s.delete(q, got["a"], got["c"])
		s.wantCounts(q, 0, 1, 0)
		s.delete(q, got["a"]) // once more is no error
		after(t, 2*time.Second)
		if got := []int64{s.committed(topic, shared, 0), s.committed(topic, shared, 1), s.committed(topic, shared, 2)}; !slices.Equal(got, []int64{1, 0, 1}) {
			t.Errorf("committed %v, want what is deleted from the front", got)
		}
		s.delete(q, got["b"])
		after(t, 2*time.Second)
		if got := s.committed(topic, shared, 0); got != 2 {
			t.Errorf("committed %d, want 2", got)
		}
	})
}

// A lease ends when it was to end, not before and not much later.
func TestLeaseEnds(t *testing.T) {
	for _, visibility := range []time.Duration{time.Second, 30 * time.Second, 12 * time.Hour} {
		t.Run(visibility.String(), func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, s *stack) {
				s.write(0, plain("m")...)
				q := s.standard()
				first := s.receiveFor(q, 0, visibility)
				began := time.Now()
				after(t, visibility-time.Millisecond)
				s.wantNone(q, 0)
				second := s.receiveFor(q, 20*time.Second, visibility)
				if took := time.Since(began); len(second) != 1 || took < visibility || took > visibility+100*time.Millisecond {
					t.Fatalf("received %v after %v", bodies(second), took)
				}
				if second[0].ReceiveCount != 2 || !second[0].FirstReceived.Equal(first[0].FirstReceived) || second[0].Handle == first[0].Handle {
					t.Errorf("first %+v, second %+v", first[0], second[0])
				}
				// The old handle does no harm to the new lease.
				s.must(q.Delete(t.Context(), []string{first[0].Handle})[0])
				if err := q.ChangeVisibility(t.Context(), []consumer.VisibilityChange{{Handle: first[0].Handle}})[0]; !errors.Is(err, consumer.ErrGone) {
					t.Errorf("giving back with the old handle: %v", err)
				}
				s.wantNone(q, 0)
			})
		})
	}
}

func TestVisibilityLimit(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		s.write(0, plain("m")...)
		q := s.standard()
		m := s.receiveFor(q, 0, 12*time.Hour)[0]
		after(t, time.Hour)
		err := q.ChangeVisibility(t.Context(), []consumer.VisibilityChange{{Handle: m.Handle, Timeout: 12 * time.Hour}})[0]
		if !errors.Is(err, consumer.ErrTooLong) {
			t.Errorf("13 hours in all: %v", err)
		}
		s.hide(q, m, 10*time.Hour)
	})
}

func TestRetention(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		short := spec(false)
		short.Settings.Retention = time.Minute
		s.write(0, plain("old")...)
		q := s.c.Queue(short)
		held := s.receiveFor(q, 0, time.Hour)
		after(t, 30*time.Second)
		s.write(0, plain("new")...)
		after(t, 31*time.Second)
		s.want(q, "new")
		s.wantCounts(q, 0, 1, 0)
		s.delete(q, held...) // no error: it is gone
	})
}

func TestForeignHandles(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		s.write(0, plain("m")...)
		q := s.standard()
		m := s.receive(q, 0)[0]
		other := spec(false)
		other.Incarnation = 8
		for name, handle := range map[string]string{
			"garbage": "garbage", "empty": "", "cut": m.Handle[:len(m.Handle)-1], "longer": m.Handle + "AAAA", "long": strings.Repeat("A", 4096),
		} {
			if err := q.Delete(t.Context(), []string{handle})[0]; !errors.Is(err, consumer.ErrHandle) {
				t.Errorf("%s: %v", name, err)
			}
		}
		errs := q.Delete(t.Context(), []string{"garbage", m.Handle})
		if !errors.Is(errs[0], consumer.ErrHandle) || errs[1] != nil {
			t.Errorf("a batch of both: %v", errs)
		}
		if err := s.c.Queue(other).Delete(t.Context(), []string{m.Handle})[0]; !errors.Is(err, consumer.ErrHandle) {
			t.Errorf("the next incarnation takes the handle: %v", err)
		}
	})
}

// Polls that wait are served in the order in which they came.
func TestPollsInOrder(t *testing.T) {
	bubble(t, 2, func(t *testing.T, s *stack) {
		q := s.standard()
		s.wantNone(q, 0)
		got := make(chan int, 3)
		for i := range 3 {
			go func() {
				if m := s.receive(q, time.Minute); len(m) == 1 {
					got <- i
				}
			}()
			synctest.Wait()
		}
		for i := range 3 {
			s.write(int64(i%2), plain("m")...)
			if first := <-got; first != i {
				t.Errorf("poll %d was served as number %d", first, i)
			}
		}
	})
}

// A poll ends after its time, and at once when its caller leaves; neither takes
// a message afterwards.
func TestPollEnds(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		q := s.standard()
		began := time.Now()
		s.wantNone(q, 20*time.Second)
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("the poll took %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		poll := consumer.ReceiveRequest{Max: 1, Visibility: time.Hour, Wait: 20 * time.Second}
		aware := poll
		aware.Gone = ctx.Done
		done := make(chan error, 2)
		go func() {
			_, err := q.Receive(ctx, poll)
			done <- err
		}()
		go func() {
			_, err := q.Receive(t.Context(), aware)
			done <- err
		}()
		synctest.Wait()
		began = time.Now()
		cancel()
		for range 2 {
			if err := <-done; !errors.Is(err, consumer.ErrUnavailable) || time.Since(began) > 0 {
				t.Errorf("the caller that left got %v after %v", err, time.Since(began))
			}
		}
		s.write(0, plain("m")...)
		if m := s.want(q, "m")["m"]; m.ReceiveCount != 1 {
			t.Errorf("count %d: a poll that had ended took the message", m.ReceiveCount)
		}
	})
}

// A caller that leaves while its lease is being made durable gives the message
// back.
func TestCallerLeavesMeanwhile(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		s.write(0, plain("m")...)
		q := s.standard()
		s.wantCounts(q, 1, 0, 0)
		release := s.control.HoldAcks(journalPath())
		defer release()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := q.Receive(ctx, consumer.ReceiveRequest{Max: 1, Visibility: time.Hour})
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, consumer.ErrUnavailable) {
			t.Errorf("the caller that left got %v", err)
		}
		release()
		if m := s.receive(q, 10*time.Second); len(m) != 1 || m[0].ReceiveCount != 2 {
			t.Errorf("received %+v, want the message with count 2", m)
		}
	})
}

// Attributes that change while a partition is being opened count there too.
func TestAttributesChangeDuringTheOpening(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		s.write(0, plain("m")...)
		q := s.standard()
		s.hide(q, s.want(q, "m")["m"], 0)
		// One before the journal is opened, one when the machine has been made.
		s.control.Delay("DescribeConsumer", 2, 20*time.Second)
		s.control.KillSessions(journalPath())
		after(t, 30*time.Second)
		changed := spec(false)
		changed.Settings.Retention = time.Minute
		s.c.Queue(changed)
		after(t, 2*time.Minute)
		s.wantNone(q, 0)
	})
}

// A poll whose time ends while its lease is being made durable gets the message:
// its receive is counted once.
func TestPollEndsMeanwhile(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		q := s.standard()
		s.wantNone(q, 0)
		release := s.control.HoldAcks(journalPath())
		defer release()
		got := make(chan []consumer.Received, 1)
		go func() { got <- s.receive(q, 10*time.Second) }()
		after(t, 9*time.Second)
		s.write(0, plain("m")...)
		after(t, 2*time.Second)
		select {
		case m := <-got:
			t.Fatalf("the poll was answered with %v before its lease was durable", bodies(m))
		default:
		}
		release()
		if m := <-got; len(m) != 1 || m[0].ReceiveCount != 1 {
			t.Errorf("the poll got %+v, want the message with count 1", m)
		}
		s.wantNone(q, 0)
	})
}

func TestEndWaits(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		q := s.standard()
		done := make(chan int, 1)
		go func() { done <- len(s.receive(q, 20*time.Second)) }()
		after(t, time.Second)
		began := time.Now()
		s.c.EndWaits()
		if n := <-done; n != 0 || time.Since(began) > 0 {
			t.Errorf("the poll ended with %d messages after %v", n, time.Since(began))
		}
		s.wantNone(q, 20*time.Second)
		if took := time.Since(began); took > time.Second {
			t.Errorf("a later poll waited %v", took)
		}
	})
}

// Drop ends what waits, and the queue made again knows nothing of the old one.
func TestDrop(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		s.write(0, plain("m")...)
		q := s.standard()
		s.want(q, "m")
		done := make(chan error, 1)
		go func() {
			_, err := q.Receive(t.Context(), consumer.ReceiveRequest{Max: 1, Wait: 20 * time.Second})
			done <- err
		}()
		synctest.Wait()
		s.must(s.c.Drop(t.Context(), topic, shared))
		if err := <-done; !errors.Is(err, consumer.ErrQueueGone) {
			t.Errorf("the poll of a deleted queue got %v", err)
		}
		if _, err := q.Receive(t.Context(), consumer.ReceiveRequest{Max: 1}); !errors.Is(err, consumer.ErrQueueGone) {
			t.Errorf("a receive of the deleted queue got %v", err)
		}
		again := spec(false)
		again.Incarnation = 8
		if m := s.want(s.c.Queue(again), "m")["m"]; m.ReceiveCount != 1 {
			t.Errorf("count %d in the new queue", m.ReceiveCount)
		}
	})
}

func TestNoTopic(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		missing := spec(false)
		missing.Topic = "/local/missing"
		if _, err := s.c.Queue(missing).Receive(t.Context(), consumer.ReceiveRequest{Max: 1}); !errors.Is(err, consumer.ErrQueueGone) {
			t.Errorf("got %v", err)
		}
	})
}

// Bodies that do not fit into memory are read again when they are handed out.
func TestBodiesBeyondTheBudget(t *testing.T) {
	small := func(o *consumer.Options) { o.BodyCacheBytes = 2000 }
	bubble(t, 1, func(t *testing.T, s *stack) {
		var want []string
		for _, name := range numbered("body", 50) {
			want = append(want, name+strings.Repeat(".", 500))
		}
		s.write(0, plain(want...)...)
		q := s.standard()
		got := s.want(q, want...)
		for body, m := range got {
			if string(m.Record.Data) != body || m.ReceiveCount != 1 {
				t.Errorf("%s: %+v", body[:8], m)
			}
		}
		s.delete(q, mapValues(got)[:10]...)
	}, small)
}

func TestPurge(t *testing.T) {
	bubble(t, 2, func(t *testing.T, s *stack) {
		s.write(0, plain(numbered("a", 20)...)...)
		s.write(1, plain(numbered("b", 20)...)...)
		s.write(0, message{body: "delayed", delay: 60})
		q := s.standard()
		held := s.receive(q, 0)
		s.must(q.Purge(t.Context()))
		s.wantCounts(q, 0, 0, 0)
		s.delete(q, held...)
		s.write(1, plain("later")...)
		s.delete(q, s.want(q, "later")["later"])
		s.wantNone(q, 20*time.Second)
		after(t, 2*time.Minute)
		s.wantNone(q, 0)
		s.crash()
		q = s.standard()
		s.wantNone(q, time.Second)
		s.wantCounts(q, 0, 0, 0)
	})
}

func TestDelays(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		slow := spec(false)
		slow.Settings.Delay = 10 * time.Second
		q := s.c.Queue(slow)
		s.wantNone(q, 0)
		began := time.Now()
		s.write(0, message{body: "queue's"}, message{body: "own", delay: 5})
		s.wantCounts(q, 0, 0, 2)
		for _, want := range []struct {
			body  string
			after time.Duration
		}{{"own", 5 * time.Second}, {"queue's", 10 * time.Second}} {
			got := s.receive(q, 20*time.Second)
			if took := time.Since(began); len(got) != 1 || string(got[0].Record.Data) != want.body || took < want.after || took > want.after+100*time.Millisecond {
				t.Errorf("received %v after %v, want %s after %v", bodies(got), took, want.body, want.after)
			}
		}
	})
}
