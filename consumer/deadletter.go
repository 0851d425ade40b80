package consumer

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

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

// The targets of moves. Any other number is a queue's, by TargetOf; dead letters
// have one, too, where Settings tell it.
const (
	// toDeadLetters: the dead-letter queue of the redrive policy as it is when the
	// message is written.
	toDeadLetters uint64 = 0
	// TargetSources: the queue each message came to its dead-letter queue from.
	TargetSources uint64 = 1
)

// TargetOf is the number of a queue as a target of MoveOut. It follows from the
// name, so that a move goes on after a restart.
func TargetOf(queue string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(queue)) // a hash takes everything
	return max(h.Sum64(), TargetSources+1)
}

// Destination is the queue that messages are moved to.
type Destination struct {
	Topic    string // absolute path
	Consumer string
}

const (
	moveBatch      = 64
	moveBatchBytes = 16 << 20 // one message aside
	moveTimeout    = 10 * time.Second
	// moveSpeed, bytes/s, is what a topic takes at least: half of what it takes by
	// default.
	moveSpeed = 512 << 10
	// maxMovedBytes is what a message may have that moves because of its size: a
	// cluster takes requests of 64 MB, and its metadata grow.
	maxMovedBytes = 63_900_000
	// unmovableDelay is how long a message stays hidden that its target does not
	// take.
	unmovableDelay = 30 * time.Second
	// countedWait is how long messages that are counted may take to be there to be
	// moved out, and countedPause the time between two looks.
	countedWait  = 5 * time.Second
	countedPause = 20 * time.Millisecond
)

// errNoTarget means that the target queue is gone, or no queue any more.
var errNoTarget = errors.New("the target queue does not exist")

// move is one move that the machine began.
type move struct {
	offset   int64
	sequence uint64
	target   uint64
	letter   bool
	receives uint32
	size     int64 // bytes, 0 = little
}

// mover carries out the moves of one tenure, in the order of their numbers. Its
// goroutine runs while there are some.
type mover struct {
	t       *tenure
	writers map[string]SequenceWriter // by topic; the goroutine's
	// begun is the highest sequence that may be in its target already, because this
	// tenure or an earlier one tried.
	begun uint64

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
	for attempt := 0; ; {
		batch, size := m.next()
		if len(batch) == 0 {
			if m.idle() {
				return
			}
			continue
		}
		refused, err := m.move(ctx, batch, size)
		if ctx.Err() != nil {
			m.closeWriters()
			return // the next tenure goes on
		}
		if err != nil {
			m.t.s.log.Warn("moving messages failed, trying again", slog.Any("error", err), slog.Int("attempt", attempt))
			m.closeWriters()
			if !pause(ctx, backOff(attempt)) {
				return
			}
			attempt++
			continue
		}
		attempt = 0
		m.t.s.q.c.metrics.moved.Add(float64(len(batch) - len(refused)))
		m.t.s.q.c.metrics.unmovable.Add(float64(len(refused)))
		m.t.post(event{kind: eventMoved, moves: refused, sequence: batch[len(batch)-1].sequence})
		m.mu.Lock()
		m.queue = m.queue[len(batch):]
		m.mu.Unlock()
	}
}

// next is what to move together, and about how many bytes that is.
func (m *mover) next() (batch []move, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for n < min(len(m.queue), moveBatch) && (n == 0 || size+m.queue[n].size <= moveBatchBytes) {
		size += m.queue[n].size
		n++
	}
	return m.queue[:n], size
}

// idle ends the goroutine unless moves have come meanwhile. The writers are closed
// before the next goroutine can make its own.
func (m *mover) idle() bool {
	m.closeWriters()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = len(m.queue) > 0
	return !m.running
}

