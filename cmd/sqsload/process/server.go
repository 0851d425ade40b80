package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 15 * time.Second // the server itself takes at most 10 s
	logTail      = 4 << 10          // bytes of a failed server's log that are shown
)

// Server is a gateway with an embedded topic server, on free ports and an empty
// data directory of its own.
type Server struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process is gone
	exit   error         // why, after exited
	dir    string
	ready  struct{ SQS, Admin string }
}

// Start runs binary and waits until it serves. The data directory is made below
// parent and removed by Close.
func Start(ctx context.Context, binary, parent string) (*Server, error) {
	dir, err := os.MkdirTemp(parent, "sqsload-")
	if err != nil {
		return nil, fmt.Errorf("making a data directory: %w", err)
	}
	s := &Server{dir: dir, exited: make(chan struct{})}
	if err := s.start(ctx, binary); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", binary, err), s.Close())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, binary string) error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		close(s.exited)
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	ready := filepath.Join(s.dir, "ready.json")
	s.cmd = exec.Command(binary, "serve", //nolint:noctx // Close ends it in order; a context would kill it
		"--listen=127.0.0.1:0", "--topic-listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0",
		"--data-dir="+filepath.Join(s.dir, "data"), "--ready-file="+ready)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	// A group of its own: an interrupt at the terminal is for the load test,
	// which then stops the server.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		close(s.exited)
		return err
	}
	go func() {
		s.exit = s.cmd.Wait()
		close(s.exited)
	}()
	return s.await(ctx, ready)
}

// await waits for the ready file, which appears in one piece.
func (s *Server) await(ctx context.Context, file string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		data, err := os.ReadFile(file)
		if err == nil {
			if err := json.Unmarshal(data, &s.ready); err != nil {
				return fmt.Errorf("reading the ready file: %w", err)
			}
			return nil
		}
		select {
		case <-tick.C:
		case <-s.exited:
			return fmt.Errorf("it ended (%w): %s", s.exit, s.log())
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %w", ctx.Err())
		}
	}
}

func (s *Server) log() string {
	data, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(data[max(0, len(data)-logTail):]))
}

// Endpoint is the URL of the SQS API.
func (s *Server) Endpoint() string { return "http://" + s.ready.SQS }

// PID is the process's number.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Profile writes a profile of the server into a file: name is a page below
// /debug/pprof/, with its query.
func (s *Server) Profile(ctx context.Context, name, file string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.ready.Admin+"/debug/pprof/"+name, http.NoBody)
	if err != nil {
		return fmt.Errorf("asking for profile %s: %w", name, err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking for profile %s: %w", name, err)
	}
	defer func() { _ = answer.Body.Close() }() // read to the end or given up
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("asking for profile %s: status %s", name, answer.Status)
	}
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("keeping profile %s: %w", name, err)
	}
	_, err = io.Copy(out, answer.Body)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("keeping profile %s: %w", name, err)
	}
	return nil
}

// Close stops the server, in order if it can, and removes its data. The error
// tells of an exit that was not clean.
func (s *Server) Close() error {
	var err error
	if s.cmd != nil && s.cmd.Process != nil {
		err = s.terminate()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

func (s *Server) terminate() error {
	select {
	case <-s.exited:
		return fmt.Errorf("the server ended early (%w): %s", s.exit, s.log())
	default:
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may just have ended
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case <-s.exited:
	case <-timeout.C:
		_ = s.cmd.Process.Kill() // likewise
		<-s.exited
		return fmt.Errorf("the server did not stop within %s and was killed", stopTimeout)
	}
	if s.exit != nil {
		return fmt.Errorf("the server's stop: %w: %s", s.exit, s.log())
	}
	return nil
}
