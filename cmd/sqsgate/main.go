package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"sqsgate/config"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// commandLine is the whole of it, in the form the parser wants.
type commandLine struct {
	Serve   serveCommand   `cmd:"" help:"Serve the SQS API, with the embedded topic server unless --ydb names a cluster."`
	Topicd  topicdCommand  `cmd:"" help:"Run the embedded topic server alone."`
	Check   checkCommand   `cmd:"" help:"Check the settings of serve and print them resolved, secrets masked."`
	Version versionCommand `cmd:"" help:"Print version, commit and Go version."`
}

// process is what a command gets from its surroundings.
type process struct {
	stdout io.Writer
	stderr io.Writer
}

func run(ctx context.Context, args, env []string, stdout, stderr io.Writer) int {
	settings := config.NewResolver(env)
	helped := false
	parser, err := kong.New(&commandLine{},
		kong.Name("sqsgate"),
		kong.Description("The Amazon SQS API on top of YDB topics. Every flag can also be set as SQSGATE_NAME or in the file of --config; see docs/CONFIG.md."),
		kong.Writers(stdout, stderr),
		kong.Resolvers(settings),
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
	if err != nil {
		return fail(stderr, settings, err, exitUsage)
	}
	if err := line.Run(&process{stdout: stdout, stderr: stderr}); err != nil {
		return fail(stderr, settings, err, exitError)
	}
	return exitOK
}

// fail prints one line. A setting that cannot work is a usage error wherever it
// was found, and its place is named when it did not come from a flag.
func fail(stderr io.Writer, settings *config.Resolver, err error, status int) int {
	where := ""
	var bad *config.Error
	if errors.As(err, &bad) {
		status = exitUsage
		if source := settings.Source(bad.Key); source != "" {
			where = " (from " + source + ")"
		}
	}
	_, _ = fmt.Fprintf(stderr, "sqsgate: %v%s\n", err, where) // no other place to complain
	return status
}
