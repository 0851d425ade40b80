package gateway

import (
	"context"

	"sqsgate/gateway/api"
)

// deleteMessage serves DeleteMessage.
//
// Errors: ReceiptHandleIsInvalid for a handle this server did not make;
// InvalidParameterValue on FIFO queues when its lease has ended. On standard
// queues a handle that was valid once is never an error.
func (s *Server) deleteMessage(ctx context.Context, c *call, r *api.DeleteMessageRequest) (*api.Nothing, error) {
	q, err := s.queue(ctx, c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	if r.ReceiptHandle == "" {
		return nil, api.Missing("ReceiptHandle")
	}
	errs := s.opts.Consumer.Queue(q.spec).Delete(ctx, []string{r.ReceiptHandle})
	if errs[0] != nil {
		return nil, handleError(errs[0], r.ReceiptHandle, 0)
	}
	c.event.messages = 1
	return &api.Nothing{}, nil
}
