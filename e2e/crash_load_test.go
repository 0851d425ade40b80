//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// load is a mixed load on one queue: senders, and receivers that delete, give
// back, extend or forget what they get. It goes on over failures.
type load struct {
	queue   *Queue
	history *history
	stop    context.CancelFunc
	running sync.WaitGroup
}

const (
	// leaseTime is the visibility timeout of most receives. It spans a restart.
	leaseTime = 3 * time.Second
	// crashSenders and crashReceivers work on each queue.
	crashSenders   = 3
	crashReceivers = 3
	// requestTimeout ends a request whose server is gone.
	requestTimeout = 15 * time.Second
)

// startLoad begins the load, which lasts until wait.
func startLoad(t *testing.T, q *Queue, fifo bool) *load {
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{queue: q, history: newHistory(fifo), stop: cancel}
	for i := range crashSenders {
		l.running.Go(func() { l.send(ctx, fmt.Sprintf("s%d", i)) })
	}
	for i := range crashReceivers {
		l.running.Go(func() { l.receive(ctx, t, fmt.Sprintf("r%d", i)) })
	}
	return l
}

// end stops the load and lets the requests under way finish.
func (l *load) end() {
	l.stop()
	l.running.Wait()
}

// send sends one message after the other. On a FIFO queue a send that failed is
// repeated until it is answered: the group must be without gaps, and the
// deduplication window must keep it without repeats.
func (l *load) send(ctx context.Context, group string) {
	for n := 0; ctx.Err() == nil; n++ {
		if !l.history.fifo && n%5 == 0 {
			l.sendBatch(ctx, group, n)
			n += batchSize - 1
			continue
		}
		body := groupBody(group, n)
		in := &sqs.SendMessageInput{QueueUrl: l.queue.URL, MessageBody: &body}
		if l.history.fifo {
			in.MessageGroupId, in.MessageDeduplicationId = &group, &body
		}
		for {
			end := l.history.beginSend(body, group)
			call, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
			out, err := l.queue.SendMessage(call, in)
			cancel()
			end(out, err)
			if err == nil {
				break
			}
			rest(ctx, 20*time.Millisecond)
			if ctx.Err() != nil || !l.history.fifo {
				break
			}
		}
		rest(ctx, time.Duration(rand.IntN(6))*time.Millisecond)
	}
}

const batchSize = 3

// sendBatch sends the messages from n on in one request. Each entry has an
// outcome of its own.
func (l *load) sendBatch(ctx context.Context, group string, n int) {
	in := &sqs.SendMessageBatchInput{QueueUrl: l.queue.URL}
	ends := map[string]func(*sqs.SendMessageOutput, error){}
	for i := n; i < n+batchSize; i++ {
		body := groupBody(group, i)
		id := strconv.Itoa(i)
		ends[id] = l.history.beginSend(body, group)
		in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &body})
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	out, err := l.queue.SendMessageBatch(call, in)
	cancel()
	if err != nil {
		for _, end := range ends {
			end(nil, err)
		}
		return
	}
	for _, s := range out.Successful {
		ends[aws.ToString(s.Id)](&sqs.SendMessageOutput{MessageId: s.MessageId}, nil)
	}
	for _, f := range out.Failed {
		ends[aws.ToString(f.Id)](nil, errors.New(aws.ToString(f.Code)))
	}
}

// beginSend notes a send before it is answered.
func (h *history) beginSend(body, client string) (end func(*sqs.SendMessageOutput, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events[body] = append(h.events[body], event{kind: sent, began: time.Now(), err: errPending, client: client})
	at := len(h.events[body]) - 1
	return func(out *sqs.SendMessageOutput, err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		e := &h.events[body][at]
		if e.ended, e.err = time.Now(), err; err == nil {
			e.id = aws.ToString(out.MessageId)
		}
	}
}

var errPending = errors.New("not answered yet")

func (l *load) receive(ctx context.Context, t *testing.T, client string) {
	for ctx.Err() == nil {
		messages, began := l.receiveOnce(ctx, t, client)
		if len(messages) > 3 && rand.IntN(2) == 0 {
			l.deleteBatch(ctx, client, messages, began)
			continue
		}
		for _, m := range messages {
			l.settle(ctx, client, m, began)
		}
	}
}

// receiveOnce is one noted receive. An error gives no messages.
func (l *load) receiveOnce(ctx context.Context, t *testing.T, client string) ([]types.Message, time.Time) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	in := l.queue.receiving(1+rand.Int32N(10), rand.Int32N(2))
	in.VisibilityTimeout = int32(leaseTime / time.Second)
	began := time.Now()
	out, err := l.queue.ReceiveMessage(call, in)
	ended := time.Now()
	if err != nil {
		rest(ctx, 20*time.Millisecond)
		return nil, began
	}
	for _, m := range out.Messages {
		count, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
		if err != nil {
			t.Errorf("receive count: %v", err)
		}
		l.history.note(aws.ToString(m.Body), event{
			kind: received, began: began, ended: ended, client: client, id: aws.ToString(m.MessageId), count: count, visible: leaseTime,
		})
	}
	return out.Messages, began
}

