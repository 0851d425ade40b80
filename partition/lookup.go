package partition

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/internal/logread"
)

const (
	lookupTimeout = 10 * time.Second
	lookupCredit  = 4 << 20
	// contentWindow is how far back a message with the same deduplication id may
	// lie: five minutes in YDB, and some for clocks that differ.
	contentWindow = 6 * time.Minute
	// contentKey is the metadata item newer YDB servers deduplicate by.
	contentKey = "message_deduplication_id"
)

// find reads the partition without a consumer to learn the offsets of messages
// the server has said are written. Messages are known by producer id and seqno;
// one the server took for a repeat of another message's content, by its
// deduplication id. -1 stands for not found.
func (w *writer) find(ctx context.Context, producer string, items []*pending) ([]int64, error) {
	w.topic.pool.metrics.lookups.Inc()
	s := &scan{w: w, producer: producer, items: items, offsets: make([]int64, len(items)), bySeq: make(map[int64]int, len(items))}
	floor, since := items[0].floor, items[0].sent
	for i, p := range items {
		s.offsets[i] = -1
		s.bySeq[p.seq] = i
		floor = min(floor, p.floor)
		if p.sent.Before(since) {
			since = p.sent
		}
	}
	request := logread.Request{Path: w.topic.path, Partition: w.id, Offset: floor, Credit: lookupCredit}
	if err := s.read(ctx, request, s.match); err != nil {
		return nil, fmt.Errorf("looking up offsets: %w", err)
	}
	if s.found < len(items) && s.contents() {
		request.Offset, request.Since = 0, since.Add(-contentWindow)
		if err := s.read(ctx, request, s.matchContent); err != nil {
			return nil, fmt.Errorf("looking up duplicates: %w", err)
		}
	}
	w.topic.pool.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "looked up offsets",
		slog.String("topic", w.topic.path), slog.Int64("partition", w.id),
		slog.Int("wanted", len(items)), slog.Int("found", s.found))
	return s.offsets, nil
}

// scan is one look-up.
type scan struct {
	w         *writer
	producer  string
	items     []*pending
	offsets   []int64
	found     int
	bySeq     map[int64]int
	byContent map[string][]int
}

func (s *scan) match(m *logread.Message) {
	if m.ProducerID != s.producer {
		return
	}
	if i, ok := s.bySeq[m.SeqNo]; ok && s.offsets[i] < 0 {
		s.offsets[i] = m.Offset
		s.found++
	}
}

// contents indexes the deduplication ids of what is not found yet.
func (s *scan) contents() bool {
	s.byContent = make(map[string][]int)
	for i, p := range s.items {
		if id, ok := content(p.data.GetMetadataItems()); ok && s.offsets[i] < 0 {
			s.byContent[id] = append(s.byContent[id], i)
		}
	}
	return len(s.byContent) > 0
}

// matchContent takes the newest message with the id: an older one may lie
// beyond the server's window.
func (s *scan) matchContent(m *logread.Message) {
	id, ok := content(m.Metadata)
	if !ok {
		return
	}
	for _, i := range s.byContent[id] {
		s.offsets[i] = m.Offset
	}
}

func content(items []*Ydb_Topic.MetadataItem) (string, bool) {
	for _, item := range items {
		if item.GetKey() == contentKey {
			return string(item.GetValue()), true
		}
	}
	return "", false
}

// read passes messages on to visit until all are found or the end as of now is
// reached. Only where a time bound leaves nothing to read may the server stay
// silent; the timeout then counts as the end.
func (s *scan) read(ctx context.Context, request logread.Request, visit func(*logread.Message)) error {
	limited, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	reader, err := logread.Open(limited, s.w.topic.pool.topics, request)
	if err != nil {
		return err
	}
	defer reader.Close()
	start, end := reader.Bounds()
	for next := max(request.Offset, start); next < end && s.found < len(s.items); {
		messages, cost, err := reader.Read()
		var ended *logread.EndedError
		if errors.As(err, &ended) {
			return nil
		}
		if err != nil {
			if limited.Err() != nil && ctx.Err() == nil && !request.Since.IsZero() {
				return nil
			}
			return err
		}
		for i := range messages {
			visit(&messages[i])
			next = max(next, messages[i].Offset+1)
		}
		reader.Grant(cost)
	}
	return nil
}
