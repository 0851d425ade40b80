package main

import (
	"context"
	"log/slog"

	"sqsgate/config"
	"sqsgate/internal/app"
)

// serveCommand is the gateway.
type serveCommand struct {
	config.Config
}

// Run serves until a signal.
func (c *serveCommand) Run(ctx context.Context, p *process) error {
	cfg, err := c.Resolved()
	if err != nil {
		return err
	}
	return p.supervise(ctx, cfg.Process, func(ctx context.Context, log *slog.Logger) error {
		return app.RunServe(ctx, cfg, log)
	})
}
