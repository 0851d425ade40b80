package gateway

import (
	"context"
	"time"

	"sqsgate/consumer"
	"sqsgate/gateway/api"
)

// changeMessageVisibility serves ChangeMessageVisibility.
//
// Limits: 0-43200 s, and not beyond 12 hours after the receive. Errors:
// ReceiptHandleIsInvalid; InvalidParameterValue for a number out of range and
// for a message that is gone, which AWS does not call MessageNotInflight.
func (s *Server) changeMessageVisibility(ctx context.Context, c *call, r *api.ChangeMessageVisibilityRequest) (*api.Nothing, error) {
	q, err := s.queue(ctx, c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	if r.ReceiptHandle == "" {
		return nil, api.Missing("ReceiptHandle")
	}
	if err := checkVisibility(r.Visibility); err != nil {
		return nil, err
	}
	errs := s.opts.Consumer.Queue(q.spec).ChangeVisibility(ctx, []consumer.VisibilityChange{
		{Handle: r.ReceiptHandle, Timeout: time.Duration(r.Visibility.Value) * time.Second},
	})
	if errs[0] != nil {
		return nil, handleError(errs[0], r.ReceiptHandle, r.Visibility.Value)
	}
	c.event.messages = 1
	return &api.Nothing{}, nil
}

func checkVisibility(timeout api.Int) error {
	if !timeout.Set {
		return api.Missing("VisibilityTimeout")
	}
	return api.CheckVisibility(timeout.Value)
}
