package journal

import (
	"context"
	"fmt"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"

	"sqsgate/internal/logread"
)

// Look returns what the journal holds of a data partition now, without taking it
// from its owner, who may append more meanwhile. False: it holds nothing.
func Look(ctx context.Context, topics Ydb_Topic_V1.TopicServiceClient, path string, partition int64, key Key) (Replay, bool, error) {
	replay, found, err := look(ctx, topics, path, partition, key)
	if err != nil {
		return Replay{}, false, fmt.Errorf("looking into the journal of partition %d: %w", key.Partition, err)
	}
	return replay, found, nil
}

func look(ctx context.Context, topics Ydb_Topic_V1.TopicServiceClient, path string, partition int64, key Key) (Replay, bool, error) {
	from, err := committed(ctx, topics, path, partition)
	if err != nil {
		return Replay{}, false, err
	}
	reader, err := logread.Open(ctx, topics, logread.Request{Path: path, Partition: partition, Offset: from})
	if err != nil {
		return Replay{}, false, err
	}
	start, end := reader.Bounds()
	reader.Close()
	if start >= end || from >= end {
		return Replay{}, false, nil
	}
	f := fold{key: key}
	if err := f.read(ctx, topics, path, partition, key.Producer(), from, end-1); err != nil {
		return Replay{}, false, err
	}
	return f.replay, f.seen, nil
}
