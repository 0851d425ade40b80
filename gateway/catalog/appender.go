package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sqsgate/codec"
	"sqsgate/internal/logwrite"
)

const (
	maxPending      = 1024     // records that wait to be written or to come back
	maxPendingBytes = 64 << 20 // of records that wait to be written
	maxRequestBytes = 8 << 20  // of one write request, one record apart
	// ackTimeout is how long a write may stay unanswered before the session is
	// given up and opened again.
	ackTimeout = 15 * time.Second
)

var errBacklog = errors.New("too many catalogue records are waiting")

// appender owns the write session of the log. Its producer id is new in every
// process and its sequence numbers grow by one, so that what a broken session
// leaves unanswered can be sent again: the server skips what it has.
type appender struct {
	topics   Ydb_Topic_V1.TopicServiceClient
	topic    string
	producer string
	logger   *slog.Logger
	wake     chan struct{}

	mu      sync.Mutex
	next    int64
	unsaid  []pendingRecord // not yet acknowledged, by seqno
	bytes   int
	waiters map[int64]chan outcome
}

type pendingRecord struct {
	seq  int64
	data []byte
	at   time.Time
}

func newAppender(topics Ydb_Topic_V1.TopicServiceClient, topic, producer string, logger *slog.Logger) *appender {
	return &appender{
		topics: topics, topic: topic, producer: producer, logger: logger,
		wake: make(chan struct{}, 1), next: 1, waiters: map[int64]chan outcome{},
	}
}

// add queues a record and returns its seqno and the channel on which settle
// answers. The caller must call forget when it stops waiting.
func (a *appender) add(data []byte) (int64, <-chan outcome, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiters) >= maxPending || len(a.unsaid) >= maxPending || a.bytes+len(data) > maxPendingBytes {
		return 0, nil, unavailable(errBacklog)
	}
	seq := a.next
	a.next++
	a.unsaid = append(a.unsaid, pendingRecord{seq: seq, data: data, at: time.Now()})
	a.bytes += len(data)
	answer := make(chan outcome, 1)
	a.waiters[seq] = answer
	select {
	case a.wake <- struct{}{}:
	default:
	}
	return seq, answer, nil
}

// settle answers whoever wrote the record with this seqno.
func (a *appender) settle(seq int64, o outcome) {
	a.mu.Lock()
	answer := a.waiters[seq]
	delete(a.waiters, seq)
	a.mu.Unlock()
	if answer != nil {
		answer <- o
	}
}

// forget ends the wait for a record. If it is not in the log yet it is not
// written any more, unless it is under way just now: what nobody waits for must
// not take effect minutes later.
func (a *appender) forget(seq int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiters, seq)
	for i := range a.unsaid {
		if a.unsaid[i].seq == seq {
			a.bytes -= len(a.unsaid[i].data)
			// A new array: a batch under way shares the old one.
			a.unsaid = slices.Concat(a.unsaid[:i], a.unsaid[i+1:])
			return
		}
	}
}

// run writes until ctx ends. It opens a session only when there is something to
// write.
func (a *appender) run(ctx context.Context) {
	for failures := 0; ; failures++ {
		if !a.await(ctx) {
			return
		}
		progress, err := a.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if progress {
			failures = 0
		}
		a.logger.LogAttrs(ctx, slog.LevelWarn, "catalogue write session ended",
			slog.Any("error", err), slog.Int("failures", failures))
		if !sleep(ctx, failures) {
			return
		}
	}
}

// await waits for a record to write; false when ctx ended.
func (a *appender) await(ctx context.Context) bool {
	for {
		if len(a.batch()) > 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-a.wake:
		}
	}
}

// batch returns the records of the next request.
func (a *appender) batch() []pendingRecord {
	a.mu.Lock()
	defer a.mu.Unlock()
	size := 0
	for i := range a.unsaid {
		size += len(a.unsaid[i].data)
		if i > 0 && size > maxRequestBytes {
			return a.unsaid[:i:i]
		}
	}
	return a.unsaid[:len(a.unsaid):len(a.unsaid)]
}

// acknowledged drops the records up to seq: they are in the log.
func (a *appender) acknowledged(seq int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for n < len(a.unsaid) && a.unsaid[n].seq <= seq {
		a.bytes -= len(a.unsaid[n].data)
		n++
	}
	a.unsaid = a.unsaid[n:]
}

// session writes through one stream until it breaks. One request is under way at
// a time; records that queue up meanwhile make the next one.
func (a *appender) session(ctx context.Context) (progress bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := time.AfterFunc(ackTimeout, cancel)
	defer watch.Stop()
	stream, last, err := logwrite.Open(ctx, a.topics, a.topic, 0, a.producer)
	if err != nil {
		return false, fmt.Errorf("opening the write session: %w", err)
	}
	a.acknowledged(last)
	for {
		watch.Stop()
		if !a.await(ctx) {
			return progress, ctx.Err()
		}
		watch.Reset(ackTimeout)
		batch := a.batch()
		if len(batch) == 0 {
			continue // its callers gave up
		}
		if err := logwrite.Send(stream, writeRequest(batch)); err != nil {
			return progress, fmt.Errorf("writing: %w", err)
		}
		for last := batch[len(batch)-1].seq; ; {
			msg, err := logwrite.Receive(stream)
			if err != nil {
				return progress, fmt.Errorf("writing: %w", err)
			}
			acks := msg.GetWriteResponse().GetAcks()
			if len(acks) == 0 {
				continue
			}
			seq := acks[len(acks)-1].GetSeqNo()
			a.acknowledged(seq)
			progress = true
			if seq >= last {
				break
			}
		}
	}
}

func writeRequest(batch []pendingRecord) *Ydb_Topic.StreamWriteMessage_FromClient {
	messages := make([]*Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData, len(batch))
	for i := range batch {
		messages[i] = &Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData{
			SeqNo: batch[i].seq, CreatedAt: timestamppb.New(batch[i].at),
			Data: batch[i].data, UncompressedSize: int64(len(batch[i].data)),
		}
	}
	return &Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{
			WriteRequest: &Ydb_Topic.StreamWriteMessage_WriteRequest{Messages: messages, Codec: codec.Raw},
		},
	}
}
