package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"sqsgate/worker"
)

// order checks what handlers of a FIFO queue see: of a group one message at a
// time, and none before all earlier ones are done.
type order struct {
	t      testing.TB
	mu     sync.Mutex
	busy   map[string]bool
	next   map[string]int // first message of a group that is not done
	atOnce int
	most   int
	tries  int
}

func newOrder(t testing.TB) *order {
	return &order{t: t, busy: map[string]bool{}, next: map[string]int{}}
}

// enter notes the start of message n of its group.
func (o *order) enter(m worker.Message) (n int) {
	if _, err := fmt.Sscanf(m.Body, "%d", &n); err != nil {
		o.t.Error(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tries++
	o.atOnce++
	o.most = max(o.most, o.atOnce)
	if o.busy[m.GroupID] {
		o.t.Errorf("two handlers of group %s", m.GroupID)
	}
	if n != o.next[m.GroupID] {
		o.t.Errorf("message %d of group %s, but %d is not done", n, m.GroupID, o.next[m.GroupID])
	}
	o.busy[m.GroupID] = true
	return n
}

// leave notes the end, and whether the message is done.
func (o *order) leave(m worker.Message, done bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.atOnce--
	o.busy[m.GroupID] = false
	if done {
		o.next[m.GroupID]++
	}
}

func (o *order) done() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, next := range o.next {
		n += next
	}
	return n
}

// Two Workers share a FIFO queue whose handlers often want their message again.
func TestOrderUnderRetries(t *testing.T) {
	t.Parallel()
	for name, attributes := range map[string]map[string]string{"plain": nil, "redrive": redrive("dead.fifo", 1000)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stack) {
				const groups, each = 6, 25
				dead := s.create("dead.fifo", nil)
				url := s.create("q.fifo", attributes)
				var sending sync.WaitGroup
				for g := range groups {
					sending.Go(func() {
						for n := range each {
							s.sendGroup(url, fmt.Sprint("g", g), fmt.Sprint(n))
						}
					})
				}
				sending.Wait()
				check := newOrder(t)
				random := rand.New(rand.NewPCG(1, 2))
				var mu sync.Mutex
				handler := func(ctx context.Context, m worker.Message) worker.Outcome {
					check.enter(m)
					mu.Lock()
					luck, took := random.IntN(10), time.Duration(random.IntN(1000))*time.Millisecond
					mu.Unlock()
					if err := pass(ctx, took); err != nil {
						t.Error(err)
					}
					check.leave(m, luck < 6)
					switch luck {
					case 6:
						return worker.Retry()
					case 7:
						return worker.RetryAfter(took * 5)
					case 8:
						return worker.Unfinished()
					case 9:
						panic("fault of a test")
					}
					return worker.Ack()
				}
				for range 2 {
					s.run(worker.Options{QueueURL: url, Handler: handler, Concurrency: 4})
				}
				for range 120 {
					if check.done() == groups*each {
						break
					}
					s.pass(time.Minute)
				}
				s.pass(time.Minute)
				s.expect(url, "0", "0")
				if got := check.done(); got != groups*each {
					t.Errorf("%d of %d messages are done", got, groups*each)
				}
				if check.most < 4 {
					t.Errorf("at most %d groups were handled at once", check.most)
				}
				if check.tries < groups*each*5/4 {
					t.Errorf("only %d tries", check.tries)
				}
				if got := s.drain(dead); len(got) > 0 {
					t.Errorf("dead letters %v", got)
				}
			})
		})
	}
}

// Messages behind one that fails are not tried, so their receives must not be
// used up: only the poison message reaches the dead-letter queue.
func TestPoisonTakesNobodyWithIt(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		dead := s.create("dead.fifo", nil)
		url := s.create("q.fifo", redrive("dead.fifo", 2))
		s.sendGroup(url, "g", "poison", "1", "2", "3")
		seen := newJournal()
		s.run(worker.Options{QueueURL: url, Handler: func(_ context.Context, m worker.Message) worker.Outcome {
			seen.add(m)
			if m.Body == "poison" {
				return worker.Retry()
			}
			return worker.Ack()
		}})
		s.pass(2 * time.Minute)
		if got := seen.bodies(); got != "poison poison 1 2 3" {
			t.Errorf("handled %s", got)
		}
		for _, n := range seen.all()[2:] {
			if n.count != 1 {
				t.Errorf("%v was received in vain", n)
			}
		}
		if got := s.drain(dead); strings.Join(got, " ") != "poison" {
			t.Errorf("dead letters %v", got)
		}
	})
}

