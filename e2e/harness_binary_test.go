//go:build e2e

package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is the sqsgate under test; TestMain sets it before any test runs.
var binary string

// parallelTests is how many tests run beside each other: they wait more than
// they compute, so more than the processors that the testing package counts.
const parallelTests = "8"

func TestMain(m *testing.M) {
	if url := os.Getenv(workerQueue); url != "" {
		os.Exit(workerProcess(url))
	}
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", parallelTests); err != nil {
			fmt.Fprintln(os.Stderr, "setting the number of parallel tests:", err)
			os.Exit(1)
		}
	}
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
