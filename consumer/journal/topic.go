package journal

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/durationpb"

	"sqsgate/internal/ydbstatus"
)

const (
	// trimConsumer is the important consumer whose committed offset is the oldest
	// snapshot still needed.
	trimConsumer = "journal"
	// retention of what the consumer has passed.
	retention = time.Hour
	// writeSpeed of a journal partition, bytes per second.
	writeSpeed = 10 << 20
)

// Path is the journal topic of a queue: <stateRoot>/journal/<topic>/__<consumer>.
// topic is relative to the database. Characters that YDB does not allow in names,
// and '_', become '_' and two hex digits, so that no two queues share a path.
func Path(stateRoot, topic, consumer string) string {
	parts := strings.Split(strings.Trim(topic, "/"), "/")
	for i, p := range parts {
		parts[i] = escape(p)
	}
	return path.Join(stateRoot, "journal", path.Join(parts...), "__"+escape(consumer))
}

func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// Ensure makes the journal topic where it is missing and returns its number of
// partitions.
func Ensure(ctx context.Context, topics Ydb_Topic_V1.TopicServiceClient, scheme Ydb_Scheme_V1.SchemeServiceClient, topic string) (int64, error) {
	n, err := partitions(ctx, topics, topic)
	if !ydbstatus.Is(err, Ydb.StatusIds_SCHEME_ERROR) {
		return n, err
	}
	dir, err := scheme.MakeDirectory(ctx, &Ydb_Scheme.MakeDirectoryRequest{Path: path.Dir(topic)})
	if err := ydbstatus.Operation(dir.GetOperation(), err, nil); err != nil {
		return 0, fmt.Errorf("making the directory of journal %s: %w", topic, err)
	}
	made, err := topics.CreateTopic(ctx, &Ydb_Topic.CreateTopicRequest{
		Path:                              topic,
		PartitioningSettings:              &Ydb_Topic.PartitioningSettings{MinActivePartitions: 1},
		RetentionPeriod:                   durationpb.New(retention),
		PartitionWriteSpeedBytesPerSecond: writeSpeed,
		PartitionWriteBurstBytes:          writeSpeed,
		SupportedCodecs:                   &Ydb_Topic.SupportedCodecs{Codecs: []int32{int32(Ydb_Topic.Codec_CODEC_RAW)}},
		Consumers:                         []*Ydb_Topic.Consumer{{Name: trimConsumer, Important: true}},
	})
	err = ydbstatus.Operation(made.GetOperation(), err, nil)
	if err != nil && !ydbstatus.Is(err, Ydb.StatusIds_ALREADY_EXISTS) {
		return 0, fmt.Errorf("making journal %s: %w", topic, err)
	}
	return partitions(ctx, topics, topic)
}

// Remove drops the journal topic of a queue that was deleted. A missing one is
// no error.
func Remove(ctx context.Context, topics Ydb_Topic_V1.TopicServiceClient, topic string) error {
	resp, err := topics.DropTopic(ctx, &Ydb_Topic.DropTopicRequest{Path: topic})
	err = ydbstatus.Operation(resp.GetOperation(), err, nil)
	if ydbstatus.Is(err, Ydb.StatusIds_SCHEME_ERROR) {
		return nil
	}
	return err
}

// Trim tells the server that the records of a journal partition below offset are
// needed no more.
func Trim(ctx context.Context, topics Ydb_Topic_V1.TopicServiceClient, topic string, partition, offset int64) error {
	resp, err := topics.CommitOffset(ctx, &Ydb_Topic.CommitOffsetRequest{
		Path: topic, PartitionId: partition, Consumer: trimConsumer, Offset: offset,
	})
	if err := ydbstatus.Operation(resp.GetOperation(), err, nil); err != nil {
		return fmt.Errorf("trimming journal %s: %w", topic, err)
	}
	return nil
}

// committed tells the offset that Trim was last called with.
func committed(ctx context.Context, topics Ydb_Topic_V1.TopicServiceClient, topic string, partition int64) (int64, error) {
	resp, err := topics.DescribeConsumer(ctx, &Ydb_Topic.DescribeConsumerRequest{
		Path: topic, Consumer: trimConsumer, IncludeStats: true,
	})
	var result Ydb_Topic.DescribeConsumerResult
	if err := ydbstatus.Operation(resp.GetOperation(), err, &result); err != nil {
		return 0, err
	}
	for _, p := range result.GetPartitions() {
		if p.GetPartitionId() == partition {
			return p.GetPartitionConsumerStats().GetCommittedOffset(), nil
		}
	}
	return 0, fmt.Errorf("%w: journal %s has no partition %d", ErrDamaged, topic, partition)
}

func partitions(ctx context.Context, topics Ydb_Topic_V1.TopicServiceClient, topic string) (int64, error) {
	resp, err := topics.DescribeTopic(ctx, &Ydb_Topic.DescribeTopicRequest{Path: topic})
	var result Ydb_Topic.DescribeTopicResult
	if err := ydbstatus.Operation(resp.GetOperation(), err, &result); err != nil {
		return 0, err
	}
	return int64(len(result.GetPartitions())), nil
}
