package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// fallbackVisibility is for queues whose own timeout is 0: without a lease there
// is no order and no end of doubles.
const fallbackVisibility = 30 * time.Second

// errAttributes says that the queue's attributes mean nothing to us.
var errAttributes = errors.New("unreadable queue attribute")

// queueState is what the Worker knows of its queue.
type queueState struct {
	fifo        bool
	visibility  time.Duration
	maxReceives int // 0 = no redrive policy
}

// lastReceive tells whether a message with this receive count goes to the
// dead-letter queue when it is received once more. before is what was known of
// the queue when this receive was sent: a message that came although it was
// beyond maxReceiveCount already is one that the queue does not move, because the
// dead-letter queue is gone or refuses it, or because in a dead-letter queue with
// a policy of its own the count goes on from the source.
func (q queueState) lastReceive(count int, before queueState) bool {
	return q.maxReceives > 0 && count >= q.maxReceives && !before.beyond(count)
}

// beyond tells whether a message with this receive count should have been moved
// instead of received.
func (q queueState) beyond(count int) bool { return q.maxReceives > 0 && count > q.maxReceives }

// attributes asks SQS.
func (w *Worker) attributes(ctx context.Context) (queueState, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := w.opts.Client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &w.opts.QueueURL, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return queueState{}, fmt.Errorf("reading the attributes of %s: %w", w.queue, err)
	}
	return readAttributes(w.opts, out.Attributes)
}

func readAttributes(o Options, values map[string]string) (queueState, error) {
	q := queueState{
		fifo:       values[string(types.QueueAttributeNameFifoQueue)] == "true" || strings.HasSuffix(o.QueueURL, ".fifo"),
		visibility: o.Visibility,
	}
	if text := values[string(types.QueueAttributeNameVisibilityTimeout)]; q.visibility == 0 && text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil || seconds < 0 || seconds > int(maxLease/time.Second) {
			return queueState{}, fmt.Errorf("%w: VisibilityTimeout %q", errAttributes, text)
		}
		q.visibility = time.Duration(seconds) * time.Second
	}
	if q.visibility == 0 {
		q.visibility = fallbackVisibility
	}
	if text := values[string(types.QueueAttributeNameRedrivePolicy)]; text != "" {
		// json.Number takes a number and, as AWS does, a number in quotes.
		var policy *struct { // nil: YDB answers null where there is none
			MaxReceiveCount json.Number `json:"maxReceiveCount"`
		}
		err := json.Unmarshal([]byte(text), &policy)
		if err == nil && policy == nil {
			return q, nil
		}
		if err != nil {
			return queueState{}, fmt.Errorf("%w: RedrivePolicy %q", errAttributes, text)
		}
		n, bad := strconv.Atoi(policy.MaxReceiveCount.String())
		if bad != nil || n < 1 {
			return queueState{}, fmt.Errorf("%w: RedrivePolicy %q", errAttributes, text)
		}
		q.maxReceives = n
	}
	return q, nil
}

// learn reads the attributes for the first time. It goes on trying while the
// queue is out of reach; an answer that says no is returned.
func (w *Worker) learn(ctx context.Context) error {
	var pause backoff
	for {
		q, err := w.attributes(ctx)
		switch {
		case err == nil:
			w.state.Store(&q)
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case final(err) || errors.Is(err, errAttributes):
			return err
		}
		w.log.LogAttrs(ctx, slog.LevelWarn, "the queue is out of reach", slog.Any("error", err))
		if err := pause.wait(ctx); err != nil {
			return err
		}
	}
}

// refresh reads the attributes again and again. Only a queue that is gone ends
// it; otherwise what was known last holds.
func (w *Worker) refresh(ctx context.Context) error {
	ticker := time.NewTicker(w.opts.Refresh)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		q, err := w.attributes(ctx)
		switch {
		case err == nil:
			q.fifo = w.state.Load().fifo // never changes
			w.state.Store(&q)
		case ctx.Err() != nil:
			return nil
		case queueGone(err):
			return err
		default:
			w.log.LogAttrs(ctx, slog.LevelWarn, "the queue's attributes could not be read again", slog.Any("error", err))
		}
	}
}

func (w *Worker) deleteCall(ctx context.Context, batch []*entry) (map[string]*entryError, error) {
	entries := make([]types.DeleteMessageBatchRequestEntry, len(batch))
	for i, e := range batch {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &e.handle}
	}
	out, err := w.opts.Client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &w.opts.QueueURL, Entries: entries})
	if err != nil {
		return nil, err
	}
	return failures(out.Failed), nil
}

func (w *Worker) visibilityCall(ctx context.Context, batch []*entry) (map[string]*entryError, error) {
	entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, len(batch))
	for i, e := range batch {
		entries[i] = types.ChangeMessageVisibilityBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &e.handle, VisibilityTimeout: e.seconds,
		}
	}
	out, err := w.opts.Client.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{
		QueueUrl: &w.opts.QueueURL, Entries: entries,
	})
	if err != nil {
		return nil, err
	}
	return failures(out.Failed), nil
}

func failures(list []types.BatchResultErrorEntry) map[string]*entryError {
	if len(list) == 0 {
		return nil
	}
	failed := make(map[string]*entryError, len(list))
	for _, f := range list {
		failed[aws.ToString(f.Id)] = failedEntry(f)
	}
	return failed
}
