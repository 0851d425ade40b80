package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sqsgate/config"
	"sqsgate/gateway"
)

// declareAgain is the pause between attempts to declare the queues of the
// configuration.
const declareAgain = 2 * time.Second

// declarations are the queues of the configuration, or a *config.Error.
func declarations(queues config.Queues) ([]gateway.Declaration, error) {
	all := make([]gateway.Declaration, len(queues))
	for i, q := range queues {
		all[i] = gateway.Declaration{Name: q.Name, Attributes: q.Attributes, Tags: q.Tags}
	}
	if err := gateway.CheckDeclarations(all); err != nil {
		return nil, declarationError(err)
	}
	return all, nil
}

// declarationError makes a setting that cannot work of a declaration that cannot
// be met; nil when err is of another kind.
func declarationError(err error) error {
	var bad *gateway.DeclarationError
	if errors.As(err, &bad) {
		return &config.Error{Key: "queues", Value: bad.Queue, Err: bad.Err}
	}
	return nil
}

// declare makes the queues of the configuration. While the topic server is out
// of reach it goes on trying behind the start, like the catalogue.
func (p *gatewayProcess) declare(ctx context.Context) error {
	if len(p.declared) == 0 {
		return nil
	}
	first, cancel := context.WithTimeout(ctx, startWait)
	err := p.edge.Declare(first, p.declared)
	cancel()
	if wrong := declarationError(err); err == nil || wrong != nil {
		return wrong
	}
	again, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stopDeclare, p.declareDone = stop, make(chan struct{})
	go func() {
		defer close(p.declareDone)
		p.declareLater(again, err)
	}()
	return nil
}

func (p *gatewayProcess) declareLater(ctx context.Context, err error) {
	for {
		p.log.LogAttrs(ctx, slog.LevelWarn, "the queues of the configuration are not there yet", slog.Any("error", err))
		timer := time.NewTimer(declareAgain)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if err = p.edge.Declare(ctx, p.declared); err == nil || ctx.Err() != nil {
			return
		}
		if wrong := declarationError(err); wrong != nil {
			p.failed <- wrong
			return
		}
	}
}
