package journal

import (
	"context"
	"fmt"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"

	"sqsgate/consumer/lease"
	"sqsgate/internal/logread"
)

// replayCredit bounds the bytes under way while a journal is read.
const replayCredit = 4 << 20

// Replay is what a journal says: a snapshot (nil = the empty state) and the ops
// since, in order.
type Replay struct {
	Snapshot []byte
	Ops      []lease.Op
	Records  int   // ops records since the snapshot
	Bytes    int64 // of those records
	// Wallclock is the latest clock reading found, ms since the epoch. A new
	// owner's clock must not run behind it.
	Wallclock int64
	// SnapshotOffset is where in the journal partition the snapshot begins; without
	// one the first record, at the latest the Epoch record of this owner. What is
	// below it is not needed.
	SnapshotOffset int64
}

// fold takes the records of one key in log order and keeps what counts.
type fold struct {
	key   Key
	epoch int64
	lsn   uint64
	// started: the state is known from its beginning or from a snapshot.
	started bool
	seen    bool
	replay  Replay

	pending       []byte // chunks of a snapshot that is not complete
	pendingID     uint64
	pendingNext   uint64 // the next chunk; 0 = none pending
	pendingOffset int64
}

// add takes one record. The server passes over what an earlier owner writes after
// a fence; where such a record is, it may have been answered, and two owners did
// not know of each other.
func (f *fold) add(offset int64, data []byte) error {
	r, err := decode(data)
	if err != nil {
		return err
	}
	if r.key != f.key {
		return fmt.Errorf("%w: a record of incarnation %x partition %d was written by the producer of %x partition %d",
			ErrDamaged, r.key.Incarnation, r.key.Partition, f.key.Incarnation, f.key.Partition)
	}
	switch {
	case r.epoch >= f.epoch:
	case r.typ == typeEpoch:
		return nil // of an owner whom the server had told no sequence number
	default:
		return fmt.Errorf("%w: a record of epoch %d follows one of epoch %d", ErrDamaged, r.epoch, f.epoch)
	}
	if r.epoch > f.epoch {
		f.epoch, f.pendingNext = r.epoch, 0
	}
	f.replay.Wallclock = max(f.replay.Wallclock, r.wall)
	if r.typ == typeEpoch {
		return nil
	}
	f.seen = true
	if r.typ == typeSnapshot && r.chunk == 0 {
		f.pending, f.pendingID, f.pendingNext, f.pendingOffset = nil, r.lsn, 0, offset
	}
	if !f.started && r.lsn == 1 {
		f.started, f.replay.SnapshotOffset = true, offset
	} else if f.started && r.lsn != f.lsn+1 {
		return fmt.Errorf("%w: record %d follows record %d", ErrDamaged, r.lsn, f.lsn)
	}
	f.lsn = r.lsn
	if r.typ == typeSnapshot {
		return f.addChunk(r)
	}
	if f.started {
		f.replay.Ops = append(f.replay.Ops, r.ops...)
		f.replay.Records++
		f.replay.Bytes += int64(len(data))
	}
	return nil
}

func (f *fold) addChunk(r *record) error {
	if r.chunk != f.pendingNext || r.snapshot != f.pendingID {
		if !f.started {
			return nil // the first chunks were removed with what is older
		}
		return fmt.Errorf("%w: chunk %d of snapshot %d is out of order", ErrDamaged, r.chunk, r.snapshot)
	}
	f.pending = append(f.pending, r.chunkBytes...)
	f.pendingNext++
	if f.pendingNext < r.chunks {
		return nil
	}
	f.started = true
	f.replay = Replay{Snapshot: f.pending, Wallclock: f.replay.Wallclock, SnapshotOffset: f.pendingOffset}
	f.pending, f.pendingNext = nil, 0
	return nil
}

func (f *fold) finish() error {
	if f.seen && !f.started {
		return fmt.Errorf("%w: its beginning is missing and no snapshot is complete", ErrDamaged)
	}
	return nil
}

// read folds the records of producer in [from, upto] of a journal partition.
func (f *fold) read(ctx context.Context, topics Ydb_Topic_V1.TopicServiceClient, path string, partition int64, producer string, from, upto int64) error {
	f.replay.SnapshotOffset = -1
	reader, err := logread.Open(ctx, topics, logread.Request{
		Path: path, Partition: partition, Offset: from, Credit: replayCredit,
	})
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		messages, cost, err := reader.Read()
		if err != nil {
			return fmt.Errorf("reading the journal: %w", err)
		}
		for _, m := range messages {
			if m.Offset > upto {
				return f.finish()
			}
			if m.ProducerID == producer {
				if err := f.add(m.Offset, m.Data); err != nil {
					return fmt.Errorf("journal offset %d: %w", m.Offset, err)
				}
			}
			if m.Offset == upto {
				return f.finish()
			}
		}
		reader.Grant(cost)
	}
}
