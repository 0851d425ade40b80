package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"sqsgate/worker"
)

func setAttributes(t testing.TB, client *sqs.Client, url string, attributes map[string]string) {
	t.Helper()
	_, err := client.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: attributes})
	must(t, err)
}

// While a handler runs, nobody else gets its message, nor those that wait for a
// handler.
func TestLeasesAreRenewed(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		url := s.create("q", map[string]string{"VisibilityTimeout": "10"})
		s.send(url, "a", "b", "c")
		seen := newJournal()
		o := worker.Options{QueueURL: url, Concurrency: 1, Handler: func(ctx context.Context, m worker.Message) worker.Outcome {
			seen.add(m)
			if err := pass(ctx, 5*time.Minute); err != nil {
				t.Error(err)
			}
			return worker.Ack()
		}}
		s.run(o)
		s.pass(time.Minute)
		s.run(o)
		s.expect(url, "0", "3")
		s.pass(20 * time.Minute)
		s.expect(url, "0", "0")
		for _, n := range seen.all() {
			if n.count != 1 {
				t.Errorf("%v was received again", n)
			}
		}
		if got := len(seen.all()); got != 3 {
			t.Errorf("handled %s", seen.bodies())
		}
	})
}

// quiet are options for hours of virtual time: while a handler runs, nothing is
// received, and the attributes are hardly read again.
func quiet(url string) worker.Options {
	return worker.Options{QueueURL: url, Concurrency: 1, Prefetch: -1, Refresh: 24 * time.Hour}
}

// SQS ends a lease 12 hours after the receive; the handler is told.
func TestLeaseEndsAfterTwelveHours(t *testing.T) {
	t.Parallel()
	for _, visibility := range []time.Duration{0, 7 * time.Hour, 12 * time.Hour} {
		t.Run(visibility.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stack) {
				url := s.create("q", map[string]string{"VisibilityTimeout": "600"})
				seen := newJournal()
				cause := make(chan error, 1)
				o := quiet(url)
				o.Visibility = visibility
				o.Handler = func(ctx context.Context, m worker.Message) worker.Outcome {
					if seen.add(m) > 1 {
						return worker.Ack()
					}
					cause <- pass(ctx, 20*time.Hour)
					return worker.Retry()
				}
				r := s.run(o)
				s.send(url, "x")
				s.pass(12*time.Hour + time.Minute)
				if err := <-cause; !errors.Is(err, worker.ErrLeaseLost) {
					t.Errorf("the handler's context has the cause %v", err)
				}
				notes := seen.all()
				if len(notes) != 2 {
					t.Fatalf("handled %v", notes)
				}
				if got := notes[1].at - notes[0].at; got < 12*time.Hour-5*time.Second || got > 12*time.Hour+time.Second {
					t.Errorf("came back after %s", got)
				}
				if got := r.log.count("the lease cannot be renewed beyond 12 hours"); got != 1 {
					t.Errorf("%d warnings of the bound", got)
				}
				if got := r.log.count("the lease of a message is lost"); got != 1 {
					t.Errorf("%d warnings of the loss", got)
				}
			})
		})
	}
}

// SQS refuses to renew the lease of a message that is gone: the handler is told at
// the next renewal, also if that would have been cut to the 12 hours.
func TestRefusedRenewalCancels(t *testing.T) {
	t.Parallel()
	for _, visibility := range []time.Duration{30 * time.Second, 11 * time.Hour} {
		t.Run(visibility.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stack) {
				url := s.create("q", nil)
				started, ended := make(chan struct{}), make(chan error, 1)
				o := quiet(url)
				o.Visibility = visibility
				o.Handler = func(ctx context.Context, _ worker.Message) worker.Outcome {
					close(started)
					ended <- pass(ctx, 24*time.Hour)
					return worker.Ack()
				}
				s.run(o)
				s.send(url, "x")
				<-started
				_, err := s.client.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &url})
				must(t, err)
				begin := time.Now()
				if err := <-ended; !errors.Is(err, worker.ErrLeaseLost) {
					t.Errorf("cause %v", err)
				}
				if took := time.Since(begin); took > visibility/2+time.Second {
					t.Errorf("the handler was told after %s", took)
				}
			})
		})
	}
}

// hanging is a client whose changes of visibility get no answer.
type hanging struct{ worker.SQS }

func (hanging) ChangeMessageVisibilityBatch(ctx context.Context, _ *sqs.ChangeMessageVisibilityBatchInput, _ ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityBatchOutput, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A renewal that gets no answer does not keep the handler from being told in time.
func TestRenewalsThatHang(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		url := s.create("q", map[string]string{"VisibilityTimeout": "10"})
		s.send(url, "x")
		seen := newJournal()
		causes := make(chan error, 1)
		s.run(worker.Options{Client: hanging{s.client}, QueueURL: url, Handler: func(ctx context.Context, m worker.Message) worker.Outcome {
			if seen.add(m) == 1 {
				begin := time.Now()
				causes <- pass(ctx, time.Minute)
				if took := time.Since(begin); took > 10*time.Second {
					t.Errorf("the handler was told after %s", took)
				}
			}
			return worker.Ack()
		}})
		if err := <-causes; !errors.Is(err, worker.ErrLeaseLost) {
			t.Errorf("cause %v", err)
		}
		s.pass(time.Minute)
		s.expect(url, "0", "0")
	})
}

