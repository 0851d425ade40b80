//go:build e2e

package e2e

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// poll is a long poll under way.
type poll struct {
	began    time.Time
	done     chan struct{}
	took     time.Duration
	messages []types.Message
	err      error
}

// poll begins a long poll for up to 10 messages.
func (q *Queue) poll(ctx context.Context, wait int32) *poll {
	p := &poll{began: time.Now(), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		out, err := q.ReceiveMessage(ctx, q.receiving(10, wait))
		p.took, p.err = time.Since(p.began), err
		if err == nil {
			p.messages = out.Messages
		}
	}()
	return p
}

// want waits for the poll's end: one message, between after and before from its
// start.
func (p *poll) want(t *testing.T, body string, after, before time.Duration) {
	t.Helper()
	<-p.done
	if p.err != nil || len(p.messages) != 1 || aws.ToString(p.messages[0].Body) != body {
		t.Errorf("the poll ended after %v with %v, %v; want %q", p.took, bodies(p.messages), p.err, body)
		return
	}
	if p.took < after || p.took > before {
		t.Errorf("the poll took %v, want %v to %v", p.took, after, before)
	}
}

const parked = 300 * time.Millisecond // until a poll surely waits

// TestWaiting: what wakes a long poll, and what ends it.
func TestWaiting(t *testing.T) {
	tests := map[string]func(t *testing.T, d *Deployment){
		"send":                      wokenBySend,
		"expiry":                    wokenByExpiry,
		"delay":                     wokenByDelay,
		"give back":                 wokenByGiveBack,
		"freed group":               wokenByDelete,
		"order":                     wokenInOrder,
		"client left":               clientLeft,
		"client left in the answer": clientLeftInTheAnswer,
		"delete queue":              endedByDeleteQueue,
		"queue made anew":           queueMadeAnew,
	}
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, d)
			})
		}
	})
}

func wokenBySend(t *testing.T, d *Deployment) {
	q := d.Actions(t, queryProtocol).Create(t, "woken-by-send")
	p := q.poll(t.Context(), 20)
	pass(t, parked)
	q.Send("m")
	p.want(t, "m", parked, parked+5*time.Second)
}

func wokenByExpiry(t *testing.T, d *Deployment) {
	q := d.Actions(t, jsonProtocol).Create(t, "woken-by-expiry")
	q.Send("m")
	q.ReceiveOne(visibleAfter(2))
	p := q.poll(t.Context(), 20)
	p.want(t, "m", 1500*time.Millisecond, 7*time.Second)
}

func wokenByDelay(t *testing.T, d *Deployment) {
	q := d.Actions(t, jsonProtocol).Create(t, "woken-by-delay")
	p := q.poll(t.Context(), 20)
	q.Send("m", delayed(2))
	p.want(t, "m", 1990*time.Millisecond, 7*time.Second)
}

func wokenByGiveBack(t *testing.T, d *Deployment) {
	q := d.Actions(t, jsonProtocol).Create(t, "woken-by-give-back")
	q.Send("m")
	m := q.ReceiveOne()
	p := q.poll(t.Context(), 20)
	pass(t, parked)
	q.Hide(m, 0)
	p.want(t, "m", parked, parked+5*time.Second)
	if n := receiveCount(t, p.messages[0]); n != 2 {
		t.Errorf("count %d, want 2", n)
	}
}

func wokenByDelete(t *testing.T, d *Deployment) {
	q := d.Actions(t, jsonProtocol).Create(t, "woken-by-delete.fifo")
	q.Send("1", inGroup("g", "1"))
	q.Send("2", inGroup("g", "2"))
	first := q.ReceiveOne()
	p := q.poll(t.Context(), 20)
	pass(t, parked)
	q.Delete(first)
	p.want(t, "2", parked, parked+5*time.Second)
}

// wokenInOrder: who has waited longest is served first.
func wokenInOrder(t *testing.T, d *Deployment) {
	q := d.Actions(t, jsonProtocol).Create(t, "woken-in-order")
	var polls []*poll
	for range 3 {
		polls = append(polls, q.poll(t.Context(), 20))
		pass(t, parked)
	}
	for i, p := range polls {
		q.Send("m")
		select {
		case <-p.done:
			p.want(t, "m", 0, 20*time.Second)
		case <-time.After(5 * time.Second):
			t.Fatalf("poll %d is passed over", i)
		}
	}
}

// clientLeft: a poll whose client is gone takes nothing.
func clientLeft(t *testing.T, d *Deployment) {
	q := d.Actions(t, jsonProtocol).Create(t, "client-left", attributes{"VisibilityTimeout": "600"})
	ctx, cancel := context.WithCancel(t.Context())
	p := q.poll(ctx, 20)
	pass(t, parked)
	cancel()
	<-p.done
	pass(t, parked) // until the gateway has seen it
	q.Send("m")
	m := q.ReceiveOne()
	if n := receiveCount(t, m); n != 1 {
		t.Errorf("count %d: somebody has received it before", n)
	}
}

// clientLeftInTheAnswer: a client may go away at any moment, also when the answer
// is on its way, where nobody can give its messages back. They come again after
// the visibility timeout at the latest, and none is lost.
func clientLeftInTheAnswer(t *testing.T, d *Deployment) {
	q := d.Actions(t, jsonProtocol).Create(t, "client-left-in-the-answer", attributes{"VisibilityTimeout": "2"})
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		p := q.poll(ctx, 20)
		pass(t, 20*time.Millisecond)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			pass(t, time.Duration(i)*200*time.Microsecond)
			cancel()
		}()
		q.Send("m")
		<-sent
		<-p.done
		if p.err == nil {
			q.Delete(p.messages...)
			continue
		}
		if !errors.Is(p.err, context.Canceled) {
			t.Fatalf("poll: %v", p.err)
		}
		q.Delete(q.ReceiveOne())
	}
}

func endedByDeleteQueue(t *testing.T, d *Deployment) {
	q := d.Actions(t, jsonProtocol).Create(t, "ended-by-delete")
	p := q.poll(t.Context(), 20)
	pass(t, parked)
	if _, err := q.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: q.URL}); err != nil {
		t.Fatal(err)
	}
	<-p.done
	wantCode(t, "a poll of a deleted queue", p.err, noQueue)
	if p.took > 5*time.Second {
		t.Errorf("it took %v", p.took)
	}
}

// queueMadeAnew: a poll of the old queue takes nothing from the new one, and
// handles of the old one mean nothing to it.
func queueMadeAnew(t *testing.T, d *Deployment) {
	q := d.Actions(t, jsonProtocol).Create(t, "anew")
	q.Send("old")
	old := q.ReceiveOne()
	p := q.poll(t.Context(), 20)
	pass(t, parked)
	if _, err := q.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: q.URL}); err != nil {
		t.Fatal(err)
	}
	again := d.Actions(t, jsonProtocol).Create(t, "anew")
	again.Send("new")
	_, err := q.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: q.URL, ReceiptHandle: old.ReceiptHandle})
	wantCode(t, "a handle of the old queue", err, "ReceiptHandleIsInvalid")
	m := again.ReceiveOne()
	if n := receiveCount(t, m); aws.ToString(m.Body) != "new" || n != 1 {
		t.Errorf("received %q, count %d", aws.ToString(m.Body), n)
	}
	<-p.done
	if len(p.messages) > 0 {
		t.Errorf("the old queue's poll got %v", bodies(p.messages))
	}
}
