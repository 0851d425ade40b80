package gateway

import (
	"context"

	"sqsgate/gateway/api"
)

// removePermission serves RemovePermission: the statement with this label goes,
// and with the last one the Policy.
func (s *Server) removePermission(ctx context.Context, c *call, r *api.RemovePermissionRequest) (*api.Nothing, error) {
	if r.Label == "" {
		return nil, api.Missing("Label")
	}
	return s.changePolicy(ctx, c, r.QueueURL, func(policy, _ string) (string, error) {
		return api.RemoveStatement(policy, r.Label)
	})
}
