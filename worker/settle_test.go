package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"sqsgate/worker"
)

// Of a batch, entries that fail are tried again, those that are refused are not,
// and the others are not touched by it.
func TestEntriesFailAlone(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		url := s.create("q", nil)
		const n = 30
		for i := range n {
			s.send(url, fmt.Sprint(i))
		}
		var mu sync.Mutex
		handles := map[string]string{} // body by receipt handle
		tries := map[string]int{}
		f := &faulty{}
		f.Client = s.client
		f.onDelete = func(in *sqs.DeleteMessageBatchInput) (*sqs.DeleteMessageBatchOutput, error) {
			rest := keep(in, func(e types.DeleteMessageBatchRequestEntry) bool {
				mu.Lock()
				defer mu.Unlock()
				body := handles[*e.ReceiptHandle]
				tries[body]++
				return body != "5" && (body != "6" || tries["6"] > 2)
			})
			out := &sqs.DeleteMessageBatchOutput{}
			if len(rest.Entries) > 0 {
				var err error
				if out, err = s.client.DeleteMessageBatch(context.Background(), rest); err != nil {
					return nil, err
				}
			}
			for _, e := range in.Entries {
				mu.Lock()
				switch body := handles[*e.ReceiptHandle]; {
				case body == "5":
					out.Failed = append(out.Failed, failedEntry(e.Id, "ReceiptHandleIsInvalid", true))
				case body == "6" && tries["6"] <= 2:
					out.Failed = append(out.Failed, failedEntry(e.Id, "InternalError", false))
				}
				mu.Unlock()
			}
			return out, nil
		}
		start := make(chan struct{})
		received := make(chan struct{}, n)
		r := s.run(worker.Options{Client: receiver{f, func(m types.Message) {
			mu.Lock()
			handles[*m.ReceiptHandle] = *m.Body
			mu.Unlock()
		}}, QueueURL: url, Concurrency: n, Visibility: time.Hour, Handler: func(context.Context, worker.Message) worker.Outcome {
			received <- struct{}{}
			<-start
			return worker.Ack()
		}})
		for range n {
			<-received
		}
		close(start)
		s.pass(time.Minute)
		s.expect(url, "0", "1")
		mu.Lock()
		defer mu.Unlock()
		for body, got := range tries {
			want := map[string]int{"5": 1, "6": 3}[body]
			if want == 0 {
				want = 1
			}
			if got != want {
				t.Errorf("message %s: %d tries to delete it, want %d", body, got, want)
			}
		}
		if got := r.log.count("could not be settled"); got != 1 {
			t.Errorf("%d failures logged", got)
		}
		if deletes, _, _ := f.calls(); deletes > n/3 {
			t.Errorf("%d calls for %d deletes", deletes, n)
		}
	})
}

// keep is in with the entries for which it holds.
func keep(in *sqs.DeleteMessageBatchInput, holds func(types.DeleteMessageBatchRequestEntry) bool) *sqs.DeleteMessageBatchInput {
	out := &sqs.DeleteMessageBatchInput{QueueUrl: in.QueueUrl}
	for _, e := range in.Entries {
		if holds(e) {
			out.Entries = append(out.Entries, e)
		}
	}
	return out
}

// receiver looks at what is received.
type receiver struct {
	worker.SQS
	see func(types.Message)
}

func (r receiver) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, o ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	out, err := r.SQS.ReceiveMessage(ctx, in, o...)
	if err == nil {
		for _, m := range out.Messages {
			r.see(m)
		}
	}
	return out, err
}

// lossy is a client whose first receive is answered, but the answer is lost.
type lossy struct {
	worker.SQS
	mu   sync.Mutex
	asks []string // ReceiveRequestAttemptId
}

func (l *lossy) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, o ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	l.mu.Lock()
	l.asks = append(l.asks, aws.ToString(in.ReceiveRequestAttemptId))
	first := len(l.asks) == 1
	l.mu.Unlock()
	out, err := l.SQS.ReceiveMessage(ctx, in, o...)
	if first {
		return nil, errors.New("the answer is lost")
	}
	return out, err
}

// The answer to a receive of a FIFO queue may be lost on the way: asked again as
// the same attempt, SQS gives the same messages, and no group stays blocked.
func TestLostAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		url := s.create("q.fifo", nil)
		s.sendGroup(url, "g", "1", "2")
		l := &lossy{SQS: s.client}
		seen := newJournal()
		s.run(worker.Options{Client: l, QueueURL: url, Handler: func(_ context.Context, m worker.Message) worker.Outcome {
			seen.add(m)
			return worker.Ack()
		}})
		s.pass(10 * time.Second)
		if got := seen.bodies(); got != "1 2" {
			t.Errorf("handled %q", got)
		}
		for _, n := range seen.all() {
			if n.count != 1 {
				t.Errorf("%v was received again", n)
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.asks) < 2 || l.asks[0] == "" || l.asks[0] != l.asks[1] {
			t.Errorf("attempts %q", l.asks)
		}
	})
}

