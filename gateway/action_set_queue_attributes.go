package gateway

import (
	"context"

	"sqsgate/gateway/api"
)

// setQueueAttributes serves SetQueueAttributes. "" removes a policy or a key.
// FifoQueue may be repeated but not changed. Divergence: the new values count at
// once, not after up to 60 s.
func (s *Server) setQueueAttributes(ctx context.Context, c *call, r *api.SetQueueAttributesRequest) (*api.Nothing, error) {
	q, err := s.queue(ctx, c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	if len(r.Attributes) == 0 {
		return nil, api.Missing("Attribute.Name")
	}
	return &api.Nothing{}, s.setAttributes(ctx, q, r.Attributes)
}

func (s *Server) setAttributes(ctx context.Context, q *queue, attributes map[string]string) error {
	set, err := api.CheckQueueAttributes(attributes, q.Attributes, q.FIFO)
	if err != nil {
		return err
	}
	if err := s.checkRedrive(ctx, q.Name, q.FIFO, set[api.AttrRedrivePolicy]); err != nil {
		return err
	}
	delete(set, api.AttrFifoQueue)
	if len(set) == 0 {
		return nil
	}
	if _, err := s.opts.Catalog.SetAttributes(ctx, q.Name, set); err != nil {
		return err
	}
	// The shared consumer learns of it now, not with its next request.
	if q, err = s.queues.get(ctx, q.Name); err == nil {
		s.opts.Consumer.Queue(q.spec)
	}
	return nil
}
