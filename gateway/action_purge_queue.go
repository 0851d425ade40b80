package gateway

import (
	"context"

	"sqsgate/gateway/api"
)

// purgeQueue serves PurgeQueue: everything sent before the call is removed, in
// flight or not. Errors: PurgeQueueInProgress within the PurgeCooldown.
// Divergence: it is done when the answer comes.
func (s *Server) purgeQueue(ctx context.Context, c *call, r *api.QueueRequest) (*api.Nothing, error) {
	q, err := s.queue(ctx, c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	if !s.purged.mark(q.Name) {
		return nil, api.Errorf(api.PurgeQueueInProgress, "Only one PurgeQueue operation on %s is allowed every 60 seconds.", q.Name)
	}
	if err := s.opts.Consumer.Queue(q.spec).Purge(ctx); err != nil {
		s.purged.clear(q.Name)
		return nil, err
	}
	return &api.Nothing{}, nil
}
