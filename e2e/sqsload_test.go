//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLoad runs every scenario of sqsload for a moment. It fails by itself when
// a message is lost, doubled or out of order; here is asked that there was a
// load and that it is checked.
func TestLoad(t *testing.T) {
	load := filepath.Join(t.TempDir(), "sqsload")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", load, "sqsgate/cmd/sqsload").CombinedOutput(); err != nil {
		t.Fatalf("building sqsload: %v\n%s", err, out)
	}
	scenarios := map[string][]string{
		"send":            {"--scenario=send"},
		"send-batch":      {"--scenario=send-batch"},
		"life":            {"--scenario=life"},
		"life-batch":      {"--scenario=life-batch", "--partitions=3"},
		"paced":           {"--scenario=life", "--rate=50"},
		"drain":           {"--scenario=drain", "--messages=2000"},
		"fifo life":       {"--scenario=life", "--fifo", "--groups=5"},
		"fifo life-batch": {"--scenario=life-batch", "--fifo", "--groups=20"},
		"fifo drain":      {"--scenario=drain", "--messages=500", "--fifo", "--groups=20"},
	}
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		for name, flags := range scenarios {
			runLoad(t, d, load, name, flags)
		}
	})
}

func runLoad(t *testing.T, d *Deployment, load, name string, flags []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	flags = append([]string{
		"run", "--endpoint=" + d.Endpoint(), "--quiet", "--report=" + file,
		"--connections=8", "--warmup=100ms", "--duration=1s",
	}, flags...)
	out, err := exec.CommandContext(t.Context(), load, flags...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
		return
	}
	var report struct {
		Ledger struct{ Sent, Received, Deleted, Lost int64 }
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	l := report.Ledger
	sends := name == "send" || name == "send-batch"
	if l.Sent < 10 || (!sends && (l.Received < l.Sent || l.Deleted < l.Sent)) {
		t.Errorf("%s: %+v\n%s", name, l, out)
	}
}
