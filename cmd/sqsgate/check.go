package main

import "sqsgate/config"

// checkCommand takes the settings of serve and starts nothing.
type checkCommand struct {
	config.Config
}

// Run prints the settings that serve would use, as YAML.
func (c *checkCommand) Run(p *process) error {
	cfg, err := c.Resolved()
	if err != nil {
		return err
	}
	return cfg.WriteYAML(p.stdout)
}
