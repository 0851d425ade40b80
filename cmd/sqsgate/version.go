package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionCommand tells which build this is.
type versionCommand struct{}

// Run prints what Go has stamped into the binary.
func (versionCommand) Run(p *process) error {
	version, commit := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += " with changes"
			}
		}
	}
	_, err := fmt.Fprintf(p.stdout, "sqsgate %s, commit %s, %s %s/%s\n",
		version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
