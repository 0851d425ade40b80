package partition

import (
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
)

// Options configures a Pool. Only Topics has no default.
type Options struct {
	// Topics is the topic service, of a cluster or in process.
	Topics Ydb_Topic_V1.TopicServiceClient
	// Lanes is the number of write sessions a partition may have, 8.
	Lanes int
	// MaxQueuedBytes bounds what waits for an answer per partition, with about
	// 256 bytes of overhead a message. 32 MiB.
	MaxQueuedBytes int64
	// MaxInFlightBytes bounds what one lane has on the wire; a single request
	// may exceed it. 8 MiB.
	MaxInFlightBytes int64
	// IdleTimeout is how long an unused write session stays open. 5 minutes.
	IdleTimeout time.Duration
	// MapAge is the age from which a use of a partition map has it fetched again
	// in the background. 1 minute.
	MapAge time.Duration
	// FIFORate and FIFOBurst are messages per second and at once, per partition
	// of a FIFO topic. 1000; the burst equals the rate.
	FIFORate, FIFOBurst int
	// ThrottleWait is how long a message may wait for the FIFO rate. 200 ms;
	// negative means not at all.
	ThrottleWait time.Duration
	// Logger, nil discards.
	Logger *slog.Logger
	// Registerer takes the metrics, nil leaves them unregistered.
	Registerer prometheus.Registerer
}

func (o Options) withDefaults() Options {
	if o.Lanes == 0 {
		o.Lanes = 8
	}
	if o.MaxQueuedBytes == 0 {
		o.MaxQueuedBytes = 32 << 20
	}
	if o.MaxInFlightBytes == 0 {
		o.MaxInFlightBytes = 8 << 20
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = 5 * time.Minute
	}
	if o.MapAge == 0 {
		o.MapAge = time.Minute
	}
	if o.FIFORate == 0 {
		o.FIFORate = 1000
	}
	if o.FIFOBurst == 0 {
		o.FIFOBurst = o.FIFORate
	}
	if o.ThrottleWait == 0 {
		o.ThrottleWait = 200 * time.Millisecond
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Topics == nil:
		return errors.New("partition: Topics is required")
	case o.Lanes < 1 || o.Lanes > 256:
		return errors.New("partition: Lanes must be between 1 and 256")
	case o.MaxQueuedBytes < 1, o.MaxInFlightBytes < 1:
		return errors.New("partition: byte limits must be positive")
	case o.IdleTimeout < 1, o.MapAge < 1:
		return errors.New("partition: IdleTimeout and MapAge must be positive")
	case o.FIFORate < 1, o.FIFOBurst < 1:
		return errors.New("partition: the FIFO rate must be positive")
	}
	return nil
}
