package app

import (
	"context"
	"net"

	"sqsgate/config"
)

// listen opens the address of a flag. The error is a *config.Error that names
// both, whatever the reason: in use, not ours, not allowed.
func listen(ctx context.Context, flag, address string) (net.Listener, error) {
	var lc net.ListenConfig
	lis, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &config.Error{Key: flag, Value: address, Err: err}
	}
	return lis, nil
}