// move writes a batch to its targets. It returns the moves that cannot be done,
// because their target is gone.
func (m *mover) move(ctx context.Context, batch []move, size int64) (refused []move, err error) {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout+time.Duration(size/moveSpeed)*time.Second)
	defer cancel()
	settings := *m.t.s.q.settings.Load()
	records, err := m.read(ctx, batch)
	if err != nil {
		return nil, fmt.Errorf("reading messages to move: %w", err)
	}
	var topics []string
	byTopic := make(map[string][]Numbered)
	checked := make(map[Destination]error)
	lost := make(map[string][]move) // by topic, those without a queue on it
	for _, v := range batch {
		original, ok := records[v.offset]
		if !ok {
			continue // retention has removed it
		}
		to, record, err := m.t.destination(v, &original, settings)
		if err == nil {
			known := false
			if err, known = checked[to]; !known {
				err = m.t.s.q.checkTarget(ctx, to)
				checked[to] = err
			}
		}
		switch {
		case errors.Is(err, errNoTarget):
			m.t.s.log.Warn("a message stays in its queue", slog.Int64("offset", v.offset), slog.Any("error", err))
			lost[to.Topic] = append(lost[to.Topic], v)
			continue
		case err != nil:
			return nil, err
		}
		if byTopic[to.Topic] == nil {
			topics = append(topics, to.Topic)
		}
		byTopic[to.Topic] = append(byTopic[to.Topic], m.numbered(v, record))
	}
	if refused, err = m.absent(ctx, lost, records); err != nil {
		return nil, err
	}
	m.begun = max(m.begun, batch[len(batch)-1].sequence)
	for _, topic := range topics {
		err := m.writer(topic).Write(ctx, byTopic[topic])
		if err != nil {
			return nil, fmt.Errorf("writing to %s: %w", topic, err)
		}
	}
	return refused, nil
}

// read returns the messages of the moves, by offset.
func (m *mover) read(ctx context.Context, batch []move) (map[int64]logread.Message, error) {
	offsets := make([]int64, len(batch))
	for i, v := range batch {
		offsets[i] = v.offset
	}
	// Moves are numbered in the order of delivery, which need not be that of the
	// offsets.
	slices.Sort(offsets)
	found := make(map[int64]logread.Message, len(batch))
	err := m.t.source.each(ctx, offsets, func(msg *logread.Message) { found[msg.Offset] = *msg })
	return found, err
}

func (m *mover) numbered(v move, r codec.Record) Numbered {
	h := codec.Peek(r)
	return Numbered{
		Number: int64(v.sequence), // counts from 1
		Group:  h.Group(&r, m.t.s.q.spec.FIFO),
		Key:    strconv.FormatInt(m.t.s.partition, 10) + "/" + strconv.FormatInt(v.offset, 10),
		Record: r,
	}
}

func (m *mover) writer(topic string) SequenceWriter {
	if m.writers == nil {
		m.writers = make(map[string]SequenceWriter)
	}
	if m.writers[topic] == nil {
		m.writers[topic] = m.t.s.q.c.opts.Sequence(topic, m.producer())
	}
	return m.writers[topic]
}

// producer is the producer id of the partition's moves.
func (m *mover) producer() string {
	return fmt.Sprintf("dlq/%016x/%d", m.t.s.q.spec.Incarnation, m.t.s.partition)
}

func (m *mover) closeWriters() {
	for _, w := range m.writers {
		w.Close()
	}
	clear(m.writers)
}

// destination tells where a message goes, and as which record. A dead letter
// keeps what SQS keeps of its past; a message that leaves a dead-letter queue is
// a new one.
func (t *tenure) destination(v move, m *logread.Message, s Settings) (Destination, codec.Record, error) {
	q := t.s.q
	if !v.letter {
		if q.c.opts.Resolve == nil {
			return Destination{}, codec.Record{}, errNoTarget
		}
		r := record(m)
		to, ok := q.c.opts.Resolve(v.target, codec.DeadLetterSource(r))
		if !ok {
			return Destination{}, codec.Record{}, errNoTarget
		}
		return to, codec.Redriven(r), nil
	}
	to, ok := q.deadLetters(v.target, s)
	if !ok {
		return Destination{}, codec.Record{}, fmt.Errorf("%w: the dead-letter queue is gone, or the redrive policy", errNoTarget)
	}
	return to, codec.Moved(record(m), codec.Past{
		MessageID:    codec.MessageID(q.c.opts.Database, q.spec.Topic, t.s.partition, m.Offset),
		SentMillis:   m.WriteTime,
		SourceARN:    s.SourceARN,
		ReceiveCount: int(v.receives),
		FIFO:         q.spec.FIFO,

		DeduplicationID: q.deadLetterID(t.s.partition, m.Offset),
	}), nil
}

// deadLetterID is the deduplication id of a dead letter. The message id would not do:
// a queue made again under the name uses the same ones again, and the dead-letter
// queue would take its dead letters for copies of those of the deleted queue.
func (q *Queue) deadLetterID(partition, offset int64) string {
	return codec.MessageID(q.c.opts.Database, fmt.Sprintf("%s/%016x", q.spec.Topic, q.spec.Incarnation), partition, offset)
}

