package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"sqsgate/internal/topicid"
)

// Check returns the queue after asking the server whether its topic and consumer
// are still there. A queue that has lost them is forgotten: ErrNotFound, or, when
// the topic was made again, the queue in its new incarnation. For callers that
// find the topic gone.
func (c *Catalog) Check(ctx context.Context, name string) (Queue, error) {
	e, err := c.get(ctx, name)
	if err != nil {
		return Queue{}, err
	}
	alive, err := c.verify(ctx, e)
	if err != nil {
		return Queue{}, fmt.Errorf("checking queue %s: %w", e.Name, err)
	}
	if alive {
		return e.Queue, nil
	}
	return c.Get(ctx, name)
}

// verify reports whether the topic and the consumer of the bound queue e exist,
// and forgets the queue when they do not.
func (c *Catalog) verify(ctx context.Context, e entry) (bool, error) {
	t, err := c.server.describe(ctx, e.Topic)
	if err != nil {
		return false, err
	}
	consumer := consumerOf(t, e.Consumer)
	var why string
	switch {
	case t == nil:
		why = "the topic is gone"
	case !topicid.Same(e.TopicCreated, topicid.Of(t.GetSelf())):
		why = "the topic was made again"
	case consumer == nil:
		why = "the consumer is gone"
	case shared(consumer):
		why = "the consumer is a shared one"
	default:
		return true, nil
	}
	o, err := c.write(ctx, record{Op: opForget, Name: e.Name, Incarnation: e.Incarnation})
	if err != nil || o.verdict != applied {
		return false, err
	}
	c.logger.LogAttrs(ctx, slog.LevelWarn, "a queue is gone that nobody has deleted here",
		slog.String("queue", e.Name), slog.String("reason", why))
	if c.opts.OnForgotten != nil && (consumer == nil || shared(consumer)) {
		c.opts.OnForgotten(e.Queue)
	}
	return false, nil
}

// gone reports that err says there is no queue, which is an answer and no fault.
func gone(err error) bool {
	var shared *SharedConsumerError
	return errors.Is(err, ErrNotFound) || errors.As(err, &shared)
}
