package gateway

import (
	"context"

	"sqsgate/gateway/api"
)

// sendMessageBatch serves SendMessageBatch.
//
// Limits: 1-10 entries, 1 MiB together whatever the queue's own limit. What is
// wrong with the batch as such fails the request (api.CheckSendBatch), what is
// wrong with one entry fails that entry. Divergence: when every entry fails
// because the server cannot serve, the request fails with ServiceUnavailable, so
// that clients repeat it; or with QueueDoesNotExist, when the queue has gone.
func (s *Server) sendMessageBatch(ctx context.Context, c *call, r *api.SendMessageBatchRequest) (*api.SendMessageBatchResult, error) {
	q, err := s.usedQueue(ctx, c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := api.CheckSendBatch(r.Entries, q.FIFO, q.rules.ContentBased); err != nil {
		return nil, err
	}
	out := make([]outgoing, len(r.Entries))
	for i := range r.Entries {
		e := &r.Entries[i]
		if err := api.CheckSend(e, q.rules, true); err != nil {
			out[i] = outgoing{entry: e, err: err}
			continue
		}
		out[i] = newOutgoing(q, e, c.sender(), "")
	}
	s.send(ctx, q, out)
	res := &api.SendMessageBatchResult{Successful: make([]api.SendResult, 0, len(out))}
	unavailable := 0
	for i := range out {
		if err := out[i].err; err != nil {
			if ofQueue(err) {
				unavailable++
			}
			res.Failed = append(res.Failed, batchError(out[i].entry.ID, err))
			continue
		}
		res.Successful = append(res.Successful, out[i].result)
	}
	if unavailable == len(out) {
		return nil, out[0].err
	}
	c.event.messages = len(res.Successful)
	return res, nil
}
