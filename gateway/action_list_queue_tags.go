package gateway

import (
	"context"
	"maps"
	"slices"

	"sqsgate/gateway/api"
)

// listQueueTags serves ListQueueTags; Tags is absent when there are none.
func (s *Server) listQueueTags(ctx context.Context, c *call, r *api.QueueRequest) (*api.TagsResult, error) {
	q, err := s.queue(ctx, c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	res := &api.TagsResult{}
	for _, key := range slices.Sorted(maps.Keys(q.Tags)) {
		res.Tags = append(res.Tags, api.Pair{Name: key, Value: q.Tags[key]})
	}
	return res, nil
}
