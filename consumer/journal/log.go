package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sqsgate/consumer/lease"
	"sqsgate/internal/logwrite"
)

// ErrFenced means that another owner has taken the partition.
var ErrFenced = errors.New("another owner has taken the partition")

const (
	epochShift = 40
	// fenceAttempts bounds how often Open tries to get a higher epoch than the
	// one before it, when several owners fight.
	fenceAttempts = 10
)

// Options of a Log.
type Options struct {
	Topics    Ydb_Topic_V1.TopicServiceClient
	Path      string // of the journal topic, absolute
	Partition int64  // of the journal topic
	Key       Key
	// Owner is this process's address, kept in the Epoch record.
	Owner string
	// Acked is called once for every Append, in their order, when all of it is
	// durable or may not be. After an error no more calls follow. It must not block.
	Acked func(Ack)
}

// Ack is the outcome of one Append.
type Ack struct {
	// SnapshotOffset is where the snapshot of the Append begins, -1 without one.
	SnapshotOffset int64
	Err            error
}

// Log is the journal of one data partition, owned by this process until an
// Append fails.
type Log struct {
	opts   Options
	stream Ydb_Topic_V1.TopicService_StreamWriteClient
	cancel context.CancelFunc
	epoch  int64
	n      int64 // of the last message in this epoch
	lsn    uint64
	reader sync.WaitGroup
	// inFlight holds, for the Append under way, how many of its records come
	// before the snapshot; -1 without one.
	inFlight chan int
}

// Open takes the partition over: it fences earlier owners, then returns what the
// journal holds. ctx bounds the life of the Log.
func Open(ctx context.Context, opts Options) (*Log, Replay, error) {
	ctx, cancel := context.WithCancel(ctx)
	log := &Log{opts: opts, cancel: cancel, inFlight: make(chan int, 1)}
	replay, err := log.open(ctx)
	if err != nil {
		cancel()
		return nil, Replay{}, fmt.Errorf("opening the journal of partition %d: %w", opts.Key.Partition, err)
	}
	log.reader.Add(1)
	go log.acks()
	return log, replay, nil
}

// Epoch tells the epoch of this ownership; later ones are higher.
func (l *Log) Epoch() int64 { return l.epoch }

// Producer is the producer id of a key.
func (k Key) Producer() string {
	return fmt.Sprintf("sc/%016x/%d", k.Incarnation, k.Partition)
}

func (l *Log) open(ctx context.Context) (Replay, error) {
	least := int64(1)
	for range fenceAttempts {
		offset, err := l.fence(ctx, least)
		if errors.Is(err, ErrFenced) {
			continue
		}
		if err != nil {
			return Replay{}, err
		}
		from, err := committed(ctx, l.opts.Topics, l.opts.Path, l.opts.Partition)
		if err != nil {
			return Replay{}, err
		}
		f := fold{key: l.opts.Key}
		if err := f.read(ctx, l.opts.Topics, l.opts.Path, l.opts.Partition, l.opts.Key.Producer(), from, offset); err != nil {
			return Replay{}, err
		}
		if f.epoch > l.epoch {
			// The server has forgotten the producer's sequence numbers; the log has not.
			least = f.epoch + 1
			continue
		}
		l.lsn = f.lsn
		if f.replay.SnapshotOffset < 0 {
			f.replay.SnapshotOffset = offset
		}
		return f.replay, nil
	}
	return Replay{}, ErrFenced
}

// fence opens the write session and appends the Epoch record. It returns the
// record's offset.
func (l *Log) fence(ctx context.Context, least int64) (int64, error) {
	stream, last, err := logwrite.Open(ctx, l.opts.Topics, l.opts.Path, l.opts.Partition, l.opts.Key.Producer())
	if err != nil {
		return 0, err
	}
	l.stream = stream
	l.epoch = max(last>>epochShift+1, least)
	l.n = 0
	r := record{typ: typeEpoch, key: l.opts.Key, epoch: l.epoch, wall: time.Now().UnixMilli(), owner: l.opts.Owner}
	if err := stream.Send(l.request([][]byte{r.encode()})); err != nil {
		return 0, err
	}
	answer, err := logwrite.Receive(stream)
	if err != nil {
		return 0, err
	}
	acks := answer.GetWriteResponse().GetAcks()
	if len(acks) != 1 || acks[0].GetWritten() == nil {
		return 0, ErrFenced
	}
	return acks[0].GetWritten().GetOffset(), nil
}

// Append sends ops and, when it is not nil, a snapshot of the state after them.
// One Append may be under way at a time: the next one waits for Acked.
func (l *Log) Append(wallclock int64, ops []lease.Op, snapshot []byte) error {
	var records [][]byte
	next := func(r record) {
		l.lsn++
		r.key, r.epoch, r.lsn, r.wall = l.opts.Key, l.epoch, l.lsn, wallclock
		if r.typ == typeSnapshot {
			r.snapshot = l.lsn - r.chunk
		}
		records = append(records, r.encode())
	}
	if len(ops) > 0 {
		next(record{typ: typeOps, ops: ops})
	}
	at := -1
	if snapshot != nil {
		at = len(records)
		chunks := max(1, (len(snapshot)+maxChunk-1)/maxChunk)
		for i := range chunks {
			part := snapshot[i*maxChunk : min((i+1)*maxChunk, len(snapshot))]
			next(record{typ: typeSnapshot, chunk: uint64(i), chunks: uint64(chunks), chunkBytes: part})
		}
	}
	l.inFlight <- at
	if err := l.stream.Send(l.request(records)); err != nil {
		return fmt.Errorf("appending to the journal of partition %d: %w", l.opts.Key.Partition, err)
	}
	return nil
}

// Close ends the session and waits for its goroutine. What is under way may or
// may not become durable.
func (l *Log) Close() {
	l.cancel()
	l.reader.Wait()
}

func (l *Log) request(records [][]byte) *Ydb_Topic.StreamWriteMessage_FromClient {
	messages := make([]*Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData, len(records))
	now := timestamppb.Now()
	for i, data := range records {
		messages[i] = &Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData{
			SeqNo: l.epoch<<epochShift + l.n, CreatedAt: now, Data: data, UncompressedSize: int64(len(data)),
		}
		l.n++
	}
	return &Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{
			WriteRequest: &Ydb_Topic.StreamWriteMessage_WriteRequest{
				Codec: int32(Ydb_Topic.Codec_CODEC_RAW), Messages: messages,
			},
		},
	}
}

func (l *Log) acks() {
	defer l.reader.Done()
	for {
		answer, err := logwrite.Receive(l.stream)
		if err != nil {
			l.opts.Acked(Ack{SnapshotOffset: -1, Err: err})
			return
		}
		acks := answer.GetWriteResponse().GetAcks()
		if acks == nil {
			continue // an answer to a token update
		}
		ack := Ack{SnapshotOffset: -1}
		at := <-l.inFlight
		for i, a := range acks {
			if a.GetWritten() == nil {
				ack.Err = ErrFenced
				break
			}
			if i == at {
				ack.SnapshotOffset = a.GetWritten().GetOffset()
			}
		}
		l.opts.Acked(ack)
		if ack.Err != nil {
			return
		}
	}
}
