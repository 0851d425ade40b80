package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"sqsgate/worker"
)

// A graceful stop lets handlers finish and gives back at once what none has begun.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", ".fifo"} {
		t.Run("q"+suffix, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stack) {
				url := s.create("q"+suffix, nil)
				for i := range 8 {
					if suffix == "" {
						s.send(url, fmt.Sprint(i))
					} else { // two groups, of which the second waits for its handler
						s.sendGroup(url, fmt.Sprint("g", i/4), fmt.Sprint(i))
					}
				}
				seen := newJournal()
				started := make(chan struct{})
				r := s.run(worker.Options{QueueURL: url, Concurrency: 1, Handler: func(ctx context.Context, m worker.Message) worker.Outcome {
					seen.add(m)
					close(started)
					if err := pass(ctx, 25*time.Second); err != nil {
						t.Error(err)
					}
					return worker.Ack()
				}})
				<-started
				s.pass(time.Second)
				s.expect(url, "0", "8")
				r.stop()
				s.pass(time.Second)
				if v, f := s.counts(url); suffix == "" && (v != "7" || f != "1") {
					t.Errorf("after the stop %s visible, %s in flight", v, f)
				}
				begin := time.Now()
				if err := r.end(); err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took > 24*time.Second {
					t.Errorf("the stop took %s", took)
				}
				s.expect(url, "7", "0")
				if got := len(seen.all()); got != 1 {
					t.Errorf("%d messages were handled", got)
				}
			})
		})
	}
}

// Handlers that go on are cancelled, and then left behind.
func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ignores bool
		timeout time.Duration
		takes   time.Duration
		want    error
	}{
		"listens":       {false, 0, 30 * time.Second, nil},
		"at once":       {false, -1, 0, nil},
		"ignores":       {true, 7 * time.Second, 12 * time.Second, worker.ErrAbandoned},
		"listens later": {false, time.Minute, time.Minute, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stack) {
				url := s.create("q", map[string]string{"VisibilityTimeout": "20"})
				s.send(url, "x")
				started, left := make(chan struct{}), make(chan struct{})
				r := s.run(worker.Options{
					QueueURL: url, StopTimeout: test.timeout,
					Handler: func(ctx context.Context, _ worker.Message) worker.Outcome {
						close(started)
						err := pass(ctx, 10*time.Hour)
						if test.ignores {
							<-left
						}
						if !errors.Is(err, worker.ErrStopping) {
							t.Errorf("cause %v", err)
						}
						return worker.Retry()
					},
				})
				<-started
				begin := time.Now()
				err := r.end()
				if !errors.Is(err, test.want) || test.want == nil && err != nil {
					t.Errorf("Run returned %v", err)
				}
				if took := time.Since(begin); took != test.takes {
					t.Errorf("the stop took %s", took)
				}
				s.pass(20 * time.Second)
				s.expect(url, "1", "0") // by Retry, or by the end of its lease
				close(left)
			})
		})
	}
}

// The longest StopTimeout there is means to wait for the handlers.
func TestStopIsPatient(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		url := s.create("q", nil)
		s.send(url, "x")
		started := make(chan struct{})
		r := s.run(worker.Options{QueueURL: url, StopTimeout: math.MaxInt64, Handler: func(ctx context.Context, _ worker.Message) worker.Outcome {
			close(started)
			if err := pass(ctx, 5*time.Minute); err != nil {
				t.Errorf("cancelled with the cause %v", err)
			}
			return worker.Ack()
		}})
		<-started
		if err := r.end(); err != nil {
			t.Errorf("Run returned %v", err)
		}
		s.expect(url, "0", "0")
	})
}

