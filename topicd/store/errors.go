package store

import (
	"errors"
	"fmt"
)

var (
	// ErrLocked is returned by Open when another process, or another Store of this one, has the data directory open.
	ErrLocked = errors.New("data directory is in use by another process")
	// ErrDiskFull tells an op that the file system has less free space than MinFreeBytes. The op
	// was not applied; the store goes on and accepts it again once there is room.
	ErrDiskFull = errors.New("disk is full")
	// ErrClosed tells that the store was closed before the op was taken.
	ErrClosed = errors.New("topic store is closed")
	// ErrFailed tells that the store could not make a batch durable, or met damage while
	// running. Nothing more is acknowledged; the process must stop and reopen.
	ErrFailed = errors.New("topic store has failed")
	// ErrVersion is returned by Open when the directory was written by a newer format.
	ErrVersion = errors.New("unknown format version of the topic store")
)

// DamagedError says which file of the store cannot be trusted.
type DamagedError struct {
	File string // path of the file, or of the data directory when no single file is to blame
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("topic store is damaged: %s: %v", e.File, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }
