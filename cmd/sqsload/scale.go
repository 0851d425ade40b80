package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"sqsgate/cmd/sqsload/load"
	"sqsgate/cmd/sqsload/report"
)

// scaleCommand shows what partitions bring.
type scaleCommand struct {
	loadFlags
	Partitions []int `default:"1,2,4,8" help:"Numbers of partitions to measure with."`
}

// Run measures and reports a table.
func (c *scaleCommand) Run(ctx context.Context, s *streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	var runs []*report.Run
	var broken error
	for _, n := range c.Partitions {
		if n < 1 {
			return fmt.Errorf("partitions: want at least 1, not %d", n)
		}
		o.Partitions = n
		r, err := load.Run(ctx, o)
		if err != nil {
			return fmt.Errorf("load %s on %d partitions: %w", c.Scenario, n, err)
		}
		runs = append(runs, r)
		broken = errors.Join(broken, verdict(r))
	}
	if err := scaleTable(s, o, runs); err != nil {
		return err
	}
	if c.Report != "" {
		if err := report.Write(c.Report, runs); err != nil {
			return err
		}
	}
	return broken
}

func scaleTable(s *streams, o load.Options, runs []*report.Run) error {
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(t, "%s, %d connections, %d byte bodies\n", o.Scenario, o.Connections, o.BodyBytes) // Flush tells
	_, _ = fmt.Fprintln(t, "partitions\tmessages/s\tof the first\tclient us/call\terrors\tbroken promises\t")
	for _, r := range runs {
		share := 0.0
		if first := runs[0].Figure(); first > 0 {
			share = r.Figure() / first
		}
		_, _ = fmt.Fprintf(t, "%d\t%.0f\t%.2f\t%.1f\t%d\t%d\t\n",
			r.Partitions, r.Figure(), share, r.Client.CPUMicrosPerCall, r.TotalErrors(), r.Ledger.Broken())
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	return nil
}
