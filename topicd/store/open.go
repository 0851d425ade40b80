package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Open opens or creates the store in o.Dir.
//
// It fails with ErrLocked when the directory is in use, with a *DamagedError
// that names the file when the store cannot be trusted, with ErrVersion when a
// newer program wrote it.
func Open(o Options) (*Store, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	s := &Store{
		opts: o, metrics: m,
		queue:  newQueue(o.QueueOps, o.QueueBytes),
		rounds: make(chan round, maxRoundsInFlight),
		failed: make(chan struct{}),
	}
	if err := o.FS.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("creating data directory %s: %w", o.Dir, err)
	}
	if err := s.lockDir(); err != nil {
		return nil, err
	}
	if err := s.openDB(); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	if err := s.check(); err != nil {
		cerr := s.db.Close()
		s.cache.Unref()
		if cerr != nil {
			o.Logger.Warn("closing a damaged store", slog.Any("error", cerr))
		}
		return nil, errors.Join(err, s.lock.Close())
	}
	s.wg.Add(2)
	go s.commitLoop()
	go s.finishLoop()
	return s, nil
}

func (s *Store) lockDir() error {
	lock, err := pebble.LockDirectory(s.opts.Dir, s.opts.FS)
	switch {
	case err == nil:
		s.lock = lock
		return nil
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES) && !errors.Is(err, fs.ErrPermission),
		strings.Contains(err.Error(), "lock held"):
		return fmt.Errorf("%w: %s", ErrLocked, s.opts.Dir)
	default:
		return fmt.Errorf("locking data directory %s: %w", s.opts.Dir, err)
	}
}

func (s *Store) pebbleOptions() *pebble.Options {
	logger := pebbleLogger{log: s.opts.Logger, fail: s.fail}
	po := &pebble.Options{
		FS:           s.opts.FS,
		Lock:         s.lock,
		Cache:        s.cache,
		Logger:       logger,
		MemTableSize: uint64(s.opts.MemTableBytes),
		// One active and three waiting for their flush: a burst does not stall
		// on the first slow flush, and memory stays bounded.
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       32,
		LBaseMaxBytes:               256 << 20,
		MaxOpenFiles:                512,
		// The version is pinned: a newer pebble must not lift the format of an
		// existing directory by itself.
		FormatMajorVersion: pebble.FormatValueSeparation,
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) {
				s.opts.Logger.Error("pebble background error", slog.Any("error", err))
			},
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				s.fail(&DamagedError{File: info.Path, Err: info.Details})
			},
		},
	}
	// Bodies are often compressed by their producers, and two cores are better
	// spent on requests: tables are not compressed on the way down.
	po.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	return po
}

func (s *Store) openDB() error {
	if err := checkManifest(s.opts.FS, s.opts.Dir); err != nil {
		return err
	}
	s.cache = pebble.NewCache(s.opts.CacheBytes)
	db, err := pebble.Open(s.opts.Dir, s.pebbleOptions())
	if err != nil {
		s.cache.Unref()
		return openError(s.opts.FS, s.opts.Dir, err)
	}
	s.db = db
	return nil
}

// openError turns an error of pebble.Open into one that names the file.
func openError(fsys vfs.FS, dir string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EMFILE) {
		return fmt.Errorf("opening topic store in %s: %w", dir, err)
	}
	return &DamagedError{File: blame(fsys, dir, err), Err: err}
}

// check reads the version and verifies tables and partitions.
func (s *Store) check() error {
	version, err := s.get(formatKey())
	if err != nil {
		return openError(s.opts.FS, s.opts.Dir, err)
	}
	if version == nil {
		return s.initialise()
	}
	if len(version) != 1 || version[0] != FormatVersion {
		return fmt.Errorf("%w: %s has version %v, this program knows %d", ErrVersion, s.opts.Dir, version, FormatVersion)
	}
	if err := s.verifyTables(); err != nil {
		return err
	}
	return s.verifyPartitions()
}

func (s *Store) initialise() error {
	it, err := s.db.NewIter(nil)
	if err != nil {
		return fmt.Errorf("looking into a new store: %w", err)
	}
	used := it.First()
	if err := it.Close(); err != nil {
		return openError(s.opts.FS, s.opts.Dir, err)
	}
	if used {
		return &DamagedError{File: s.opts.Dir, Err: errors.New("the store has data but no format version")}
	}
	if err := s.db.Set(formatKey(), []byte{FormatVersion}, pebble.Sync); err != nil {
		return fmt.Errorf("writing the format version: %w", err)
	}
	return nil
}
