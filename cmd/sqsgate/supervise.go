package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"sqsgate/config"
)

// stopTimeout is how long a graceful stop may take.
const stopTimeout = 10 * time.Second

var (
	errSecondSignal = errors.New("second signal: stopped at once")
	errStopTimeout  = errors.New("the stop took longer than 10s and was cut short")
)

// supervise runs work until it ends or a signal comes. The first SIGTERM or
// SIGINT cancels work's context, a second one returns at once, as does the end
// of stopTimeout; the caller then exits and takes work's goroutine with it.
func (p *process) supervise(ctx context.Context, settings config.Process, work func(context.Context, *slog.Logger) error) error {
	log := newLogger(settings, p.stderr)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	done := make(chan error, 1)
	go func() { done <- work(ctx, log) }()

	select {
	case err := <-done:
		return err
	case s := <-signals:
		log.Info("stopping", slog.String("signal", s.String()))
	case <-ctx.Done():
	}
	cancel()
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case err := <-done:
		return err
	case <-signals:
		return errSecondSignal
	case <-timeout.C:
		return errStopTimeout
	}
}
