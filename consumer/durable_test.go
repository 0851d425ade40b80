package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sqsgate/consumer"
)

// restarts are the ways a consumer can come back.
var restarts = map[string]func(s *stack){
	"stop":  (*stack).restart,
	"crash": (*stack).crash,
}

// What was answered holds after a restart: leases with their deadlines and
// counts, deletes, changed visibility.
func TestRestartKeepsLeases(t *testing.T) {
	for name, restart := range restarts {
		t.Run(name, func(t *testing.T) {
			bubble(t, 2, func(t *testing.T, s *stack) {
				s.write(0, plain("deleted", "held", "extended")...)
				s.write(1, plain("given back", "waiting")...)
				q := s.standard()
				began := time.Now()
				got := s.want(q, "deleted", "held", "extended", "given back", "waiting")
				s.delete(q, got["deleted"])
				s.hide(q, got["extended"], time.Hour)
				s.hide(q, got["given back"], 0)
				s.hide(q, got["waiting"], 0)
				after(t, 20*time.Second)

				restart(s)

				q = s.standard()
				again := s.want(q, "given back", "waiting")
				for body, m := range again {
					if m.ReceiveCount != 2 || !m.FirstReceived.Equal(got[body].FirstReceived) {
						t.Errorf("%s: count %d, first received %v; before %v", body, m.ReceiveCount, m.FirstReceived, got[body].FirstReceived)
					}
				}
				s.wantCounts(q, 0, 4, 0)
				s.delete(q, again["waiting"], got["given back"]) // any handle does, the first owner's as well
				held := s.receive(q, time.Minute)
				if took := time.Since(began); !slices.Equal(bodies(held), []string{"held"}) || held[0].ReceiveCount != 2 || took < time.Minute {
					t.Errorf("received %v after %v, want held after a minute", bodies(held), took)
				}
				s.delete(q, held...)
				s.delete(q, got["extended"]) // a lease that still holds, by the handle of the first owner
				after(t, 2*time.Hour)
				s.wantNone(q, 0)
				s.wantCounts(q, 0, 0, 0)
			})
		})
	}
}

// A state of thousands of records is read back from snapshots, whatever the
// moment, and the journal does not keep what they replace.
func TestSnapshots(t *testing.T) {
	for name, restart := range restarts {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, s *stack) {
				q := s.standard()
				var want []string
				for round := range 6 {
					batch := numbered(fmt.Sprintf("%d-", round), 100)
					s.write(0, plain(batch...)...)
					got := s.want(q, batch...)
					for i, m := range mapValues(got) { // one record each
						if i%10 == 0 {
							s.hide(q, m, time.Hour)
							want = append(want, string(m.Record.Data))
						} else {
							s.delete(q, m)
						}
					}
					restart(s)
					q = s.standard()
				}
				s.wantCounts(q, 0, int64(len(want)), 0)
				s.wantNone(q, 20*time.Second)
				after(t, time.Hour)
				for body, m := range s.want(q, want...) {
					if m.ReceiveCount != 2 {
						t.Errorf("%s: count %d, want 2", body, m.ReceiveCount)
					}
				}
				if trimmed := s.committed(journalPath(), "journal", 0); trimmed < 256 {
					t.Errorf("the journal is needed from offset %d on, after more than 600 records", trimmed)
				}
			})
		})
	}
}

