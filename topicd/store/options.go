package store

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
)

// Options configures Open. Only Dir has no default.
type Options struct {
	Dir string // directory of the database; created when missing
	FS  vfs.FS // nil = the disk

	CacheBytes    int64 // block cache, bytes; default 64 MiB
	MemTableBytes int64 // size of one memtable, bytes; at most four are alive; default 32 MiB
	QueueBytes    int64 // bytes of waiting ops; Submit blocks above it; default 64 MiB
	QueueOps      int   // number of waiting ops; default 16384

	// MinFreeBytes is the free space of the file system below which ops with
	// a size are refused with ErrDiskFull. It is the room that pebble needs to
	// flush and compact what it has accepted. Default 128 MiB.
	MinFreeBytes int64

	// VerifyBytes bounds how much table data has its checksums verified when
	// opening. Tables beyond it are verified when they are read. Default 512 MiB,
	// negative = none.
	VerifyBytes int64

	Logger     *slog.Logger          // nil = discard
	Registerer prometheus.Registerer // nil = metrics are kept but not exported
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = 32 << 20
	}
	if o.QueueBytes == 0 {
		o.QueueBytes = 64 << 20
	}
	if o.QueueOps == 0 {
		o.QueueOps = 16384
	}
	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = 128 << 20
	}
	if o.VerifyBytes == 0 {
		o.VerifyBytes = 512 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	if o.Dir == "" {
		return errors.New("topic store: the data directory is not set")
	}
	if o.CacheBytes < 0 || o.MemTableBytes < 1<<10 || o.QueueBytes < 1 || o.QueueOps < 1 {
		return fmt.Errorf("topic store: sizes must be positive (cache %d, memtable %d, queue %d bytes, %d ops)",
			o.CacheBytes, o.MemTableBytes, o.QueueBytes, o.QueueOps)
	}
	return nil
}
