package consumer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sqsgate/consumer"
)

// A receive that fails because a body cannot be read again does not count, but
// where an earlier answer to it may have been seen.
func TestFailedRereadIsNoReceive(t *testing.T) {
	for name, c := range map[string]struct {
		fifo    bool
		attempt string
		count   int
	}{
		"standard":           {false, "", 2},
		"fifo":               {true, "", 2},
		"fifo, with attempt": {true, "r", 3},
	} {
		for way, goOn := range goOnWith {
			t.Run(name+", "+way, func(t *testing.T) {
				bubble(t, 1, func(t *testing.T, s *stack) {
					q := s.c.Queue(spec(c.fifo))
					s.write(0, grouped("g", "m")...)
					s.hide(q, s.want(q, "m")["m"], 0)
					s.control.Fail("StreamRead", 1, unavailable)
					request := tenForAMinute
					request.AttemptID = c.attempt
					if got, err := q.Receive(context.Background(), request); !errors.Is(err, consumer.ErrUnavailable) {
						t.Fatalf("received %v, %v without a body", bodies(got), err)
					}
					after(t, time.Second)
					goOn(s)
					q = s.c.Queue(spec(c.fifo))
					m := s.want(q, "m")["m"]
					if m.ReceiveCount != c.count {
						t.Errorf("the count is %d, want %d", m.ReceiveCount, c.count)
					}
					s.delete(q, m)
					s.wantCounts(q, 0, 0, 0)
				})
			})
		}
	}
}
