//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	readyTimeout = 30 * time.Second
	// stopTimeout is what the binary promises for a graceful stop, and a margin.
	stopTimeout = 12 * time.Second
)

// addresses is the content of a ready file.
type addresses struct {
	SQS   string `json:"sqs"`
	Topic string `json:"topic"`
	Admin string `json:"admin"`
}

// proc is one running sqsgate.
type proc struct {
	name string
	cmd  *exec.Cmd
	log  *tail
	addr addresses

	exited chan struct{} // closed when the process is gone; err is set then
	err    error
}

// launch starts sqsgate with args and waits until it is ready.
func launch(t testing.TB, name string, log *tail, args ...string) *proc {
	t.Helper()
	p, err := tryLaunch(t, name, log, args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

func tryLaunch(t testing.TB, name string, log *tail, args ...string) (*proc, error) {
	t.Helper()
	return launchCommand(t, name, log, append([]string{binary}, args...)...)
}

// launchCommand is tryLaunch for a command that ends up as sqsgate and passes
// the last arguments on to it.
func launchCommand(t testing.TB, name string, log *tail, command ...string) (*proc, error) {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	cmd := exec.Command(command[0], append(command[1:len(command):len(command)], "--ready-file", ready)...)
	cmd.Stdout, cmd.Stderr = log, log
	_, _ = fmt.Fprintf(log, "--- %s %v\n", name, cmd.Args[1:]) // a tail takes everything
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &proc{name: name, cmd: cmd, log: log, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		p.err = cmd.Wait()
	}()

	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	for {
		// The file appears complete or not at all.
		if raw, err := os.ReadFile(ready); err == nil {
			if err := json.Unmarshal(raw, &p.addr); err != nil {
				p.kill()
				return nil, fmt.Errorf("ready file %q: %w", raw, err)
			}
			return p, nil
		}
		select {
		case <-tick.C:
		case <-p.exited:
			return nil, fmt.Errorf("ended before it was ready: %s", cmd.ProcessState)
		case <-timeout.C:
			p.kill()
			return nil, fmt.Errorf("not ready after %v", readyTimeout)
		}
	}
}

// kill is SIGKILL; it returns when the process is gone.
func (p *proc) kill() {
	_ = p.cmd.Process.Kill() // fails only when it has gone already
	<-p.exited
}

// stop is SIGTERM; the process must end with status 0 in time.
func (p *proc) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case <-p.exited:
		if p.err != nil {
			return fmt.Errorf("%s stopped with %w", p.name, p.err)
		}
		return nil
	case <-timeout.C:
		p.kill()
		return fmt.Errorf("%s did not stop within %v", p.name, stopTimeout)
	}
}

// tail keeps the end of a log.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 128 << 10

func (l *tail) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, b...)
	if over := len(l.buf) - tailBytes; over > tailBytes {
		l.buf = append(l.buf[:0], l.buf[over:]...)
	}
	return len(b), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.buf[max(0, len(l.buf)-tailBytes):])
}
