package gateway

import (
	"context"
	"errors"

	"sqsgate/gateway/api"
	"sqsgate/gateway/catalog"
)

// checkRedrive checks that the target of a queue's RedrivePolicy exists, is of
// the queue's type and admits it. "" is no policy.
func (s *Server) checkRedrive(ctx context.Context, source string, fifo bool, value string) error {
	if value == "" {
		return nil
	}
	policy, err := api.ParseRedrive(value)
	if err != nil {
		return err
	}
	name := s.opts.nameOfARN(policy.TargetARN)
	if name == "" {
		return api.RedriveTargetMissing(value)
	}
	target, err := s.queues.get(ctx, name)
	switch {
	case errors.Is(err, catalog.ErrNotFound), errors.Is(err, catalog.ErrInvalidName):
		return api.RedriveTargetMissing(value)
	case err != nil:
		return err
	case target.FIFO != fifo:
		return api.RedriveTargetType(value, fifo)
	case target.Name == source:
		return api.RedriveToItself(value)
	case !api.RedriveAdmits(target.Attributes[api.AttrRedriveAllowPolicy], s.opts.arn(source)):
		return api.RedriveRefused(value)
	}
	return nil
}
