package gateway

import (
	"context"

	"sqsgate/codec"
	"sqsgate/gateway/api"
)

// maxTrace bounds a trace header that came with HTTP; real ones have about 100
// bytes.
const maxTrace = 1024

// sendMessage serves SendMessage.
//
// Limits: 1 MiB or the queue's MaximumMessageSize, attributes included; 10
// attributes; delay 0-900 s, on FIFO queues none but 0. Errors: MissingParameter,
// InvalidParameterValue, InvalidMessageContents, RequestThrottled (FIFO),
// ServiceUnavailable; the last leaves open whether the message was stored.
func (s *Server) sendMessage(ctx context.Context, c *call, r *api.SendMessageRequest) (*api.SendResult, error) {
	q, err := s.usedQueue(ctx, c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := api.CheckSend(&r.SendEntry, q.rules, false); err != nil {
		return nil, err
	}
	// The trace header may come with the HTTP request as well. It is then no part
	// of MD5OfMessageSystemAttributes, and no reason to refuse the message.
	trace := c.request.Header.Get("X-Amzn-Trace-Id")
	if len(trace) > maxTrace || !codec.ValidBody([]byte(trace)) {
		trace = ""
	}
	out := []outgoing{newOutgoing(q, &r.SendEntry, c.sender(), trace)}
	s.send(ctx, q, out)
	if out[0].err != nil {
		return nil, out[0].err
	}
	c.event.messages = 1
	return &out[0].result, nil
}
