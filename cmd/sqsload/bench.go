package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"sqsgate/cmd/sqsload/load"
	"sqsgate/cmd/sqsload/process"
	"sqsgate/cmd/sqsload/report"
	"sqsgate/cmd/sqsload/sqs"
)

// benchCommand measures the figures that the project is judged by.
type benchCommand struct {
	Server      string        `required:"" type:"existingfile" help:"The sqsgate binary."`
	Connections int           `default:"64" help:"Connections, each with one request at a time."`
	Body        size          `default:"1KiB" help:"Size of the bodies."`
	Duration    time.Duration `default:"8s" help:"Time measured, of each run."`
	Warmup      time.Duration `default:"2s" help:"Time before that, not measured."`
	Repeat      int           `default:"3" help:"Runs of each figure; the best counts, since others may use the machine."`
	Messages    int           `default:"1000000" help:"Waiting messages for the memory figure; 0: leave it out."`
	Only        []string      `help:"Only these figures: send, send-batch, life, life-batch."`
	DataRoot    string        `type:"path" help:"Directory for the data of the servers; default: beside the binary. On a file system in memory, durability costs nothing and the figures mean nothing."`
	Profiles    string        `type:"path" help:"Keep CPU and heap profiles of the server in this directory, of one more run that does not count."`
	Report      string        `type:"path" help:"Write the report as JSON into this file."`
	Quiet       bool          `help:"No line a second."`
}

// aims are the first aims on two cores shared with the load; memory in bytes.
func aims() []report.Aim {
	return []report.Aim{
		{Name: "SendMessage", Scenario: string(load.Send), Want: 10_000},
		{Name: "SendMessageBatch(10)", Scenario: string(load.SendBatch), Want: 50_000},
		{Name: "lives, one by one", Scenario: string(load.Life), Want: 4_000},
		{Name: "lives, in tens", Scenario: string(load.LifeBatch), Want: 20_000},
	}
}

const memoryAim = 1 << 30 // bytes

// Run measures and reports a table.
func (c *benchCommand) Run(ctx context.Context, s *streams) error {
	if c.Repeat < 1 {
		return fmt.Errorf("repeat: want at least 1, not %d", c.Repeat)
	}
	if c.DataRoot == "" {
		c.DataRoot = filepath.Dir(c.Server)
	}
	if c.Profiles != "" {
		if err := os.MkdirAll(c.Profiles, 0o755); err != nil {
			return fmt.Errorf("making the directory of profiles: %w", err)
		}
	}
	b := &report.Bench{Body: int(c.Body), Connections: c.Connections, Repeat: c.Repeat, MemoryAim: memoryAim}
	for _, aim := range aims() {
		if !c.wants(aim.Scenario) {
			continue
		}
		if err := c.figure(ctx, s, aim, b); err != nil {
			return fmt.Errorf("figure %s: %w", aim.Scenario, err)
		}
	}
	if c.Messages > 0 {
		if err := c.memory(ctx, s, b); err != nil {
			return fmt.Errorf("memory figure: %w", err)
		}
	}
	if err := b.Text(s.out); err != nil {
		return err
	}
	if c.Report != "" {
		if err := report.Write(c.Report, b); err != nil {
			return err
		}
	}
	if b.Broken() > 0 {
		return errBroken
	}
	return nil
}

func (c *benchCommand) wants(scenario string) bool {
	if len(c.Only) == 0 {
		return true
	}
	for _, only := range c.Only {
		if only == scenario {
			return true
		}
	}
	return false
}

// figure measures one scenario on a fresh server, each run on a new queue.
func (c *benchCommand) figure(ctx context.Context, s *streams, aim report.Aim, b *report.Bench) error {
	return c.withServer(ctx, func(server *process.Server) error {
		o, err := c.options(s, server, load.Scenario(aim.Scenario))
		if err != nil {
			return err
		}
		f := report.Figure{Aim: aim}
		for range c.Repeat {
			r, err := load.Run(ctx, o)
			if err != nil {
				return err
			}
			f.Runs = append(f.Runs, r)
		}
		b.Figures = append(b.Figures, f)
		if c.Profiles == "" {
			return nil
		}
		return c.profile(ctx, server, o, aim.Scenario)
	})
}

// profile takes the server's CPU profile over the measured time of one run.
func (c *benchCommand) profile(ctx context.Context, server *process.Server, o load.Options, name string) error {
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error {
		_, err := load.Run(both, o)
		return err
	})
	group.Go(func() error {
		wait := time.NewTimer(o.Warmup)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-both.Done():
			return both.Err()
		}
		page := fmt.Sprintf("profile?seconds=%d", max(1, int(o.Duration/time.Second)))
		return server.Profile(both, page, filepath.Join(c.Profiles, name+".cpu.pprof"))
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return server.Profile(ctx, "allocs", filepath.Join(c.Profiles, name+".allocs.pprof"))
}

// memory fills a queue and looks at the server.
func (c *benchCommand) memory(ctx context.Context, s *streams, b *report.Bench) error {
	return c.withServer(ctx, func(server *process.Server) error {
		o, err := c.options(s, server, load.SendBatch)
		if err != nil {
			return err
		}
		o.Warmup, o.Duration, o.Messages, o.Keep = 0, time.Hour, c.Messages, true
		r, err := load.Run(ctx, o)
		if err != nil {
			return err
		}
		b.Waiting = r.Ledger.Sent
		b.ResidentBytes, b.PeakBytes = process.Resident(server.PID())
		if c.Profiles == "" {
			return nil
		}
		return server.Profile(ctx, "heap", filepath.Join(c.Profiles, "memory.heap.pprof"))
	})
}

func (c *benchCommand) options(s *streams, server *process.Server, scenario load.Scenario) (load.Options, error) {
	endpoint, err := sqs.ParseEndpoint(server.Endpoint(), false)
	o := load.Options{
		Endpoint: endpoint, Scenario: scenario, Connections: c.Connections, BodyBytes: int(c.Body),
		Warmup: c.Warmup, Duration: c.Duration, ServerPID: server.PID(),
	}
	if !c.Quiet {
		o.Live = s.live
	}
	return o, err
}

func (c *benchCommand) withServer(ctx context.Context, use func(*process.Server) error) error {
	server, err := process.Start(ctx, c.Server, c.DataRoot)
	if err != nil {
		return err
	}
	return errors.Join(use(server), server.Close())
}