func TestCloseAndRun(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		o := worker.Options{Client: s.client, QueueURL: s.create("q", nil), Handler: func(context.Context, worker.Message) worker.Outcome { return worker.Ack() }}
		w, err := worker.New(o)
		must(t, err)
		result := make(chan error, 1)
		go func() { result <- w.Run(t.Context()) }()
		s.pass(time.Minute)
		if err := w.Run(t.Context()); !errors.Is(err, worker.ErrClosed) {
			t.Errorf("a second Run: %v", err)
		}
		must(t, w.Close())
		must(t, w.Close())
		must(t, <-result)
		w, err = worker.New(o)
		must(t, err)
		must(t, w.Close())
		if err := w.Run(t.Context()); !errors.Is(err, worker.ErrClosed) {
			t.Errorf("Run after Close: %v", err)
		}
	})
}

// A queue that is not there, or goes away, ends Run.
func TestQueueThatIsGone(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		url := s.create("q", nil)
		o := worker.Options{QueueURL: url + "x", Handler: func(context.Context, worker.Message) worker.Outcome { return worker.Ack() }}
		var gone *types.QueueDoesNotExist
		if err := <-s.run(o).result; !errors.As(err, &gone) {
			t.Errorf("no queue: %v", err)
		}
		o.QueueURL = url
		r := s.run(o)
		s.pass(time.Minute)
		_, err := s.client.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &url})
		must(t, err)
		if err := <-r.result; !errors.As(err, &gone) {
			t.Errorf("the queue was deleted: %v", err)
		}
	})
}

// Workers that die in the middle of everything lose nothing: what they held comes
// back when its lease ends.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", ".fifo"} {
		t.Run("q"+suffix, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stack) {
				url := s.create("q"+suffix, nil)
				const n = 40
				for i := range n {
					if suffix == "" {
						s.send(url, fmt.Sprint(i))
					} else {
						s.sendGroup(url, fmt.Sprint("g", i%5), fmt.Sprint(i))
					}
				}
				var mu sync.Mutex
				begun, done := map[string]int{}, map[string]int{}
				var order []string
				handler := func(ctx context.Context, m worker.Message) worker.Outcome {
					mu.Lock()
					begun[m.Body]++
					mu.Unlock()
					if pass(ctx, 700*time.Millisecond) != nil {
						return worker.Unfinished()
					}
					mu.Lock()
					done[m.Body]++
					order = append(order, m.Body)
					mu.Unlock()
					return worker.Ack()
				}
				client, kill := s.connect()
				first := s.run(worker.Options{Client: client, QueueURL: url, Handler: handler, Concurrency: 3, StopTimeout: -1})
				s.pass(2 * time.Second) // in the middle of the third round
				kill()
				killed := time.Now()
				if err := first.end(); err != nil && !errors.Is(err, worker.ErrAbandoned) {
					t.Error(err)
				}
				if took := time.Since(killed); took > 10*time.Second {
					t.Errorf("without a server the stop took %s", took)
				}
				s.run(worker.Options{QueueURL: url, Handler: handler, Concurrency: 5})
				s.pass(3 * time.Minute)
				s.expect(url, "0", "0")
				mu.Lock()
				defer mu.Unlock()
				again := 0
				for i := range n {
					if done[fmt.Sprint(i)] == 0 {
						t.Errorf("message %d is lost", i)
					}
					again += begun[fmt.Sprint(i)] - 1
				}
				if again == 0 {
					t.Error("nothing was under way when the worker was killed")
				}
				if suffix != "" && !inOrder(order, 5) {
					t.Errorf("done in the order %v", order)
				}
			})
		})
	}
}

// inOrder tells whether the first handling of each message followed the order of
// its group, of which there are several, in turn.
func inOrder(bodies []string, groups int) bool {
	last := make([]int, groups)
	var seen []string
	for _, body := range bodies {
		if slices.Contains(seen, body) {
			continue
		}
		seen = append(seen, body)
		var n int
		if _, err := fmt.Sscan(body, &n); err != nil || n < last[n%groups] {
			return false
		}
		last[n%groups] = n
	}
	return true
}
