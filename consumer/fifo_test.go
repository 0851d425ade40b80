package consumer_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sqsgate/consumer"
)

func grouped(group string, bodies ...string) []message {
	list := make([]message, len(bodies))
	for i, b := range bodies {
		list[i] = message{body: b, group: group, deduplication: group + b}
	}
	return list
}

// A group is handed out in order, to one receive at a time, over expiry,
// give-backs and restarts.
func TestFIFOOrder(t *testing.T) {
	for name, restart := range restarts {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, s *stack) {
				s.write(0, append(grouped("g", "1", "2", "3"), grouped("h", "x")...)...)
				q := s.fifo()
				one, err := q.Receive(t.Context(), consumer.ReceiveRequest{Max: 1, Visibility: time.Minute, Wait: time.Second})
				if err != nil || !slices.Equal(bodies(one), []string{"1"}) {
					t.Fatalf("received %v, %v", bodies(one), err)
				}
				if got := s.receive(q, 0); !slices.Equal(bodies(got), []string{"x"}) {
					t.Fatalf("received %v while the group is out", bodies(got))
				}
				restart(s)
				q = s.fifo()
				s.wantNone(q, 30*time.Second)
				all := s.receive(q, time.Minute)
				if got := bodies(all); !slices.Equal(got, []string{"1", "2", "3"}) && !slices.Equal(got, []string{"1", "2", "3", "x"}) {
					t.Fatalf("received %v after the lease ended", got)
				}
				if err := q.Delete(t.Context(), []string{one[0].Handle})[0]; !errors.Is(err, consumer.ErrExpired) {
					t.Errorf("deleting with the ended lease: %v", err)
				}
				s.hide(q, all[0], 0)
				s.hide(q, all[2], 0)
				if got := bodies(s.receive(q, 0)); len(got) == 0 || got[0] != "1" || slices.Contains(got, "3") {
					t.Errorf("received %v with 2 in flight", got)
				}
			})
		})
	}
}

func claim(t *testing.T, q *consumer.Queue, id string) consumer.Claim {
	t.Helper()
	claims, err := q.Claim(t.Context(), []consumer.DeduplicationID{{ID: id, Group: "g"}})
	if err != nil {
		t.Fatalf("claiming %s: %v", id, err)
	}
	return claims[0]
}

func settle(q *consumer.Queue, c consumer.Claim, offset int64, err error) {
	q.Settle([]consumer.Claim{c}, []consumer.Written{{Offset: offset, Err: err}})
}

// The window knows what the log holds, from a restart on as before, and forgets
// it after five minutes.
func TestClaims(t *testing.T) {
	for name, restart := range restarts {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, s *stack) {
				q := s.fifo()
				c := claim(t, q, "d")
				if c.Duplicate {
					t.Fatal("the first is a duplicate")
				}
				began := time.Now()
				offset := s.write(0, message{body: "m", group: "g", deduplication: "d"})
				settle(q, c, offset, nil)
				if c := claim(t, q, "d"); !c.Duplicate || c.Offset != offset {
					t.Errorf("the second claim: %+v", c)
				}
				s.delete(q, s.want(q, "m")["m"]) // deleted or not
				after(t, 4*time.Minute)
				restart(s)
				q = s.fifo()
				if c := claim(t, q, "d"); !c.Duplicate || c.Offset != offset {
					t.Errorf("after the restart: %+v", c)
				}
				after(t, 5*time.Minute-time.Since(began)-time.Second)
				if c := claim(t, q, "d"); !c.Duplicate {
					t.Error("forgotten within the five minutes")
				}
				after(t, 2*time.Second)
				c = claim(t, q, "d")
				if c.Duplicate {
					t.Error("remembered beyond the five minutes")
				}
				settle(q, c, -1, consumer.ErrUnavailable)
			})
		})
	}
}

// A send that failed leaves no trace; one that waits for it gets its turn.
func TestClaimWaitsForTheSendUnderWay(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		q := s.fifo()
		first := claim(t, q, "d")
		second := make(chan consumer.Claim, 1)
		go func() { second <- claim(t, q, "d") }()
		synctest.Wait()
		select {
		case c := <-second:
			t.Fatalf("the second claim did not wait: %+v", c)
		default:
		}
		settle(q, first, -1, consumer.ErrUnavailable)
		c := <-second
		if c.Duplicate {
			t.Fatal("the failed send counts")
		}
		offset := s.write(0, message{body: "m", group: "g", deduplication: "d"})
		settle(q, c, offset, nil)
		if c := claim(t, q, "d"); !c.Duplicate {
			t.Error("the send that succeeded does not count")
		}
	})
}

// A send whose outcome nobody knows, but which is in the log, is known once it
// was loaded; and if it is there twice all the same, it is handed out once.
func TestUnknownSendIsFound(t *testing.T) {
	for name, restart := range restarts {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, s *stack) {
				q := s.fifo()
				c := claim(t, q, "d")
				offset := s.write(0, message{body: "m", group: "g", deduplication: "d"})
				settle(q, c, -1, consumer.ErrUnavailable)
				s.wantCounts(q, 1, 0, 0)
				if c := claim(t, q, "d"); !c.Duplicate || c.Offset != offset {
					t.Errorf("the repeat: %+v", c)
				}
				s.write(0, message{body: "again", group: "g", deduplication: "d"})
				restart(s)
				q = s.fifo()
				s.delete(q, s.want(q, "m")["m"])
				s.wantNone(q, 10*time.Minute)
				s.wantCounts(q, 0, 0, 0)
			})
		})
	}
}

// The scope decides whether ids of two groups are the same.
func TestClaimScope(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		perGroup := spec(true)
		perGroup.Settings.DeduplicationPerGroup = true
		q := s.c.Queue(perGroup)
		ids := []consumer.DeduplicationID{{ID: "d", Group: "g"}, {ID: "d", Group: "h"}}
		claims, err := q.Claim(t.Context(), ids)
		if err != nil || claims[0].Duplicate || claims[1].Duplicate {
			t.Fatalf("%+v, %v", claims, err)
		}
		if !q.PrivateDeduplication() {
			t.Error("the server would take the two for one")
		}
		first := s.write(0, message{body: "m", group: "g", deduplication: "d"})
		q.Settle(claims, []consumer.Written{{Offset: first}, {Offset: -1, Err: consumer.ErrUnavailable}})
		again, err := q.Claim(t.Context(), ids)
		if err != nil || !again[0].Duplicate || again[1].Duplicate {
			t.Errorf("%+v, %v; want the first known", again, err)
		}
		q.Settle(again, []consumer.Written{{}, {Offset: -1, Err: consumer.ErrUnavailable}})
	})
}

// What this process has seen acknowledged comes with the first receive, as far
// as it fits: who gets a part of a group locks the rest of it.
func TestFIFOReceiveIsWhole(t *testing.T) {
	bubble(t, 2, func(t *testing.T, s *stack) {
		q := s.fifo()
		s.wantNone(q, 0)
		for round := range 300 {
			want := numbered(fmt.Sprintf("%d-", round), 4)
			for _, body := range want {
				s.write(int64(round%2), grouped("g", body)...)
			}
			got := s.receive(q, 0)
			if !slices.Equal(bodies(got), want) {
				t.Fatalf("round %d: received %v, want %v", round, bodies(got), want)
			}
			s.delete(q, got...)
		}
	})
}