// A partition in which nothing happens does not keep what the others write to the
// journal, nor does one that is finished.
func TestJournalIsTrimmedPastIdlePartitions(t *testing.T) {
	busy := func(t *testing.T, s *stack, partition int64) {
		t.Helper()
		q := s.standard()
		batch := numbered("m", 1500)
		for i := range 15 {
			s.write(partition, plain(batch[100*i:100*(i+1)]...)...)
		}
		for _, m := range mapValues(s.want(q, batch...)) { // one record each
			s.delete(q, m)
		}
		after(t, 2*time.Second)
		if trimmed := s.committed(journalPath(), "journal", 0); trimmed < 400 {
			t.Errorf("the journal is needed from offset %d on, after more than 1500 records", trimmed)
		}
	}
	t.Run("never used", func(t *testing.T) {
		bubble(t, 2, func(t *testing.T, s *stack) { busy(t, s, 0) })
	})
	t.Run("in flight", func(t *testing.T) {
		bubble(t, 2, func(t *testing.T, s *stack) {
			s.write(1, plain("kept")...)
			q := s.standard()
			s.hide(q, s.want(q, "kept")["kept"], time.Hour)
			busy(t, s, 0)
			s.crash()
			q = s.standard()
			s.wantCounts(q, 0, 1, 0)
			after(t, time.Hour)
			if m := s.want(q, "kept")["kept"]; m.ReceiveCount != 2 {
				t.Errorf("count %d, want 2", m.ReceiveCount)
			}
		})
	})
	t.Run("split and done", func(t *testing.T) {
		splitting(t, func(t *testing.T, s *stack) {
			s.write(0, plain("done")...)
			q := s.standard()
			s.delete(q, s.want(q, "done")["done"])
			after(t, 2*time.Second)
			s.must(s.control.Split(topic, 0))
			after(t, 2*time.Second)
			busy(t, s, 1)
			s.restart()
			s.write(2, plain("new")...)
			q = s.standard()
			s.delete(q, s.want(q, "new")["new"])
			s.wantCounts(q, 0, 0, 0)
		})
	})
}

// Another owner's fence ends this one: what it answers afterwards is an error,
// and it serves again only after it has read what the other may have written.
func TestFencedOwnerAnswersNothing(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		s.write(0, plain("a", "b")...)
		q := s.standard()
		s.wantCounts(q, 2, 0, 0)
		release := s.control.HoldAcks(journalPath())
		result := make(chan error, 1)
		go func() {
			_, err := q.Receive(t.Context(), consumer.ReceiveRequest{Max: 1, Visibility: time.Minute})
			result <- err
		}()
		synctest.Wait()
		release2 := release
		fenced := make(chan struct{})
		go func() { s.fence(0); close(fenced) }()
		synctest.Wait()
		release2()
		<-fenced
		if err := <-result; !errors.Is(err, consumer.ErrUnavailable) && err != nil {
			t.Errorf("the fenced owner answered %v", err)
		}
		// It fences in turn. Nothing is handed out twice within a minute.
		seen := map[string]int{}
		for deadline := time.Now().Add(50 * time.Second); time.Now().Before(deadline); {
			got, err := q.Receive(t.Context(), consumer.ReceiveRequest{Max: 10, Visibility: time.Minute, Wait: time.Second})
			if err != nil {
				after(t, 100*time.Millisecond)
				continue
			}
			for _, m := range got {
				seen[string(m.Record.Data)]++
			}
		}
		if seen["a"] > 1 || seen["b"] != 1 {
			t.Errorf("handed out %v", seen)
		}
	})
}

// Two consumers on one topic, as two gateways have: each partition has one
// owner at a time, and no lease is broken when it changes.
func TestTakeover(t *testing.T) {
	bubble(t, 4, func(t *testing.T, s *stack) {
		for p := range int64(4) {
			s.write(p, plain(numbered(fmt.Sprintf("%d-", p), 5)...)...)
		}
		first := s.standard()
		leased := map[string]bool{}
		for _, m := range s.receive(first, 0) {
			leased[string(m.Record.Data)] = true
		}
		second := s.another("second")
		defer s.closeConsumer(second)
		take := func(q *consumer.Queue) {
			// While partitions are with another owner a receive waits for them.
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			got, err := q.Receive(ctx, consumer.ReceiveRequest{Max: 10, Visibility: 10 * time.Minute, Wait: time.Second})
			if err != nil && !errors.Is(err, consumer.ErrUnavailable) {
				t.Errorf("receiving: %v", err)
			}
			for _, m := range got {
				if leased[string(m.Record.Data)] {
					t.Errorf("%s was handed out twice", m.Record.Data)
				}
				leased[string(m.Record.Data)] = true
			}
		}
		for range 5 {
			take(second.Queue(spec(false)))
			take(first)
		}
		s.closeConsumer(s.c)
		for range 15 {
			take(second.Queue(spec(false)))
		}
		if len(leased) != 20 {
			t.Errorf("%d of 20 messages were handed out", len(leased))
		}
	})
}

