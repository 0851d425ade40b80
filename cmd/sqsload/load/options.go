package load

import (
	"errors"
	"fmt"
	"io"
	"time"

	"sqsgate/cmd/sqsload/sqs"
)

// Scenario is what a worker does again and again.
type Scenario string

// The scenarios. Those with batches do everything in tens.
const (
	Send      Scenario = "send"
	SendBatch Scenario = "send-batch"
	Life      Scenario = "life" // send, receive, delete
	LifeBatch Scenario = "life-batch"
	Drain     Scenario = "drain" // fill first, then receive and delete until nothing is left
)

const (
	maxConnections = 4096
	maxBody        = 1 << 20 // bytes; the largest that SQS takes
	batchSize      = 10
)

// Options describe a run. Zero values mean the defaults.
type Options struct {
	Endpoint    sqs.Endpoint
	Signer      sqs.Signer // nil: requests are not signed
	Scenario    Scenario   // default send
	Connections int        // default 64
	BodyBytes   int        // default 1024, at least 80
	Warmup      time.Duration
	Duration    time.Duration // of the measurement; drain: at most. Default 10 s
	Rate        float64       // operations per second of all connections; 0 = as fast as possible
	Messages    int           // sends end after so many; 0 = no bound but the time. drain: how many to fill, default 100,000

	Queue      string // default: one with a random name, deleted at the end
	Keep       bool   // keep a queue with a random name
	FIFO       bool
	Groups     int // of a FIFO queue, default 1000
	Partitions int // sqsgate only: active partitions, from the start and at most; 0 = the server's default

	Visibility time.Duration // of received messages, whole seconds, default 30 s
	Timeout    time.Duration // of one request, default 30 s
	ServerPID  int           // process to account for; 0 = unknown
	Live       io.Writer     // one line a second; nil = none
}

func (o Options) withDefaults() Options {
	if o.Scenario == "" {
		o.Scenario = Send
	}
	if o.Connections == 0 {
		o.Connections = 64
	}
	if o.BodyBytes == 0 {
		o.BodyBytes = 1024
	}
	if o.Duration == 0 {
		o.Duration = 10 * time.Second
	}
	if o.Groups == 0 && o.FIFO {
		o.Groups = 1000
	}
	if o.Messages == 0 && o.Scenario == Drain {
		o.Messages = 100_000
	}
	if o.Visibility == 0 {
		o.Visibility = 30 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Live == nil {
		o.Live = io.Discard
	}
	return o
}

func (o Options) validate() error {
	switch o.Scenario {
	case Send, SendBatch, Life, LifeBatch, Drain:
	default:
		return fmt.Errorf("unknown scenario %q", o.Scenario)
	}
	switch {
	case o.Connections < 1 || o.Connections > maxConnections:
		return fmt.Errorf("connections: want 1 to %d, not %d", maxConnections, o.Connections)
	case o.BodyBytes < minBody || o.BodyBytes > maxBody:
		return fmt.Errorf("body: want %d to %d bytes, not %d", minBody, maxBody, o.BodyBytes)
	case o.Scenario == SendBatch && o.BodyBytes*batchSize > maxBody, o.Scenario == LifeBatch && o.BodyBytes*batchSize > maxBody:
		return fmt.Errorf("body: ten in a batch may have %d bytes", maxBody)
	case o.Warmup < 0 || o.Duration < 0:
		return errors.New("warm-up and duration cannot be negative")
	case o.Rate < 0 || o.Messages < 0 || o.Partitions < 0:
		return errors.New("rate, messages and partitions cannot be negative")
	case !o.FIFO && o.Groups != 0:
		return errors.New("groups: only a FIFO queue has them (--fifo)")
	case o.Groups < 0 || o.Groups > 1_000_000:
		return fmt.Errorf("groups: want 1 to 1000000, not %d", o.Groups)
	case o.Visibility < time.Second || o.Visibility > 12*time.Hour || o.Visibility%time.Second != 0:
		return fmt.Errorf("visibility: want whole seconds from 1s to 12h, not %s", o.Visibility)
	}
	return nil
}

// batch is how many messages one call carries.
func (o Options) batch() int {
	switch o.Scenario {
	case SendBatch, LifeBatch, Drain:
		return batchSize
	case Send, Life:
	}
	return 1
}

// receives tells whether the scenario takes messages out again.
func (o Options) receives() bool { return o.Scenario != Send && o.Scenario != SendBatch }
