package topicd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
)

// Options configures New. DataDir is needed unless FS is given.
type Options struct {
	DataDir  string // directory of the store; default "topicd" inside a given FS
	FS       vfs.FS // nil = the disk; tests use vfs.NewCrashableMem
	Database string // absolute path of the database; default "/local"

	// Advertise is the host:port that ListEndpoints names. Empty = the host the
	// caller asked for (:authority) and the port its call came in on.
	Advertise string

	CacheBytes    int64 // block cache of the store, bytes; default 64 MiB
	MemTableBytes int64 // memtable of the store, bytes; default 32 MiB
	TailBytes     int64 // recent messages kept decoded for live readers, all partitions together; default 32 MiB
	MinFreeBytes  int64 // free disk space below which writes are refused; default 128 MiB

	// EnforceQuota delays writes above the partition's write speed, as a cluster does.
	EnforceQuota bool
	// User and Password are the one user there is. Every call over the network
	// then needs a token from Login; a channel inside the process does not.
	// Empty = everybody is anonymous.
	User, Password string
	TLS            *tls.Config // of Serve; nil = plain text

	RetentionEvery time.Duration // how often old messages are looked for; default 30 s

	Logger     *slog.Logger          // nil = discard
	Registerer prometheus.Registerer // nil = no metrics exported
	Control    *Control              // fault injection in tests; nil in production
}

func (o Options) withDefaults() Options {
	if o.DataDir == "" && o.FS != nil {
		o.DataDir = "topicd"
	}
	if o.Database == "" {
		o.Database = "/local"
	}
	if o.TailBytes == 0 {
		o.TailBytes = 32 << 20
	}
	if o.RetentionEvery == 0 {
		o.RetentionEvery = 30 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	if o.DataDir == "" {
		return errors.New("topicd: the data directory is not set")
	}
	if !strings.HasPrefix(o.Database, "/") || strings.HasSuffix(o.Database, "/") || strings.Contains(o.Database, "//") {
		return fmt.Errorf("topicd: database %q must be an absolute path such as /local", o.Database)
	}
	if o.TailBytes < 0 {
		return fmt.Errorf("topicd: tail size %d is negative", o.TailBytes)
	}
	if o.User == "" && o.Password != "" {
		return errors.New("topicd: a password without a user")
	}
	if o.RetentionEvery < 0 {
		return fmt.Errorf("topicd: retention interval %v is negative", o.RetentionEvery)
	}
	return nil
}
