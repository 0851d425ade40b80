package gateway

import (
	"context"

	"sqsgate/gateway/api"
	"sqsgate/gateway/catalog"
)

// addPermission serves AddPermission: one more statement of the queue's Policy.
//
// Limits: a label of 1-80 letters, digits, - and _, not used yet; 7 actions; 50
// accounts of 12 digits; 20 statements and 8192 bytes in all, beyond which
// OverLimit is answered. Divergence: accounts are not looked up.
func (s *Server) addPermission(ctx context.Context, c *call, r *api.AddPermissionRequest) (*api.Nothing, error) {
	if err := api.CheckPermission(r); err != nil {
		return nil, err
	}
	return s.changePolicy(ctx, c, r.QueueURL, func(policy, arn string) (string, error) {
		return api.AddStatement(policy, arn, r)
	})
}

// changePolicy replaces the Policy of a queue by what change makes of it. A
// policy may have "" for none.
func (s *Server) changePolicy(ctx context.Context, c *call, queueURL string, change func(policy, arn string) (string, error)) (*api.Nothing, error) {
	q, err := s.queue(ctx, c, queueURL)
	if err != nil {
		return nil, err
	}
	_, err = s.opts.Catalog.Update(ctx, q.Name, func(now catalog.Queue) (map[string]string, error) {
		policy, err := change(now.Attributes[api.AttrPolicy], s.opts.arn(now.Name))
		if err != nil {
			return nil, err
		}
		return map[string]string{api.AttrPolicy: policy}, nil
	})
	if err != nil {
		return nil, err
	}
	return &api.Nothing{}, nil
}
