package gateway

import (
	"context"
	"time"

	"sqsgate/consumer"
	"sqsgate/gateway/api"
)

// changeMessageVisibilityBatch serves ChangeMessageVisibilityBatch: 1-10
// entries, each with the errors of ChangeMessageVisibility.
func (s *Server) changeMessageVisibilityBatch(ctx context.Context, c *call, r *api.HandleBatchRequest) (*api.BatchResult, error) {
	q, err := s.queue(ctx, c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := api.CheckHandleBatch(r.Entries, "ChangeMessageVisibilityBatchRequestEntry"); err != nil {
		return nil, err
	}
	b := newHandleBatch(r.Entries)
	changes := make([]consumer.VisibilityChange, 0, len(r.Entries))
	for i := range r.Entries {
		e := &r.Entries[i]
		if b.check(i, checkVisibility(e.Visibility)) {
			changes = append(changes, consumer.VisibilityChange{Handle: e.ReceiptHandle, Timeout: time.Duration(e.Visibility.Value) * time.Second})
		}
	}
	if len(changes) > 0 {
		b.fill(s.opts.Consumer.Queue(q.spec).ChangeVisibility(ctx, changes))
	}
	return b.result(c)
}
