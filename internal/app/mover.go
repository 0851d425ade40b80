package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sqsgate/consumer"
	"sqsgate/gateway/catalog"
	"sqsgate/gateway/movetask"
)

// resolveTimeout bounds the look-up of a move's target.
const resolveTimeout = 5 * time.Second

// mover lets message move tasks move messages with the shared consumer.
type mover struct {
	shared func(ctx context.Context, queue string) (*consumer.Queue, error)
}

func (m mover) Move(ctx context.Context, source, destination string, most int) (int, error) {
	q, err := m.shared(ctx, source)
	if errors.Is(err, catalog.ErrNotFound) {
		return 0, movetask.ErrQueueGone
	}
	if err != nil {
		return 0, err
	}
	target := consumer.TargetSources
	if destination != "" {
		target = consumer.TargetOf(destination)
	}
	moved, err := q.MoveOut(ctx, target, most)
	if errors.Is(err, consumer.ErrQueueGone) {
		return moved, movetask.ErrQueueGone
	}
	if err != nil {
		return moved, fmt.Errorf("moving messages of %s: %w", source, err)
	}
	return moved, nil
}

// resolve finds the queue that a move goes to: the one named by sourceARN, or
// the one whose name has the number.
func resolve(c *catalog.Catalog, target uint64, sourceARN string) (consumer.Destination, bool) {
	name := ""
	if target == consumer.TargetSources {
		const fields = 6 // arn:aws:sqs:<region>:<account>:<name>
		if parts := strings.SplitN(sourceARN, ":", fields); len(parts) == fields {
			name = parts[fields-1]
		}
	} else {
		name = named(c, target)
	}
	if name == "" {
		return consumer.Destination{}, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	q, err := c.Get(ctx, name)
	if err != nil {
		return consumer.Destination{}, false
	}
	return consumer.Destination{Topic: q.Topic, Consumer: q.Consumer}, true
}

// named looks for the queue with a target number. There are few moves and the
// names are in memory.
func named(c *catalog.Catalog, target uint64) string {
	const page = 1000
	for after := ""; ; {
		names := c.List("", after, page)
		for _, name := range names {
			if consumer.TargetOf(name) == target {
				return name
			}
		}
		if len(names) < page {
			return ""
		}
		after = names[len(names)-1]
	}
}
