package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// maxRoundBytes bounds one batch. Larger batches bypass pebble's memtable
	// and make every op of the round wait longer.
	maxRoundBytes = 4 << 20
	// maxRoundsInFlight is how many batches may wait for their sync.
	maxRoundsInFlight = 2
	// flushFreedBytes of deleted data are worth a flush of their own.
	flushFreedBytes = 8 << 20
)

// round is one batch on its way to the disk.
type round struct {
	batch *pebble.Batch // nil when no op wrote anything
	ops   []Op
	start time.Time
}

// Submit queues op. It blocks while the queue is full. An error means that
// the op was not queued and neither of its methods will be called.
func (s *Store) Submit(ctx context.Context, op Op) error {
	select {
	case <-s.failed:
		return s.Err()
	default:
	}
	return s.queue.put(ctx, s.failed, op)
}

func (s *Store) commitLoop() {
	defer s.wg.Done()
	defer close(s.rounds)
	var ops []Op
	for {
		select {
		case <-s.queue.ready:
		case <-s.failed:
			s.rejectQueued()
			return
		}
		var closed bool
		ops, closed = s.queue.take(ops[:0], maxRoundBytes)
		if len(ops) > 0 && !s.commitRound(ops) {
			s.rejectQueued()
			return
		}
		clear(ops)
		if closed {
			return
		}
	}
}

// commitRound lets the ops write one batch and hands it to the finisher. It
// returns false when the store has failed.
func (s *Store) commitRound(ops []Op) bool {
	r := round{start: time.Now(), ops: make([]Op, 0, len(ops))}
	full := s.diskFull()
	b := Batch{b: s.db.NewBatch()}
	for _, op := range ops {
		if full && op.Size() > 0 {
			op.Done(ErrDiskFull)
			continue
		}
		op.Apply(&b)
		r.ops = append(r.ops, op)
	}
	b.finish()
	err := b.err
	switch {
	case err != nil:
	case b.b.Empty():
		_ = b.b.Close() // an empty batch holds nothing that could fail
	default:
		r.batch = b.b
		s.metrics.batchBytes.Observe(float64(b.b.Len()))
		err = s.db.ApplyNoSyncWait(b.b, pebble.Sync)
	}
	if err != nil {
		s.fail(fmt.Errorf("writing a batch: %w", err))
		finish(r.ops, s.Err())
		return false
	}
	s.flushDeletions(b.freed)
	s.metrics.rounds.Inc()
	s.metrics.ops.Add(float64(len(r.ops)))
	s.rounds <- r
	return true
}

// flushDeletions gets the space of deleted data back: tables are dropped only
// when the deletion itself has left the memtable, which takes long on a store
// with little to write.
func (s *Store) flushDeletions(bytes int64) {
	s.freed += bytes
	if s.freed < flushFreedBytes {
		return
	}
	s.freed = 0
	if _, err := s.db.AsyncFlush(); err != nil {
		s.opts.Logger.Warn("flushing deletions", slog.Any("error", err))
	}
}

func (s *Store) finishLoop() {
	defer s.wg.Done()
	for r := range s.rounds {
		var err error
		if r.batch != nil {
			err = r.batch.SyncWait()
			// A failed write-ahead log is reported by pebble's logger as well; both
			// ways end in the same state.
			if err == nil {
				err = s.Err()
			}
			if err != nil && !errors.Is(err, ErrFailed) {
				s.fail(fmt.Errorf("syncing a batch: %w", err))
				err = s.Err()
			}
			if err == nil {
				err = r.batch.Close()
			}
			s.metrics.commitSeconds.Observe(time.Since(r.start).Seconds())
		}
		finish(r.ops, err)
	}
}

func (s *Store) rejectQueued() {
	s.queue.close()
	for {
		ops, closed := s.queue.take(nil, maxRoundBytes)
		finish(ops, s.Err())
		if closed {
			return
		}
	}
}

func finish(ops []Op, err error) {
	for _, op := range ops {
		op.Done(err)
	}
}

// diskFull asks the file system for its free space, at most once per round.
func (s *Store) diskFull() bool {
	usage, err := s.opts.FS.GetDiskUsage(s.opts.Dir)
	if err != nil {
		// Memory file systems cannot tell; a real disk that cannot tell will say
		// so at the next write.
		return false
	}
	full := usage.AvailBytes < uint64(s.opts.MinFreeBytes)
	if full != s.full {
		s.full = full
		s.metrics.setFull(full)
		s.logFull(full, usage.AvailBytes)
	}
	return full
}
