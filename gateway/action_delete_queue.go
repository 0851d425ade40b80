package gateway

import (
	"context"
	"log/slog"
	"strings"

	"sqsgate/gateway/api"
)

// deleteQueue serves DeleteQueue. Waiting receives of the queue end with
// QueueDoesNotExist. Divergence: the queue is gone at once, not after up to 60 s.
func (s *Server) deleteQueue(ctx context.Context, c *call, r *api.QueueRequest) (*api.Nothing, error) {
	q, err := s.queue(ctx, c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	if _, err := s.opts.Catalog.Delete(ctx, q.Name); err != nil {
		return nil, err
	}
	s.deleted.mark(q.Name)
	s.purged.clear(q.Name)
	s.queues.forget(q.Name)
	if !strings.Contains(q.Name, "@") { // else the topic has other consumers' queues
		s.opts.Pool.Forget(q.Topic)
	}
	if err := s.opts.Consumer.Drop(ctx, q.Topic, q.Consumer); err != nil {
		// The queue is deleted; what may remain is its journal.
		s.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "the state of a deleted queue could not be removed",
			slog.String("queue", q.Name), slog.Any("error", err))
	}
	return &api.Nothing{}, nil
}
