package worker_test

import (
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"sqsgate/worker"
)

// When does a message come back after each outcome of its first receive?
func TestOutcomes(t *testing.T) {
	t.Parallel()
	const never = time.Duration(-1)
	for name, test := range map[string]struct {
		first func() worker.Outcome
		back  time.Duration
	}{
		"ack":              {worker.Ack, never},
		"drop":             {worker.Drop, never},
		"retry":            {worker.Retry, 0},
		"retry after":      {after(5 * time.Second), 5 * time.Second},
		"rounded up":       {after(5*time.Second + 1), 6 * time.Second},
		"under a second":   {after(time.Millisecond), time.Second},
		"after nothing":    {after(0), 0},
		"after less":       {after(-time.Hour), 0},
		"unfinished":       {worker.Unfinished, 30 * time.Second},
		"no outcome":       {func() worker.Outcome { return worker.Outcome{} }, 30 * time.Second},
		"panic":            {func() worker.Outcome { panic("fault of a test") }, 30 * time.Second},
		"end of goroutine": {func() worker.Outcome { runtime.Goexit(); return worker.Ack() }, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stack) {
				url := s.create("q", nil)
				seen := newJournal()
				// With a wait of 7 s no poll ends at the moment the message comes back.
				o := worker.Options{QueueURL: url, Wait: 7 * time.Second}
				o.Handler = func(_ context.Context, m worker.Message) worker.Outcome {
					if seen.add(m) > 1 {
						return worker.Ack()
					}
					return test.first()
				}
				r := s.run(o)
				s.send(url, "x")
				s.pass(max(test.back, 0) + 2*time.Minute)
				s.expect(url, "0", "0")
				notes := seen.all()
				want := 2
				if test.back == never {
					want = 1
				}
				if len(notes) != want {
					t.Fatalf("handled %v, want %d times", notes, want)
				}
				if want == 2 {
					if got := notes[1].at - notes[0].at; got < test.back || got > test.back+time.Second {
						t.Errorf("came back after %s, want %s", got, test.back)
					}
					if notes[1].count != 2 {
						t.Errorf("came back with receive count %d", notes[1].count)
					}
				}
				if got := r.log.count("a retry is cut"); got != 0 {
					t.Errorf("%d warnings of a cut", got)
				}
				if err := r.end(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func after(d time.Duration) func() worker.Outcome {
	return func() worker.Outcome { return worker.RetryAfter(d) }
}

// No retry is later than 12 hours after the receive; these count from there, not
// from the outcome.
func TestRetryAfterIsCut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ takes, after time.Duration }{
		"at once":        {0, math.MaxInt64},
		"after 11 hours": {11 * time.Hour, 12 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stack) {
				url := s.create("q", map[string]string{"VisibilityTimeout": "600"})
				started := make(chan struct{})
				o := quiet(url)
				o.StopTimeout = 12 * time.Hour
				o.Handler = func(ctx context.Context, _ worker.Message) worker.Outcome {
					close(started)
					if err := pass(ctx, test.takes); err != nil {
						t.Error(err)
					}
					return worker.RetryAfter(test.after)
				}
				s.send(url, "x")
				begin := time.Now()
				r := s.run(o)
				<-started
				must(t, r.end()) // nobody receives while the hours pass
				if got := r.log.count("level=WARN msg=\"a retry is cut to what remains of 12 hours"); got != 1 {
					t.Errorf("%d warnings", got)
				}
				s.pass(12*time.Hour - 5*time.Second - time.Since(begin))
				s.expect(url, "0", "1")
				s.pass(6 * time.Second)
				s.expect(url, "1", "0")
			})
		})
	}
}

