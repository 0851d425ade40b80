package consumer

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/internal/logread"
	"sqsgate/internal/logwrite"
	"sqsgate/internal/ydbstatus"
)

// absent tells which moves are not in their targets, whose topics (the empty one
// aside) are no queues any more: only these may go back to their queue. The write
// of a move that was tried before may have succeeded, though nobody was told.
func (m *mover) absent(ctx context.Context, lost map[string][]move, records map[int64]logread.Message) ([]move, error) {
	var out []move
	for _, topic := range slices.Sorted(maps.Keys(lost)) {
		list := lost[topic]
		tried := make(map[int64]bool)
		since := int64(-1) // nothing was moved before it was written
		for _, v := range list {
			if at := records[v.offset].WriteTime; v.sequence <= m.begun {
				tried[int64(v.sequence)] = true
				if since < 0 || at < since {
					since = at
				}
			}
		}
		there := make(map[int64]bool)
		if topic != "" && len(tried) > 0 {
			var err error
			if there, err = m.find(ctx, topic, tried, since); err != nil {
				return nil, fmt.Errorf("looking for moved messages in %s: %w", topic, err)
			}
		}
		for _, v := range list {
			if !there[int64(v.sequence)] {
				out = append(out, v)
			}
		}
	}
	return out, nil
}

// find reads which of the numbers the topic holds. A topic that is gone holds none.
func (m *mover) find(ctx context.Context, topic string, numbers map[int64]bool, since int64) (map[int64]bool, error) {
	there := make(map[int64]bool)
	topics := m.t.s.q.c.opts.Topics
	resp, err := topics.DescribeTopic(ctx, &Ydb_Topic.DescribeTopicRequest{Path: topic, IncludeStats: true})
	var result Ydb_Topic.DescribeTopicResult
	err = ydbstatus.Operation(resp.GetOperation(), err, &result)
	if ydbstatus.Missing(err) {
		return there, nil
	}
	if err != nil {
		return nil, err
	}
	m.closeWriters()
	for _, p := range result.GetPartitions() {
		if p.GetActive() {
			if err := m.stopWrites(ctx, topic, p.GetPartitionId()); err != nil {
				return nil, err
			}
		}
	}
	// What came before the writes were stopped counts, too.
	resp, err = topics.DescribeTopic(ctx, &Ydb_Topic.DescribeTopicRequest{Path: topic, IncludeStats: true})
	if err := ydbstatus.Operation(resp.GetOperation(), err, &result); err != nil {
		return nil, err
	}
	for _, p := range result.GetPartitions() {
		end := p.GetPartitionStats().GetPartitionOffsets().GetEnd()
		if end == 0 {
			continue
		}
		var open source = func(ctx context.Context, req logread.Request) (*logread.Reader, error) {
			req.Path, req.Partition = topic, p.GetPartitionId()
			return logread.Open(ctx, topics, req)
		}
		err := open.since(ctx, millis(since), end, func(msg *logread.Message) {
			if msg.ProducerID == m.producer() && numbers[msg.SeqNo] {
				there[msg.SeqNo] = true
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return there, nil
}

// stopWrites ends what an earlier session of the producer may have under way: the
// server refuses it once there is a newer session.
func (m *mover) stopWrites(ctx context.Context, topic string, partition int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, _, err := logwrite.Open(ctx, m.t.s.q.c.opts.Topics, topic, partition, m.producer())
	return err
}
