package report

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"sqsgate/cmd/sqsload/ledger"
)

// Run is one load on one queue.
type Run struct {
	Scenario    string    `json:"scenario"`
	Endpoint    string    `json:"endpoint"`
	Queue       string    `json:"queue"`
	FIFO        bool      `json:"fifo"`
	Groups      int       `json:"groups,omitempty"`
	Partitions  int       `json:"partitions,omitempty"`
	Connections int       `json:"connections"`
	BodyBytes   int       `json:"body_bytes"`
	Rate        float64   `json:"rate,omitempty"` // operations per second asked for; 0 = as fast as possible
	Started     time.Time `json:"started"`
	Measurement
	Ledger  ledger.Result `json:"ledger"`
	Checked bool          `json:"checked"` // the scenario receives, so that the ledger says something about loss
	Client  Usage         `json:"client"`
	Server  *Usage        `json:"server,omitempty"` // when the process is known
	Machine Machine       `json:"machine"`
}

// Measurement is what was counted in the measured time.
type Measurement struct {
	Seconds       float64          `json:"seconds"`
	TotalCalls    int64            `json:"total_calls"`
	Calls         map[string]Call  `json:"calls"`  // by send, receive, delete, life
	Errors        map[string]int64 `json:"errors"` // by "send: Code"
	EmptyReceives int64            `json:"empty_receives"`
}

// Call is one kind of call. Latencies are of answered calls, receives that
// found nothing left out.
type Call struct {
	Calls             int64   `json:"calls"`
	Messages          int64   `json:"messages"`
	CallsPerSecond    float64 `json:"calls_per_second"`
	MessagesPerSecond float64 `json:"messages_per_second"`
	MeanMS            float64 `json:"mean_ms"`
	P50MS             float64 `json:"p50_ms"`
	P90MS             float64 `json:"p90_ms"`
	P99MS             float64 `json:"p99_ms"`
	P999MS            float64 `json:"p999_ms"`
	MaxMS             float64 `json:"max_ms"`
}

// Usage is what a process used in the measured time.
type Usage struct {
	CPUSeconds       float64 `json:"cpu_seconds"`
	CPUMicrosPerCall float64 `json:"cpu_us_per_call"`
	ResidentBytes    int64   `json:"resident_bytes,omitempty"` // at the end
}

// Machine is where the client ran.
type Machine struct {
	Cores      int     `json:"cores"`
	Go         string  `json:"go"`
	OS         string  `json:"os"`
	LoadBefore float64 `json:"load1_before"` // 1-minute load average
	LoadAfter  float64 `json:"load1_after"`
}

// Figure is the rate a scenario is judged by, in messages per second.
func (r *Run) Figure() float64 {
	for _, kind := range []string{"life", "delete", "send"} {
		if c, ok := r.Calls[kind]; ok {
			return c.MessagesPerSecond
		}
	}
	return 0
}

// TotalErrors counts the failures of the measured time.
func (r *Run) TotalErrors() (total int64) {
	for _, n := range r.Errors {
		total += n
	}
	return total
}

// Rate is n per second, 0 without time.
func Rate(n int64, in time.Duration) float64 {
	if in <= 0 {
		return 0
	}
	return float64(n) / in.Seconds()
}

// Write puts any report into a file as JSON.
func Write(path string, report any) error {
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
