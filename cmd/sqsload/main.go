package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

type commandLine struct {
	Run   runCommand   `cmd:"" help:"Put one load on one queue."`
	Scale scaleCommand `cmd:"" help:"Put the same load on queues with different numbers of partitions, one after the other."`
	Bench benchCommand `cmd:"" help:"Start a server, measure its figures, stop it."`
}

// streams is what a command gets from its surroundings.
type streams struct {
	out  io.Writer // reports
	live io.Writer // progress and complaints
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	helped := false
	parser, err := kong.New(&commandLine{},
		kong.Name("sqsload"),
		kong.Description("Load test of an SQS endpoint."),
		kong.Writers(stdout, stderr),
		kong.BindTo(ctx, (*context.Context)(nil)), // first argument of Run
		kong.Exit(func(int) { helped = true }),    // only --help exits
	)
	if err != nil {
		panic("the command line's own definition is wrong: " + err.Error())
	}
	line, err := parser.Parse(args)
	if helped {
		return exitOK
	}
	status := exitUsage
	if err == nil {
		status = exitError
		err = line.Run(&streams{out: stdout, live: stderr})
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "sqsload: %v\n", err) // no other place to complain
		return status
	}
	return exitOK
}