// A message that is dropped at its last allowed receive is in the dead-letter
// queue, once; one that is dropped before is nowhere.
func TestDropAtTheLastReceive(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", ".fifo"} {
		t.Run("q"+suffix, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stack) {
				dead := s.create("dead"+suffix, nil)
				url := s.create("q"+suffix, redrive("dead"+suffix, 3))
				seen := newJournal()
				s.run(worker.Options{QueueURL: url, Handler: func(_ context.Context, m worker.Message) worker.Outcome {
					n := seen.add(m)
					if m.Body == "early" || n == 3 {
						return worker.Drop()
					}
					return worker.Retry()
				}})
				for _, body := range []string{"early", "late", "later"} {
					if suffix == "" {
						s.send(url, body)
					} else {
						s.sendGroup(url, "g", body)
					}
				}
				s.pass(time.Hour)
				s.expect(url, "0", "0")
				if got := len(seen.all()); got != 1+3+3 {
					t.Errorf("handled %d times: %s", got, seen.bodies())
				}
				if got := s.drain(dead); len(got) != 2 || got[0]+got[1] != "latelater" && got[0]+got[1] != "laterlate" {
					t.Errorf("the dead-letter queue has %v", got)
				}
			})
		})
	}
}

// A policy that comes while the Worker runs is seen, and so is its end.
func TestPolicyIsReadAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		dead := s.create("dead", nil)
		url := s.create("q", nil)
		s.run(worker.Options{QueueURL: url, Handler: func(context.Context, worker.Message) worker.Outcome { return worker.Drop() }})
		set := func(attributes map[string]string) {
			setAttributes(t, s.client, url, attributes)
			s.pass(2 * time.Minute)
		}
		s.send(url, "before")
		set(redrive("dead", 1))
		s.send(url, "during")
		s.pass(time.Minute)
		set(map[string]string{"RedrivePolicy": ""})
		s.send(url, "after")
		s.pass(time.Minute)
		s.expect(url, "0", "0")
		if got := s.drain(dead); len(got) != 1 || got[0] != "during" {
			t.Errorf("the dead-letter queue has %v", got)
		}
	})
}

// A message that is dropped is not returned for ever when its queue does not move
// it: without the dead-letter queue, or in one whose receive count goes on from the
// source.
func TestDropWhereNothingMoves(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", ".fifo"} {
		t.Run("gone"+suffix, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stack) {
				dead := s.create("dead"+suffix, nil)
				url := s.create("q"+suffix, redrive("dead"+suffix, 2))
				_, err := s.client.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &dead})
				must(t, err)
				s.dropAll(url, suffix, 3)
			})
		})
		t.Run("carried on"+suffix, func(t *testing.T) {
			bubble(t, func(_ *testing.T, s *stack) {
				s.create("last"+suffix, nil)
				dead := s.create("dead"+suffix, redrive("last"+suffix, 2))
				url := s.create("q"+suffix, redrive("dead"+suffix, 3))
				s.run(worker.Options{QueueURL: url, Handler: func(context.Context, worker.Message) worker.Outcome { return worker.Retry() }})
				s.dropAll(dead, suffix, 1, url)
			})
		})
	}
}

// dropAll sends a message, has a Worker drop it whenever it comes at url, at its
// first receive aside, and checks how often that was.
func (s *stack) dropAll(url, suffix string, want int, sendTo ...string) {
	s.t.Helper()
	for _, to := range append(sendTo, url)[:1] {
		if suffix == "" {
			s.send(to, "x")
		} else {
			s.sendGroup(to, "g", "x")
		}
	}
	seen := newJournal()
	r := s.run(worker.Options{QueueURL: url, Handler: func(_ context.Context, m worker.Message) worker.Outcome {
		switch n := seen.add(m); {
		case n > 20: // for ever
			return worker.Ack()
		case m.ReceiveCount == 1:
			return worker.Retry()
		}
		return worker.Drop()
	}})
	s.pass(3 * time.Minute)
	s.expect(url, "0", "0")
	if got := len(seen.all()); got != want {
		s.t.Errorf("handled %d times, want %d", got, want)
	}
	if got := r.log.count("level=WARN msg=\"a dropped message is deleted, since its queue does not move it"); got != 1 {
		s.t.Errorf("%d warnings", got)
	}
}