// After the delete of a message has failed, the message comes again before its
// successors do, also those that were here already.
func TestFailedDeleteKeepsOrder(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		url := s.create("q.fifo", nil)
		s.sendGroup(url, "g", "1", "2", "3", "4")
		s.sendGroup(url, "h", "x")
		var mu sync.Mutex
		broken := true
		f := &faulty{Client: s.client, onDelete: func(*sqs.DeleteMessageBatchInput) (*sqs.DeleteMessageBatchOutput, error) {
			mu.Lock()
			defer mu.Unlock()
			if broken {
				return nil, errors.New("no way to the server")
			}
			return nil, nil
		}}
		seen := newJournal()
		r := s.run(worker.Options{Client: f, QueueURL: url, Handler: func(_ context.Context, m worker.Message) worker.Outcome {
			seen.add(m)
			return worker.Ack()
		}})
		s.pass(20 * time.Second)
		if got := seen.bodies(); got != "1 x" && got != "x 1" {
			t.Errorf("handled %s while nothing could be deleted", got)
		}
		s.pass(30 * time.Second) // the leases have ended
		if got := r.log.count("could not be settled"); got != 2 {
			t.Errorf("%d failures", got)
		}
		mu.Lock()
		broken = false
		mu.Unlock()
		s.pass(time.Minute)
		s.expect(url, "0", "0")
		inGroup := strings.ReplaceAll(seen.bodies(), "x", "")
		if got := strings.Join(strings.Fields(inGroup), " "); got != "1 1 2 3 4" {
			t.Errorf("handled %s", got)
		}
	})
}

// A group whose head has lost its lease starts again there, and not while the
// old handler is still at it.
func TestLostHeadKeepsOrder(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		url := s.create("q.fifo", nil)
		s.sendGroup(url, "g", "1", "2", "3")
		begin := time.Now()
		f := &faulty{Client: s.client, onVisible: func(*sqs.ChangeMessageVisibilityBatchInput) (*sqs.ChangeMessageVisibilityBatchOutput, error) {
			if time.Since(begin) < 30*time.Second {
				return nil, errors.New("no way to the server")
			}
			return nil, nil
		}}
		seen := newJournal()
		s.run(worker.Options{Client: f, QueueURL: url, Handler: func(ctx context.Context, m worker.Message) worker.Outcome {
			if seen.add(m) == 1 && m.Body == "1" {
				if err := pass(ctx, time.Hour); !errors.Is(err, worker.ErrLeaseLost) {
					t.Errorf("cause %v", err)
				}
				must(t, pass(context.WithoutCancel(ctx), 20*time.Second)) // slow to see it
			}
			return worker.Ack()
		}})
		s.pass(5 * time.Minute)
		s.expect(url, "0", "0")
		if got := seen.bodies(); got != "1 1 2 3" {
			t.Errorf("handled %s", got)
		}
		if again := seen.all()[1]; again.at < 50*time.Second || again.count != 2 {
			t.Errorf("the second handling of the message: %+v, want it after 50s as receive 2", again)
		}
	})
}

// Messages of a standard queue go side by side, also those of one group.
func TestStandardQueuesAreParallel(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		url := s.create("q", nil)
		const n = 60
		for i := range n {
			s.send(url, fmt.Sprint(i))
		}
		f := &faulty{Client: s.client}
		var mu sync.Mutex
		atOnce, most := 0, 0
		seen := newJournal()
		s.run(worker.Options{Client: f, QueueURL: url, Concurrency: 20, Handler: func(ctx context.Context, m worker.Message) worker.Outcome {
			mu.Lock()
			atOnce++
			most = max(most, atOnce)
			mu.Unlock()
			seen.add(m)
			must(t, pass(ctx, time.Second))
			mu.Lock()
			atOnce--
			mu.Unlock()
			return worker.Ack()
		}})
		s.pass(time.Minute)
		s.expect(url, "0", "0")
		mu.Lock()
		defer mu.Unlock()
		if most != 20 {
			t.Errorf("%d handlers at once", most)
		}
		if took := seen.all()[n-1].at; len(seen.all()) != n || took > 5*time.Second {
			t.Errorf("%d messages in %s", len(seen.all()), took)
		}
		deletes, receives, _ := f.calls()
		if deletes > n/2 {
			t.Errorf("%d calls for %d deletes", deletes, n)
		}
		if len(receives) > 15 {
			t.Errorf("%d receives, of %v messages", len(receives), receives)
		}
	})
}
