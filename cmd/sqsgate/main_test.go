package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sqsgate/config"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sqsgate": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"waitfile":  waitFile,
			"terminate": terminate,
			"occupy":    occupy,
		},
	})
}

// waitFile waits until a file exists: waitfile PATH.
func waitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfile PATH")
	}
	path := ts.MkAbs(args[0])
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-tick.C {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	ts.Fatalf("%s did not appear", path)
}

// terminate sends SIGTERM to what runs in the background; kill knows INT only.
func terminate(ts *testscript.TestScript, _ bool, _ []string) {
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	}
}

// occupy listens on a free port until the end of the script and puts the
// address into a variable: occupy NAME.
func occupy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: occupy NAME")
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = lis.Close() }) // the script is over
	ts.Setenv(args[0], lis.Addr().String())
}

func signalSelf(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

func TestFirstSignalStopsGracefully(t *testing.T) {
	p := &process{stderr: io.Discard}
	err := p.supervise(t.Context(), config.Process{}, func(ctx context.Context, _ *slog.Logger) error {
		signalSelf(t)
		<-ctx.Done()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSecondSignalStopsAtOnce(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	p := &process{stderr: io.Discard}
	err := p.supervise(t.Context(), config.Process{}, func(ctx context.Context, _ *slog.Logger) error {
		signalSelf(t)
		<-ctx.Done()
		signalSelf(t)
		<-release
		return nil
	})
	if !errors.Is(err, errSecondSignal) {
		t.Errorf("got %v", err)
	}
}

func TestStopIsCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		p := &process{stderr: io.Discard}
		start := time.Now()
		err := p.supervise(ctx, config.Process{}, func(context.Context, *slog.Logger) error {
			cancel()
			<-release
			return nil
		})
		if !errors.Is(err, errStopTimeout) || time.Since(start) != stopTimeout {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		close(release)
	})
}
