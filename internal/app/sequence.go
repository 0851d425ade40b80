package app

import (
	"context"

	"sqsgate/consumer"
	"sqsgate/partition"
)

// sequence lets the shared consumer write dead letters through the pool.
type sequence struct{ *partition.Sequence }

func (s sequence) Write(ctx context.Context, messages []consumer.Numbered) error {
	list := make([]partition.Numbered, len(messages))
	for i, m := range messages {
		list[i] = partition.Numbered{Number: m.Number, Group: m.Group, Key: m.Key, Record: m.Record}
	}
	return s.Sequence.Write(ctx, list)
}