// deadLetters finds the dead-letter queue of a move. It stays the one that the
// policy named when the move began: the message may be there already.
func (q *Queue) deadLetters(target uint64, s Settings) (Destination, bool) {
	if s.DeadLetterTopic != "" && (target == toDeadLetters || target == s.DeadLetterTarget) {
		return Destination{Topic: s.DeadLetterTopic, Consumer: s.DeadLetterConsumer}, true
	}
	if target == toDeadLetters || q.c.opts.Resolve == nil {
		return Destination{}, false
	}
	return q.c.opts.Resolve(target, "")
}

// checkTarget makes sure that the target topic is a queue: with the consumer gone
// nobody would find the messages.
func (q *Queue) checkTarget(ctx context.Context, to Destination) error {
	resp, err := q.c.opts.Topics.DescribeConsumer(ctx, &Ydb_Topic.DescribeConsumerRequest{
		Path: to.Topic, Consumer: to.Consumer,
	})
	err = ydbstatus.Operation(resp.GetOperation(), err, nil)
	if ydbstatus.Missing(err) {
		return fmt.Errorf("%w: %w", errNoTarget, err)
	}
	return err
}

// moveStarted notes a move that the machine began; it may start when what was
// journaled with it is durable.
func (t *tenure) moveStarted(e *lease.Effect) {
	t.pending.moves = append(t.pending.moves, move{
		offset: e.Offset, sequence: e.Sequence, target: e.Target, letter: e.DeadLetter, receives: e.Receives, size: e.Size,
	})
}

// oversized counts and tells a message that no answer can hold.
func (t *tenure) oversized(e *lease.Effect) {
	outcome, reason := "skipped", "it is a dead letter already, or too large to be moved"
	switch {
	case e.Sequence > 0:
		outcome, reason = "dead_letter", "configured"
	case t.s.q.c.opts.SkipOversized:
		reason = "configured"
	case t.s.q.config().MaxReceives == 0:
		reason = "there is no dead-letter queue"
	}
	t.s.q.c.metrics.oversized.WithLabelValues(outcome).Inc()
	t.s.log.Warn("message is too large for an answer", slog.Int64("offset", e.Offset),
		slog.Int64("bytes", e.Size), slog.String("outcome", outcome), slog.String("reason", reason))
}

// moved takes the outcome of moves up to a number; those in refused stay.
func (t *tenure) moved(now int64, upto uint64, refused []move) {
	for _, v := range refused {
		t.input(now, lease.Input{Kind: lease.Unmovable, Offset: v.offset, Visibility: unmovableDelay.Milliseconds()})
		for _, c := range t.moving {
			if v.sequence > c.lastMove-uint64(c.moves) && v.sequence <= c.lastMove {
				c.refused++
			}
		}
	}
	t.input(now, lease.Input{Kind: lease.Moved, Sequence: upto})
	t.pending.moved = max(t.pending.moved, upto)
}

// MoveOut moves up to most visible messages to a target: TargetSources, or
// another queue by TargetOf. It returns when they are in their new place and
// gone from here, also after a crash; 0 without an error says that none is
// visible. ErrQueueGone: a target is gone, and its messages stay; moved counts
// the others. After ErrUnavailable some may be moved.
func (q *Queue) MoveOut(ctx context.Context, target uint64, most int) (moved int, err error) {
	for deadline := time.Now().Add(countedWait); ; {
		if moved, err = q.moveOut(ctx, target, most); moved > 0 || err != nil || time.Now().After(deadline) {
			return moved, err
		}
		// Of a queue that was not served until now, and of a long one, messages are
		// still being loaded. Those behind a FIFO group in flight count as visible,
		// too, and cannot be waited for.
		counts, err := q.Counts(ctx)
		if err != nil || counts.Visible == 0 {
			return 0, err
		}
		if !pause(ctx, countedPause) {
			return 0, ErrUnavailable
		}
	}
}

func (q *Queue) moveOut(ctx context.Context, target uint64, most int) (moved int, err error) {
	shards, err := q.ready(ctx)
	if err != nil {
		return 0, err
	}
	refused := 0
	for _, s := range shards {
		if moved+refused >= most {
			break
		}
		c := newCall(lease.Input{Kind: lease.MoveOut, Max: most - moved - refused, Target: target})
		if err := s.do(ctx, c); err != nil {
			return moved, err
		}
		moved += c.moves - c.refused
		refused += c.refused
	}
	if refused > 0 {
		return moved, ErrQueueGone
	}
	return moved, nil
}
