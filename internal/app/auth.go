package app

import (
	"fmt"

	"sqsgate/config"
	"sqsgate/gateway/sigv4"
)

// verifier checks the callers' signatures; nil when nobody asks for them.
func (p *gatewayProcess) verifier() (*sigv4.Verifier, error) {
	if p.cfg.Auth.Mode != config.AuthSigV4 {
		return nil, nil
	}
	o := sigv4.Options{}
	if p.cfg.Auth.StrictRegion {
		o.Region = p.cfg.Region
	}
	for _, k := range p.cfg.Auth.Keys {
		o.Keys = append(o.Keys, sigv4.Key{
			AccessKeyID: k.AccessKeyID, Secret: string(k.Secret), Principal: k.Principal,
			Queues: k.Queues, Actions: k.Actions,
		})
	}
	v, err := sigv4.New(o)
	if err != nil {
		return nil, fmt.Errorf("access keys: %w", err)
	}
	return v, nil
}
