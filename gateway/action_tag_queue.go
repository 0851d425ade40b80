package gateway

import (
	"context"

	"sqsgate/gateway/api"
)

// tagQueue serves TagQueue: at most 50 tags a queue, keys of 1-128 and values of
// 0-256 characters.
func (s *Server) tagQueue(ctx context.Context, c *call, r *api.TagQueueRequest) (*api.Nothing, error) {
	q, err := s.queue(ctx, c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	if len(r.Tags) == 0 {
		return nil, api.Missing("Tags")
	}
	if err := api.CheckTags(r.Tags, q.Tags); err != nil {
		return nil, err
	}
	_, err = s.opts.Catalog.SetTags(ctx, q.Name, r.Tags, nil)
	return &api.Nothing{}, err
}
