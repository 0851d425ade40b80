package gateway

import (
	"context"

	"sqsgate/gateway/api"
)

// untagQueue serves UntagQueue. Removing a key that is not there is no error.
func (s *Server) untagQueue(ctx context.Context, c *call, r *api.UntagQueueRequest) (*api.Nothing, error) {
	q, err := s.queue(ctx, c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	if len(r.Keys) == 0 {
		return nil, api.Missing("TagKeys")
	}
	_, err = s.opts.Catalog.SetTags(ctx, q.Name, nil, r.Keys)
	return &api.Nothing{}, err
}