// settle does something with a message received by a call that began then.
func (l *load) settle(ctx context.Context, client string, m types.Message, began time.Time) {
	switch choice := rand.IntN(20); {
	case choice < 2:
		l.hide(ctx, client, m, began, 0)
		return
	case choice < 4:
		l.hide(ctx, client, m, began, leaseTime+time.Second)
	case choice < 5:
		return // forgotten: its lease ends by itself
	}
	l.delete(ctx, client, m, began)
}

// delete repeats the request until it is answered, as long as the lease holds
// for sure.
func (l *load) delete(ctx context.Context, client string, m types.Message, began time.Time) {
	for time.Since(began) < leaseTime-500*time.Millisecond {
		call, cancel := context.WithDeadline(context.WithoutCancel(ctx), began.Add(leaseTime-100*time.Millisecond))
		end := l.history.begin(aws.ToString(m.Body), event{kind: deleted, began: time.Now(), client: client})
		_, err := l.queue.DeleteMessage(call, &sqs.DeleteMessageInput{QueueUrl: l.queue.URL, ReceiptHandle: m.ReceiptHandle})
		cancel()
		end(err)
		if err == nil {
			return
		}
		rest(ctx, 20*time.Millisecond)
	}
}

// deleteBatch deletes the messages in one request, without trying again.
func (l *load) deleteBatch(ctx context.Context, client string, messages []types.Message, began time.Time) {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: l.queue.URL}
	ends := map[string]func(error){}
	for i, m := range messages {
		id := strconv.Itoa(i)
		ends[id] = l.history.begin(aws.ToString(m.Body), event{kind: deleted, began: time.Now(), client: client})
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: &id, ReceiptHandle: m.ReceiptHandle})
	}
	call, cancel := context.WithDeadline(context.WithoutCancel(ctx), began.Add(leaseTime-100*time.Millisecond))
	defer cancel()
	out, err := l.queue.DeleteMessageBatch(call, in)
	if err != nil {
		for _, end := range ends {
			end(err)
		}
		return
	}
	for _, s := range out.Successful {
		ends[aws.ToString(s.Id)](nil)
	}
	for _, f := range out.Failed {
		ends[aws.ToString(f.Id)](errors.New(aws.ToString(f.Code)))
	}
}

func (l *load) hide(ctx context.Context, client string, m types.Message, began time.Time, d time.Duration) {
	if time.Since(began) > leaseTime-500*time.Millisecond {
		return
	}
	call, cancel := context.WithDeadline(context.WithoutCancel(ctx), began.Add(leaseTime-100*time.Millisecond))
	defer cancel()
	end := l.history.begin(aws.ToString(m.Body), event{kind: hidden, began: time.Now(), client: client, visible: d})
	_, err := l.queue.ChangeMessageVisibility(call, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: l.queue.URL, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: int32(d / time.Second),
	})
	end(err)
}

// drain receives and deletes until everything is accounted for and nothing has
// come for longer than any lease.
func (l *load) drain(t *testing.T) {
	const quiet = leaseTime + 2*time.Second
	last := time.Now()
	for deadline := time.Now().Add(30 * time.Second); ; {
		messages, began := l.receiveOnce(t.Context(), t, "drain")
		for _, m := range messages {
			last = time.Now()
			l.delete(t.Context(), "drain", m, began)
		}
		if len(messages) == 0 && time.Since(last) > quiet {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("messages still come after 30 s")
			break
		}
	}
	l.history.finish()
	if left := l.history.outstanding(); len(left) > 0 {
		t.Errorf("%d messages whose send was answered are neither there nor deleted, such as\n%s", len(left), l.history.story(left[0]))
	}
}

// rest waits a little, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
