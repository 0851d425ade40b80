package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"sqsgate/config"
	"sqsgate/topicd"
)

// openTopicd opens the embedded server on its data directory. A directory that
// is locked or cannot be used is a *config.Error.
func openTopicd(cfg config.Config, log *slog.Logger, reg prometheus.Registerer) (*topicd.Server, error) {
	opts := topicd.Options{
		DataDir:      cfg.DataDir,
		Database:     cfg.Database,
		Advertise:    cfg.TopicAdvertise,
		EnforceQuota: cfg.Topics.WriteQuota == config.WriteQuotaEnforce,
		User:         cfg.Topics.User,
		Password:     string(cfg.Topics.Password),
		Logger:       log,
		Registerer:   reg,
	}
	if cfg.TLSCert != "" {
		cert, err := tls.LoadX509KeyPair(cfg.TLSCert, cfg.TLSKey)
		if err != nil {
			return nil, &config.Error{Key: "tls-cert", Value: cfg.TLSCert, Err: err}
		}
		opts.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	srv, err := topicd.New(opts)
	if err != nil {
		return nil, &config.Error{Key: "data-dir", Value: cfg.DataDir, Err: err}
	}
	return srv, nil
}

// RunTopicd serves the Topic API on the embedded store until ctx ends, then
// returns nil, or until the store or the listener fails.
func RunTopicd(ctx context.Context, cfg config.Config, log *slog.Logger) (err error) {
	ready, err := newReadyFile(cfg.ReadyFile)
	if err != nil {
		return err
	}
	lis, err := listen(ctx, "topic-listen", cfg.TopicListen)
	if err != nil {
		return err
	}
	srv, err := openTopicd(cfg, log, nil)
	if err != nil {
		_ = lis.Close() // nothing was served
		return err
	}
	served := make(chan struct{}) // closed when serveErr is set
	var serveErr error
	go func() {
		defer close(served)
		serveErr = srv.Serve(lis)
	}()
	defer func() {
		ready.withdraw(log)
		if closeErr := srv.Close(); closeErr != nil && err == nil {
			err = fmt.Errorf("closing the embedded store: %w", closeErr)
		}
		<-served // Close has ended it
	}()

	if err := ready.announce(log, addresses{Topic: reachable(lis)}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-srv.Failed():
		return storeFailed(srv)
	case <-served:
		return fmt.Errorf("serving the Topic API on %s: %w", lis.Addr(), serveErr)
	}
}

// storeFailed ends the process: after a failed sync nobody knows what the disk
// holds, only opening the store again tells.
func storeFailed(srv *topicd.Server) error {
	return fmt.Errorf("the embedded store has failed: %w", srv.Err())
}
