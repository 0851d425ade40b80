//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is the sqsgate under test; TestMain sets it before any test runs.
var binary string

func TestMain(m *testing.M) {
	os.Exit(withBinary(m.Run))
}

func withBinary(run func() int) int {
	if given := os.Getenv("SQSGATE_BIN"); given != "" {
		binary = given
		return run()
	}
	dir, err := os.MkdirTemp("", "sqsgate-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "making a directory for the binary:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary file more does no harm
	binary = filepath.Join(dir, "sqsgate")
	build := exec.Command("go", "build", "-o", binary, "sqsgate/cmd/sqsgate")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building sqsgate:", err)
		return 1
	}
	return run()
}
