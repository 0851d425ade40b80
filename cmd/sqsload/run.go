package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"sqsgate/cmd/sqsload/load"
	"sqsgate/cmd/sqsload/report"
	"sqsgate/cmd/sqsload/sqs"
)

// errBroken means that the report holds broken promises of the queue.
var errBroken = errors.New("the queue broke its promises; see the check above")

// loadFlags are the flags of a load, whatever it is put on.
type loadFlags struct {
	Endpoint    string        `required:"" help:"URL of the SQS endpoint, like http://127.0.0.1:9324."`
	AllowRemote bool          `help:"Allow an endpoint that is not a loopback address."`
	Sign        bool          `help:"Sign requests with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION."`
	Scenario    load.Scenario `enum:"send,send-batch,life,life-batch,drain" default:"life" help:"What each connection repeats: send; send-batch (tens); life (send, receive, delete); life-batch (the same in tens); drain (fill the queue first, then receive and delete in tens until it is empty)."`
	Connections int           `default:"64" help:"Connections, each with one request at a time."`
	Body        size          `default:"1KiB" help:"Size of the bodies."`
	Duration    time.Duration `default:"10s" help:"Time measured; of drain, at most."`
	Warmup      time.Duration `default:"2s" help:"Time before that, not measured."`
	Rate        float64       `default:"0" help:"Operations per second of all connections together, kept to even when answers are slow; 0: as fast as possible."`
	Messages    int           `default:"0" help:"Send at most so many messages; 0: no bound but the time. drain: messages to fill, default 100000."`
	FIFO        bool          `name:"fifo" help:"Use a FIFO queue."`
	Groups      int           `default:"0" help:"Message groups of the FIFO queue, default 1000."`
	Visibility  time.Duration `default:"30s" help:"Visibility timeout of the queue."`
	Timeout     time.Duration `default:"30s" help:"Limit of one request."`
	PID         int           `name:"server-pid" default:"0" help:"Process of the server on this machine, to report what it uses."`
	Report      string        `type:"path" help:"Write the report as JSON into this file."`
	Quiet       bool          `help:"No line a second."`
}

func (f *loadFlags) options(s *streams) (load.Options, error) {
	endpoint, err := sqs.ParseEndpoint(f.Endpoint, f.AllowRemote)
	if err != nil {
		return load.Options{}, err
	}
	o := load.Options{
		Endpoint: endpoint, Scenario: f.Scenario, Connections: f.Connections, BodyBytes: int(f.Body),
		Warmup: f.Warmup, Duration: f.Duration, Rate: f.Rate, Messages: f.Messages,
		FIFO: f.FIFO, Groups: f.Groups, Visibility: f.Visibility, Timeout: f.Timeout, ServerPID: f.PID,
		Live: s.live,
	}
	if f.Quiet {
		o.Live = io.Discard
	}
	if f.Sign {
		if o.Signer, err = sqs.NewSigner(os.Getenv); err != nil {
			return load.Options{}, err
		}
	}
	return o, nil
}

// runCommand is one load on one queue.
type runCommand struct {
	loadFlags
	Queue      string `help:"Queue to use; it is made if it is not there, stays, and its messages of others are deleted like one's own. Default: a new one, deleted at the end."`
	Keep       bool   `help:"Do not delete the new queue."`
	Partitions int    `default:"0" help:"Number of partitions of a new queue (sqsgate only)."`
}

// Run measures and reports.
func (c *runCommand) Run(ctx context.Context, s *streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	o.Queue, o.Keep, o.Partitions = c.Queue, c.Keep, c.Partitions
	r, err := load.Run(ctx, o)
	if err != nil {
		return fmt.Errorf("load %s: %w", c.Scenario, err)
	}
	if err := r.Text(s.out); err != nil {
		return err
	}
	if c.Report != "" {
		if err := report.Write(c.Report, r); err != nil {
			return err
		}
	}
	return verdict(r)
}

func verdict(r *report.Run) error {
	if r.Checked && r.Ledger.Broken() > 0 {
		return errBroken
	}
	return nil
}
