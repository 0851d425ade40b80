package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/codec"
	"sqsgate/consumer/lease"
	"sqsgate/internal/logread"
	"sqsgate/internal/ydbstatus"
)

// SequenceWriter writes messages exactly once: each has a number that grows, and
// the topic passes over numbers it has seen from the producer.
type SequenceWriter interface {
	// Write returns nil when all messages are durable, now or since an earlier
	// attempt. After an error some may be; the caller repeats the same messages.
	Write(ctx context.Context, messages []Numbered) error
	Close()
}

// Numbered is one message of a SequenceWriter. The group, or without one the
// key, decides on the partition; the same message must have the same.
type Numbered struct {
	Number int64
	Group  string
	Key    string
	Record codec.Record
}

const (
	moveBatch   = 64
	moveTimeout = 10 * time.Second
	// unmovableDelay is how long a message stays hidden whose dead-letter queue
	// does not take it.
	unmovableDelay = 30 * time.Second
)

// errNoTarget means that the dead-letter queue is gone, or no queue any more.
var errNoTarget = errors.New("the dead-letter queue does not exist")

// move is one dead-letter move of the machine.
type move struct {
	offset   int64
	sequence uint64
	receives uint32
}

// mover carries out the moves of one tenure, in the order of their numbers. Its
// goroutine runs while there are some.
type mover struct {
	t      *tenure
	target Settings
	writer SequenceWriter // the goroutine's

	mu      sync.Mutex
	queue   []move
	running bool
}

// add takes moves that are durable in the journal.
func (m *mover) add(moves []move) {
	if len(moves) == 0 {
		return
	}
	m.mu.Lock()
	m.queue = append(m.queue, moves...)
	start := !m.running
	m.running = true
	m.mu.Unlock()
	if start {
		m.t.tasks.Go(func() { m.run(m.t.ctx) })
	}
}

func (m *mover) run(ctx context.Context) {
	defer m.closeWriter()
	for attempt := 0; ; {
		m.mu.Lock()
		batch := m.queue[:min(len(m.queue), moveBatch)]
		if len(batch) == 0 {
			m.running = false
			m.mu.Unlock()
			return
		}
		m.mu.Unlock()
		err := m.move(ctx, batch)
		switch {
		case ctx.Err() != nil:
			return // the next tenure goes on
		case err == nil:
			attempt = 0
			m.t.s.q.c.metrics.moved.Add(float64(len(batch)))
			m.t.post(event{kind: eventMoved, sequence: batch[len(batch)-1].sequence})
		case errors.Is(err, errNoTarget):
			attempt = 0
			m.t.s.q.c.metrics.unmovable.Add(float64(len(batch)))
			m.t.s.log.Warn("messages stay in their queue", slog.Any("error", err), slog.Int("messages", len(batch)))
			m.t.post(event{kind: eventUnmovable, moves: batch})
		default:
			m.t.s.log.Warn("dead-letter move failed, trying again", slog.Any("error", err), slog.Int("attempt", attempt))
			m.closeWriter()
			if !pause(ctx, backOff(attempt)) {
				return
			}
			attempt++
			continue
		}
		m.mu.Lock()
		m.queue = m.queue[len(batch):]
		m.mu.Unlock()
	}
}

// move writes a batch to the dead-letter queue.
func (m *mover) move(ctx context.Context, batch []move) error {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	q := m.t.s.q
	settings := *q.settings.Load()
	if settings.DeadLetterTopic == "" {
		return fmt.Errorf("%w: the redrive policy was removed", errNoTarget)
	}
	if err := q.checkTarget(ctx, settings); err != nil {
		return err
	}
	messages := make([]Numbered, 0, len(batch))
	offsets := make([]int64, len(batch))
	byOffset := make(map[int64]move, len(batch))
	for i, v := range batch {
		offsets[i], byOffset[v.offset] = v.offset, v
	}
	// The machine numbers the moves of a step in the order of delivery, which need
	// not be that of the offsets.
	found := make(map[int64]codec.Record, len(batch))
	err := m.t.source.each(ctx, slices.Sorted(slices.Values(offsets)), func(msg *logread.Message) {
		found[msg.Offset] = m.t.deadLetter(msg, byOffset[msg.Offset], settings)
	})
	if err != nil {
		return fmt.Errorf("reading messages to move: %w", err)
	}
	for _, v := range batch {
		r, ok := found[v.offset]
		if !ok {
			continue // retention has removed it
		}
		h := codec.Peek(r)
		messages = append(messages, Numbered{
			Number: int64(v.sequence),
			Group:  h.Group(&r, q.spec.FIFO),
			Key:    strconv.FormatInt(m.t.s.partition, 10) + "/" + strconv.FormatInt(v.offset, 10),
			Record: r,
		})
	}
	if m.writer == nil || m.target != settings {
		m.closeWriter()
		producer := fmt.Sprintf("dlq/%016x/%d", q.spec.Incarnation, m.t.s.partition)
		m.writer, m.target = q.c.opts.Sequence(settings.DeadLetterTopic, producer), settings
	}
	err = m.writer.Write(ctx, messages)
	if ydbstatus.Is(err, Ydb.StatusIds_SCHEME_ERROR) {
		return fmt.Errorf("%w: %w", errNoTarget, err)
	}
	return err
}

func (m *mover) closeWriter() {
	if m.writer != nil {
		m.writer.Close()
		m.writer = nil
	}
}

// checkTarget makes sure that the target topic is a queue: with the consumer gone
// nobody would find the messages.
func (q *Queue) checkTarget(ctx context.Context, s Settings) error {
	resp, err := q.c.opts.Topics.DescribeConsumer(ctx, &Ydb_Topic.DescribeConsumerRequest{
		Path: s.DeadLetterTopic, Consumer: s.DeadLetterConsumer,
	})
	err = ydbstatus.Operation(resp.GetOperation(), err, nil)
	if ydbstatus.Is(err, Ydb.StatusIds_SCHEME_ERROR) || ydbstatus.Is(err, Ydb.StatusIds_NOT_FOUND) {
		return fmt.Errorf("%w: %w", errNoTarget, err)
	}
	return err
}

// deadLetter is the record of a message as it goes to the dead-letter queue:
// the same bytes and metadata, and what SQS keeps of the message's past.
func (t *tenure) deadLetter(m *logread.Message, v move, s Settings) codec.Record {
	q := t.s.q
	return codec.Moved(record(m), codec.Past{
		MessageID:    codec.MessageID(q.c.opts.Database, q.spec.Topic, t.s.partition, m.Offset),
		SentMillis:   m.WriteTime,
		SourceARN:    s.SourceARN,
		ReceiveCount: int(v.receives),
		FIFO:         q.spec.FIFO,
	})
}

// moveStarted notes a move that the machine began; it may start when what was
// journaled with it is durable.
func (t *tenure) moveStarted(e *lease.Effect) {
	t.pending.moves = append(t.pending.moves, move{offset: e.Offset, sequence: e.Sequence, receives: e.Receives})
}