// A journal that cannot be written answers nobody; when it can be written again
// the state is what the journal says.
func TestJournalLost(t *testing.T) {
	faults := map[string]func(s *stack) (repair func()){
		"sessions killed": func(s *stack) func() {
			if n := s.control.KillSessions(journalPath()); n == 0 {
				s.t.Error("the journal had no session")
			}
			return func() {}
		},
		"reopening fails": func(s *stack) func() {
			s.control.Fail("StreamWrite", 5, unavailable)
			s.control.KillSessions(journalPath())
			return func() {}
		},
		"no acknowledgements": func(s *stack) func() { return s.control.HoldAcks(journalPath()) },
		"data sessions killed": func(s *stack) func() {
			s.control.KillSessions(topic)
			return func() {}
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, s *stack) {
				s.write(0, plain(numbered("m", 6)...)...)
				q := s.standard()
				got := s.want(q, numbered("m", 6)...)
				s.delete(q, got["m0"])
				s.hide(q, got["m1"], time.Hour)
				repair := fault(s)
				deleted := q.Delete(t.Context(), []string{got["m2"].Handle})[0]
				hidden := q.ChangeVisibility(t.Context(), []consumer.VisibilityChange{{Handle: got["m3"].Handle, Timeout: time.Hour}})[0]
				for _, err := range []error{deleted, hidden} {
					if err != nil && !errors.Is(err, consumer.ErrUnavailable) {
						t.Errorf("meanwhile: %v", err)
					}
				}
				repair()
				after(t, 10*time.Second)
				s.must(s.c.Ready())
				s.wantNone(q, 0) // every lease of a minute holds still
				after(t, time.Minute)
				back := map[string]bool{}
				for range 5 {
					for _, m := range s.receive(q, 0) {
						back[string(m.Record.Data)] = true
						if m.ReceiveCount != 2 {
							t.Errorf("%s: count %d, want 2", m.Record.Data, m.ReceiveCount)
						}
					}
				}
				if back["m0"] || back["m1"] || back["m2"] && deleted == nil || back["m3"] && hidden == nil {
					t.Errorf("came back: %v; delete %v, change %v", back, deleted, hidden)
				}
				if !back["m4"] || !back["m5"] {
					t.Errorf("the leases that ended are not back: %v", back)
				}
			})
		})
	}
}

// Ready tells which partition is not served and why, and only as long.
func TestReady(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		s.wantNone(s.standard(), 0)
		s.must(s.c.Ready())
		s.control.Fail("StreamWrite", 3, unavailable)
		s.control.KillSessions(journalPath())
		after(t, 10*time.Millisecond)
		if err := s.c.Ready(); err == nil {
			t.Error("ready without a journal")
		}
		after(t, 10*time.Second)
		s.must(s.c.Ready())
	})
}

// A journal that knows more than the topic has is damage, not a reason to hand
// out what was deleted.
func TestTopicLostItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, vfs.NewMem())
		defer s.close()
		s.createTopic(topic, 1)
		s.write(0, plain("a", "b")...)
		q := s.standard()
		s.delete(q, mapValues(s.want(q, "a", "b"))...)
		s.restart()
		s.dropTopic(topic)
		s.createTopic(topic, 1)
		s.write(0, plain("c")...)
		if got, err := s.standard().Receive(t.Context(), consumer.ReceiveRequest{Max: 10, Wait: time.Second}); !errors.Is(err, consumer.ErrUnavailable) {
			t.Errorf("received %v, %v", bodies(got), err)
		}
		if err := s.c.Ready(); err == nil {
			t.Error("ready with a damaged journal")
		}
	})
}

// A snapshot that gets due while the journal does not answer waits for the answer
// without keeping the processor busy.
func TestSnapshotDueWhileAppending(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		s.write(0, plain("a", "b")...)
		q := s.standard()
		got := s.want(q, "a", "b")
		after(t, 5*time.Minute-2*time.Second)
		release := s.control.HoldAcks(journalPath())
		deleted := make(chan error, 1)
		go func() { deleted <- q.Delete(t.Context(), []string{got["a"].Handle})[0] }()
		after(t, 4*time.Second) // time stands still when something spins
		release()
		s.must(<-deleted)
		after(t, time.Minute)
		s.delete(q, s.want(q, "b")["b"])
	})
}
