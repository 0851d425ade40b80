package store

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// Store is an open topic store. All methods may be called concurrently,
// except Close with any other.
type Store struct {
	opts    Options
	db      *pebble.DB
	cache   *pebble.Cache
	lock    *pebble.Lock
	metrics *metrics
	queue   *queue
	rounds  chan round
	wg      sync.WaitGroup
	full    bool  // what diskFull said last; the committer's
	freed   int64 // bytes deleted since the last flush for that; the committer's

	failOnce sync.Once
	failed   chan struct{}
	failErr  error // set before failed is closed

	closeOnce sync.Once
	closeErr  error
}

// Failed is closed when the store can make nothing durable any more.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Err returns nil while the store works, else why it failed (ErrFailed or a
// *DamagedError inside).
func (s *Store) Err() error {
	select {
	case <-s.failed:
		return s.failErr
	default:
		return nil
	}
}

func (s *Store) fail(err error) {
	s.failOnce.Do(func() {
		s.failErr = fmt.Errorf("%w: %w", ErrFailed, err)
		s.opts.Logger.Error("topic store failed", slog.String("dir", s.opts.Dir), slog.Any("error", err))
		close(s.failed)
	})
}

func (s *Store) logFull(full bool, avail uint64) {
	if full {
		s.opts.Logger.Error("disk is full, refusing writes",
			slog.String("dir", s.opts.Dir), slog.Uint64("available_bytes", avail), slog.Int64("reserve_bytes", s.opts.MinFreeBytes))
		return
	}
	s.opts.Logger.Info("disk has room again, taking writes", slog.String("dir", s.opts.Dir), slog.Uint64("available_bytes", avail))
}

// Close commits what is queued, waits for it and closes the database. Ops
// submitted later get ErrClosed. It is idempotent. A failed store is
// abandoned instead: pebble may be stuck inside, and the process has to stop.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.queue.close()
		stopped := make(chan struct{})
		go func() { s.wg.Wait(); close(stopped) }()
		select {
		case <-stopped:
		case <-s.failed:
			s.closeErr = s.failErr
			return
		}
		if err := s.Err(); err != nil {
			s.closeErr = err
			return
		}
		err := s.db.Close()
		s.cache.Unref()
		s.closeErr = errors.Join(err, s.lock.Close())
	})
	return s.closeErr
}

// pebbleLogger passes pebble's messages on. Fatalf is pebble's way to say
// that it cannot go on: the store is marked as failed and the goroutine never
// returns into pebble, as returning would let it acknowledge what is lost.
type pebbleLogger struct {
	log  *slog.Logger
	fail func(error)
}

func (pebbleLogger) Infof(string, ...any) {}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.log.Error("pebble reports an error", slog.String("detail", fmt.Sprintf(format, args...)))
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.fail(fmt.Errorf(format, args...))
	select {}
}
