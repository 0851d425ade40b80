package gateway

import (
	"context"
	"errors"

	"sqsgate/gateway/api"
	"sqsgate/gateway/catalog"
)

// getQueueURL serves GetQueueUrl. Divergence: QueueOwnerAWSAccountId is ignored.
func (s *Server) getQueueURL(ctx context.Context, c *call, r *api.GetQueueURLRequest) (*api.QueueURLResult, error) {
	if r.QueueName == "" {
		return nil, api.Missing("QueueName")
	}
	if err := s.mayUse(c, r.QueueName); err != nil {
		return nil, err
	}
	q, err := s.queues.get(ctx, r.QueueName)
	if s.opts.AutoCreateQueues && errors.Is(err, catalog.ErrNotFound) {
		q, err = s.autoCreate(ctx, c, r.QueueName)
	}
	if err != nil {
		return nil, err
	}
	c.event.queue = q.Name
	return &api.QueueURLResult{QueueURL: s.queueURL(c.request, q.Name)}, nil
}
