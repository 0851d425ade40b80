package gateway

import (
	"context"

	"sqsgate/gateway/api"
)

// deleteMessageBatch serves DeleteMessageBatch: 1-10 entries, each with the
// errors of DeleteMessage.
func (s *Server) deleteMessageBatch(ctx context.Context, c *call, r *api.HandleBatchRequest) (*api.BatchResult, error) {
	q, err := s.queue(ctx, c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := api.CheckHandleBatch(r.Entries, "DeleteMessageBatchRequestEntry"); err != nil {
		return nil, err
	}
	b := newHandleBatch(r.Entries)
	handles := make([]string, 0, len(r.Entries))
	for i := range r.Entries {
		if b.check(i, nil) {
			handles = append(handles, r.Entries[i].ReceiptHandle)
		}
	}
	if len(handles) > 0 {
		b.fill(s.opts.Consumer.Queue(q.spec).Delete(ctx, handles))
	}
	return b.result(c)
}
