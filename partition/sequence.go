package partition

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sqsgate/codec"
	"sqsgate/internal/logwrite"
)

// Numbered is one message of a Sequence.
type Numbered struct {
	// Number is above 0 and grows from message to message.
	Number int64
	// Group decides on the partition, without one Key does. A message that is
	// written again must have the same.
	Group, Key string
	Record     codec.Record
}

// Sequence writes messages exactly once under a producer id and numbers of the
// caller, who can repeat them after a crash. Unlike the lanes it waits for each
// batch, and it tells no offsets. It is not safe for concurrent use.
type Sequence struct {
	pool     *Pool
	path     string
	producer string
	sessions map[int64]*numberedSession // by partition
}

// numberedSession is a write session of a Sequence to one partition.
type numberedSession struct {
	stream Ydb_Topic_V1.TopicService_StreamWriteClient
	cancel context.CancelFunc
	last   int64 // the highest number the partition has
}

// Sequence opens nothing before the first Write. Nobody else may use the
// producer id at the same time: the later session ends the earlier one.
func (p *Pool) Sequence(path, producer string) *Sequence {
	return &Sequence{pool: p, path: path, producer: producer, sessions: make(map[int64]*numberedSession)}
}

// Close ends the sessions.
func (s *Sequence) Close() {
	for id, session := range s.sessions {
		session.cancel()
		delete(s.sessions, id)
	}
}

// Write returns nil when every message is durable, by this call or an earlier
// one. Partitions that were split meanwhile are followed. After an error some of
// the messages may be durable; repeating the call is safe. Errors: ErrTopicGone,
// ErrUnavailable when ctx ended first, others from the topic service.
func (s *Sequence) Write(ctx context.Context, messages []Numbered) error {
	var b backoff
	for {
		m, err := s.pool.Map(ctx, s.path)
		if err == nil {
			err = s.write(ctx, m, messages)
		}
		if err == nil {
			return nil
		}
		s.Close()
		switch kind := classify(err); {
		case errors.Is(err, ErrTopicGone):
			return err
		case kind == failureGone:
			return fmt.Errorf("%w: %w", ErrTopicGone, err)
		case kind == failureBad || kind == failureFatal:
			return err
		case kind == failureOverloaded:
			if _, err := s.pool.topic(s.path).refresh(ctx, m); err != nil && errors.Is(err, ErrTopicGone) {
				return err
			}
		}
		if ctx.Err() != nil || s.pool.aborted() {
			return fmt.Errorf("writing to %s: %w: %w", s.path, ErrUnavailable, err)
		}
		b.pause(ctx, s.pool.abort)
	}
}

// write sends each partition its messages, in order, and waits for all of them.
func (s *Sequence) write(ctx context.Context, m *Map, messages []Numbered) error {
	var order []int64
	parts := make(map[int64][]Numbered)
	for _, msg := range messages {
		key := msg.Group
		if key == "" {
			key = msg.Key
		}
		id, ok := m.ForGroup(key)
		if !ok {
			return fmt.Errorf("%w: no partition for a message", errProtocol)
		}
		if parts[id] == nil {
			order = append(order, id)
		}
		parts[id] = append(parts[id], msg)
	}
	for _, id := range order {
		if err := s.writePart(ctx, id, parts[id]); err != nil {
			return fmt.Errorf("partition %d: %w", id, err)
		}
	}
	return nil
}

func (s *Sequence) writePart(ctx context.Context, id int64, messages []Numbered) error {
	session, err := s.session(ctx, id)
	if err != nil {
		return err
	}
	// The server knows these: an earlier call stored them.
	messages = slices.DeleteFunc(messages, func(m Numbered) bool { return m.Number <= session.last })
	for len(messages) > 0 {
		run := sameCodec(messages)
		if err := session.write(ctx, messages[:run]); err != nil {
			return err
		}
		session.last = messages[run-1].Number
		messages = messages[run:]
	}
	return nil
}

func (s *Sequence) session(ctx context.Context, id int64) (*numberedSession, error) {
	if open := s.sessions[id]; open != nil {
		return open, nil
	}
	// The session outlives this call, but its opening does not.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	stream, last, err := openStream(life, s.pool.topics, s.path, id, s.producer)
	if err != nil {
		cancel()
		return nil, err
	}
	session := &numberedSession{stream: stream, cancel: cancel, last: last}
	s.sessions[id] = session
	return session, nil
}

// write sends one request and waits for its acknowledgement.
func (n *numberedSession) write(ctx context.Context, messages []Numbered) error {
	stop := context.AfterFunc(ctx, n.cancel)
	defer stop()
	request := &Ydb_Topic.StreamWriteMessage_WriteRequest{Codec: messages[0].Record.Codec}
	now := timestamppb.Now()
	for _, m := range messages {
		data := &messageData{
			SeqNo: m.Number, CreatedAt: now, Data: m.Record.Data, UncompressedSize: int64(len(m.Record.Data)),
		}
		for _, item := range m.Record.Metadata {
			data.MetadataItems = append(data.MetadataItems, &Ydb_Topic.MetadataItem{Key: item.Key, Value: item.Value})
		}
		request.Messages = append(request.Messages, data)
	}
	err := n.stream.Send(&Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{WriteRequest: request},
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for acked := 0; acked < len(messages); {
		answer, err := logwrite.Receive(n.stream)
		if err != nil {
			return err
		}
		acked += len(answer.GetWriteResponse().GetAcks()) // skipped ones are durable, too
	}
	return nil
}

// sameCodec is how many of the messages at the front have the first one's codec:
// a request has one.
func sameCodec(messages []Numbered) int {
	n := 1
	for n < len(messages) && messages[n].Record.Codec == messages[0].Record.Codec {
		n++
	}
	return n
}
