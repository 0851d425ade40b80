package worker

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// emptyPause is waited after an empty answer that came before its time, as from
// a server that is about to stop.
const emptyPause = 250 * time.Millisecond

// receive takes messages until ctx ends; calls is the context of what becomes of
// them. An error is one that ends the Worker.
func (w *Worker) receive(ctx, calls context.Context) error {
	var pause backoff
	attempt := rand.Text()
	for {
		n, err := w.reserve(ctx)
		if err != nil {
			return nil // stopped
		}
		asked := time.Now()
		list, err := w.poll(ctx, n, attempt, asked)
		w.admit(calls, list, n)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if queueGone(err) {
				return fmt.Errorf("receiving from %s: %w", w.queue, err)
			}
			w.log.LogAttrs(ctx, slog.LevelWarn, "messages could not be received", slog.Any("error", err))
			_ = pause.wait(ctx) // the next reserve sees that ctx has ended
			continue
		}
		pause = backoff{}
		attempt = rand.Text()
		if len(list) == 0 && time.Since(asked) < w.opts.Wait/2 {
			_ = sleep(ctx, emptyPause) // as above
		}
	}
}

// poll makes one receive. A FIFO queue that is asked again with the same attempt,
// because the answer was lost, gives the same messages.
func (w *Worker) poll(ctx context.Context, most int, attempt string, asked time.Time) ([]*delivery, error) {
	q := w.state.Load()
	in := &sqs.ReceiveMessageInput{
		QueueUrl:                    &w.opts.QueueURL,
		MaxNumberOfMessages:         int32(most), // 1-10
		WaitTimeSeconds:             int32(w.opts.Wait / time.Second),
		VisibilityTimeout:           int32(q.visibility / time.Second),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	}
	if q.fifo {
		in.ReceiveRequestAttemptId = &attempt
	}
	ctx, cancel := context.WithTimeout(ctx, w.opts.Wait+callTimeout)
	defer cancel()
	out, err := w.opts.Client.ReceiveMessage(ctx, in)
	if err != nil {
		return nil, err
	}
	received := time.Now()
	list := make([]*delivery, len(out.Messages))
	for i, m := range out.Messages {
		list[i] = &delivery{
			message:  newMessage(m, received, w.opts.Decode),
			handle:   aws.ToString(m.ReceiptHandle),
			asked:    asked,
			received: received,
			queue:    *q,
			ended:    make(chan struct{}),
			kept:     make(chan struct{}),
		}
	}
	return list, nil
}
