package main

import (
	"context"
	"log/slog"

	"sqsgate/config"
	"sqsgate/internal/app"
)

// topicdCommand is the embedded topic server without a gateway.
type topicdCommand struct {
	config.Process
	config.Topicd
}

// Run serves until a signal.
func (c *topicdCommand) Run(ctx context.Context, p *process) error {
	cfg, err := config.Config{Process: c.Process, Topicd: c.Topicd}.ResolvedTopicd()
	if err != nil {
		return err
	}
	return p.supervise(ctx, cfg.Process, func(ctx context.Context, log *slog.Logger) error {
		return app.RunTopicd(ctx, cfg, log)
	})
}