// A message that is done stays done when its delete fails while the lease lasts.
func TestDeletesAreRepeated(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		url := s.create("q.fifo", nil)
		s.sendGroup(url, "g", "1", "2")
		begin := time.Now()
		f := &faulty{Client: s.client, onDelete: func(*sqs.DeleteMessageBatchInput) (*sqs.DeleteMessageBatchOutput, error) {
			if time.Since(begin) < 20*time.Second {
				return nil, errors.New("no way to the server")
			}
			return nil, nil
		}}
		seen := newJournal()
		r := s.run(worker.Options{Client: f, QueueURL: url, Handler: func(_ context.Context, m worker.Message) worker.Outcome {
			seen.add(m)
			return worker.Ack()
		}})
		s.pass(2 * time.Minute)
		s.expect(url, "0", "0")
		if got := seen.bodies(); got != "1 2" {
			t.Errorf("handled %s", got)
		}
		if deletes, _, _ := f.calls(); deletes > 20 {
			t.Errorf("%d calls in an outage of 20 s", deletes)
		}
		if got := r.log.count("could not be settled"); got != 0 {
			t.Errorf("%d failures", got)
		}
	})
}

// An outage of the server is sat out, from before the start on.
func TestOutage(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		url := s.create("q", nil)
		s.send(url, "x")
		client, cut := s.connect()
		cut()
		f := &switching{SQS: client}
		seen := newJournal()
		r := s.run(worker.Options{Client: f, QueueURL: url, Handler: func(_ context.Context, m worker.Message) worker.Outcome {
			seen.add(m)
			return worker.Ack()
		}})
		s.pass(10 * time.Minute)
		if tries := r.log.count("the queue is out of reach"); tries < 10 || tries > 200 {
			t.Errorf("%d tries in ten minutes", tries)
		}
		f.set(s.client)
		s.pass(20 * time.Second)
		if got := seen.bodies(); got != "x" {
			t.Errorf("handled %q", got)
		}
		f.set(client)
		s.pass(10 * time.Minute)
		if tries := r.log.count("messages could not be received"); tries < 10 || tries > 200 {
			t.Errorf("%d receives in ten minutes", tries)
		}
		s.send(url, "y")
		f.set(s.client)
		s.pass(20 * time.Second)
		if got := seen.bodies(); got != "x y" {
			t.Errorf("handled %q", got)
		}
	})
}

// switching is a client that becomes another.
type switching struct {
	mu sync.Mutex
	worker.SQS
}

func (c *switching) set(next worker.SQS) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.SQS = next
}

func (c *switching) now() worker.SQS {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.SQS
}

func (c *switching) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, o ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	return c.now().ReceiveMessage(ctx, in, o...)
}

func (c *switching) DeleteMessageBatch(ctx context.Context, in *sqs.DeleteMessageBatchInput, o ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	return c.now().DeleteMessageBatch(ctx, in, o...)
}

func (c *switching) GetQueueAttributes(ctx context.Context, in *sqs.GetQueueAttributesInput, o ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	return c.now().GetQueueAttributes(ctx, in, o...)
}

// Many handlers that are done at once do not wait for each other's deletes.
func TestDeletesOfManyHandlers(t *testing.T) {
	bubble(t, func(t *testing.T, s *stack) {
		url := s.create("q", nil)
		const n = 200
		for i := range n {
			s.send(url, fmt.Sprint(i))
		}
		f := &faulty{Client: s.client, onDelete: func(*sqs.DeleteMessageBatchInput) (*sqs.DeleteMessageBatchOutput, error) {
			s.pass(time.Second) // on the way
			return nil, nil
		}}
		start := make(chan struct{})
		received := make(chan struct{}, n)
		s.run(worker.Options{Client: f, QueueURL: url, Concurrency: n, Visibility: time.Hour, Handler: func(context.Context, worker.Message) worker.Outcome {
			received <- struct{}{}
			<-start
			return worker.Ack()
		}})
		for range n {
			<-received
		}
		close(start)
		s.pass(4 * time.Second)
		s.expect(url, "0", "0")
		if deletes, _, _ := f.calls(); deletes > n/4 {
			t.Errorf("%d calls for %d deletes", deletes, n)
		}
	})
}