// faulty is a client whose calls can be made to fail.
type faulty struct {
	*sqs.Client
	mu         sync.Mutex
	onDelete   func(*sqs.DeleteMessageBatchInput) (*sqs.DeleteMessageBatchOutput, error) // nil, nil = go on
	onVisible  func(*sqs.ChangeMessageVisibilityBatchInput) (*sqs.ChangeMessageVisibilityBatchOutput, error)
	deletes    int
	receives   []int32
	visibility []int32
}

func (f *faulty) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, o ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	f.mu.Lock()
	f.receives = append(f.receives, in.MaxNumberOfMessages)
	f.mu.Unlock()
	return f.Client.ReceiveMessage(ctx, in, o...)
}

func (f *faulty) DeleteMessageBatch(ctx context.Context, in *sqs.DeleteMessageBatchInput, o ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	f.mu.Lock()
	f.deletes++
	on := f.onDelete
	f.mu.Unlock()
	if on != nil {
		if out, err := on(in); out != nil || err != nil {
			return out, err
		}
	}
	return f.Client.DeleteMessageBatch(ctx, in, o...)
}

func (f *faulty) ChangeMessageVisibilityBatch(ctx context.Context, in *sqs.ChangeMessageVisibilityBatchInput, o ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityBatchOutput, error) {
	f.mu.Lock()
	for _, e := range in.Entries {
		f.visibility = append(f.visibility, e.VisibilityTimeout)
	}
	on := f.onVisible
	f.mu.Unlock()
	if on != nil {
		if out, err := on(in); out != nil || err != nil {
			return out, err
		}
	}
	return f.Client.ChangeMessageVisibilityBatch(ctx, in, o...)
}

// calls tells what was called: deletes, and the numbers of receives and changes.
func (f *faulty) calls() (deletes int, receives, visibility []int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.deletes, slices.Clone(f.receives), slices.Clone(f.visibility)
}

// Renewals that fail are repeated while the lease lasts; then the handler is
// cancelled, and whoever receives the message next finds it unharmed.
func TestRenewalsThatFail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		outage time.Duration
		lost   bool
	}{"short": {14 * time.Second, false}, "long": {time.Minute, true}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stack) {
				url := s.create("q", nil)
				s.send(url, "x")
				begin := time.Now()
				f := &faulty{Client: s.client, onVisible: func(*sqs.ChangeMessageVisibilityBatchInput) (*sqs.ChangeMessageVisibilityBatchOutput, error) {
					if at := time.Since(begin); at > 14*time.Second && at < 14*time.Second+test.outage {
						return nil, errors.New("no way to the server")
					}
					return nil, nil
				}}
				ended := make(chan error, 10)
				s.run(worker.Options{Client: f, QueueURL: url, Handler: func(ctx context.Context, _ worker.Message) worker.Outcome {
					ended <- pass(ctx, 2*time.Minute)
					return worker.Ack()
				}})
				err := <-ended
				if test.lost != errors.Is(err, worker.ErrLeaseLost) || !test.lost && err != nil {
					t.Errorf("the handler ended with %v", err)
				}
				if at := time.Since(begin).Round(time.Second); test.lost && at != 30*time.Second {
					t.Errorf("the handler was told after %s", at)
				}
				s.pass(5 * time.Minute)
				s.expect(url, "0", "0")
			})
		})
	}
}

// The server counts from before the client has the answer: when it finds the rest
// of the 12 hours too long, a little less is asked for. What it refuses although
// much is left is not asked for again.
func TestBoundOfTheServersClock(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		after  time.Duration
		most   int32         // what the server accepts
		takes  time.Duration // of each of its answers
		asked  string
		failed int
	}{
		"beyond it":     {24 * time.Hour, 43198, 0, "[43200 43198]", 0},
		"exactly":       {12 * time.Hour, 43199, 0, "[43200 43198]", 0},
		"just below":    {12*time.Hour - time.Second, 43198, 0, "[43199 43198]", 0},
		"slow answers":  {24 * time.Hour, 43199, 5 * time.Second, "[43200 43188]", 0},
		"far below":     {time.Hour, 0, 0, "[3600]", 1},
		"always beyond": {24 * time.Hour, 0, 0, "[43200 43198]", 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stack) {
				url := s.create("q", nil)
				s.send(url, "x")
				f := &faulty{Client: s.client, onVisible: func(in *sqs.ChangeMessageVisibilityBatchInput) (*sqs.ChangeMessageVisibilityBatchOutput, error) {
					s.pass(test.takes)
					if in.Entries[0].VisibilityTimeout <= test.most {
						return nil, nil
					}
					return &sqs.ChangeMessageVisibilityBatchOutput{Failed: []types.BatchResultErrorEntry{failedEntry(in.Entries[0].Id, "InvalidParameterValue", true)}}, nil
				}}
				done := make(chan struct{})
				r := s.run(worker.Options{Client: f, QueueURL: url, Handler: func(context.Context, worker.Message) worker.Outcome {
					defer close(done)
					return worker.RetryAfter(test.after)
				}})
				<-done
				s.pass(25 * time.Second)
				_, _, changes := f.calls()
				if got := fmt.Sprint(changes); got != test.asked {
					t.Errorf("asked for %s, want %s", got, test.asked)
				}
				s.expect(url, "0", "1")
				if got := r.log.count("could not be settled"); got != test.failed {
					t.Errorf("%d failures", got)
				}
			})
		})
	}
}

func failedEntry(id *string, code string, sender bool) types.BatchResultErrorEntry {
	return types.BatchResultErrorEntry{Id: id, Code: &code, SenderFault: sender}
}
