package catalog

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/internal/topicid"
	"sqsgate/internal/ydbstatus"
)

// Delete removes the queue and returns what it was. From the record on the queue
// is gone everywhere; then its topic is dropped, or only its consumer when the
// topic has others. If that fails the deletion stands, and a refresh or the next
// Create of the name finishes it. Errors as of Get.
func (c *Catalog) Delete(ctx context.Context, name string) (Queue, error) {
	e, err := c.get(ctx, name)
	if err != nil {
		return Queue{}, err
	}
	unlock, err := c.keys.lock(ctx, e.Name)
	if err != nil {
		return Queue{}, unavailable(err)
	}
	defer unlock()
	o, err := c.write(ctx, record{Op: opDelete, Name: e.Name, Incarnation: e.Incarnation})
	if err == nil && o.verdict != applied {
		err = ErrNotFound
	}
	if err != nil {
		return Queue{}, fmt.Errorf("deleting queue %s: %w", name, err)
	}
	if err := c.finishDelete(ctx, o.entry); err != nil {
		c.logger.LogAttrs(ctx, slog.LevelWarn, "topic of a deleted queue is not dropped yet",
			slog.String("queue", e.Name), slog.Any("error", err))
	}
	return o.entry.Queue, nil
}

// finishDelete takes away the topic or the consumer of a queue whose delete
// record is in the log, and records that this is done. It may run anywhere and
// any number of times. A topic that was made later at the same path is left alone.
func (c *Catalog) finishDelete(ctx context.Context, e entry) error {
	t, err := c.server.describe(ctx, e.Topic)
	if err != nil {
		return err
	}
	if consumerOf(t, e.Consumer) != nil && topicid.Same(e.TopicCreated, topicid.Of(t.GetSelf())) {
		if len(t.GetConsumers()) == 1 {
			err = c.server.drop(ctx, e.Topic)
		} else {
			err = c.server.alter(ctx, &Ydb_Topic.AlterTopicRequest{Path: e.Topic, DropConsumers: []string{e.Consumer}})
			if ydbstatus.Missing(err) {
				err = nil
			}
		}
		if err != nil {
			return err
		}
	}
	_, err = c.write(ctx, record{Op: opDeleted, Name: e.Name, Incarnation: e.Incarnation})
	return err
}
