package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sqsgate/cmd/sqsload/ledger"
)

func lives(perSecond float64, l ledger.Result) *Run {
	return &Run{
		Scenario: "life", Checked: true, Ledger: l, Server: &Usage{CPUMicrosPerCall: 35},
		Measurement: Measurement{
			Calls:  map[string]Call{"send": {MessagesPerSecond: perSecond + 1}, "delete": {MessagesPerSecond: perSecond - 1}, "life": {MessagesPerSecond: perSecond, P50MS: 1.5}},
			Errors: map[string]int64{"send: RequestThrottled": 3},
		},
	}
}

func TestRunText(t *testing.T) {
	fine := lives(100, ledger.Result{Sent: 7, Received: 7, Deleted: 7})
	broken := lives(100, ledger.Result{Sent: 7, Lost: 2})
	unchecked := &Run{Ledger: ledger.Result{Sent: 7, Lost: 7}}
	for want, r := range map[string]*Run{
		"check: nothing lost":      fine,
		"RequestThrottled: 3":      fine,
		"server 35.0 us":           fine,
		"check FAILED: lost 2":     broken,
		"nothing is checked":       unchecked,
		"as fast as possible, 0.0": unchecked,
	} {
		var b strings.Builder
		if err := r.Text(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestBench(t *testing.T) {
	b := &Bench{
		Figures: []Figure{{Aim: Aim{Name: "lives", Scenario: "life", Want: 4000}, Runs: []*Run{lives(3000, ledger.Result{}), lives(5000, ledger.Result{}), lives(4000, ledger.Result{})}}},
		Waiting: 1000, ResidentBytes: 5 << 20, PeakBytes: 6 << 20, MemoryAim: 1 << 30,
	}
	if best := b.Figures[0].Best().Figure(); best != 5000 {
		t.Errorf("best %v", best)
	}
	var out strings.Builder
	if err := b.Text(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3000 5000 4000", "1000 waiting messages: 5 MiB (highest 6 MiB), aim below 1024 MiB", "check: nothing lost"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	b.Figures[0].Runs[2].Ledger.CameBack = 1
	if b.Broken() != 1 {
		t.Errorf("%d broken promises", b.Broken())
	}
}

func TestFigureOfSends(t *testing.T) {
	r := &Run{Measurement: Measurement{Calls: map[string]Call{"send": {MessagesPerSecond: 9}}}}
	if r.Figure() != 9 || (&Run{}).Figure() != 0 {
		t.Errorf("%v, %v", r.Figure(), (&Run{}).Figure())
	}
}

func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	if err := Write(file, lives(100, ledger.Result{Sent: 7})); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var back Run
	if err := json.Unmarshal(data, &back); err != nil || back.Ledger.Sent != 7 || back.Figure() != 100 {
		t.Errorf("%v: %s", err, data)
	}
	if err := Write(filepath.Join(file, "below"), 1); err == nil {
		t.Error("wrote below a file")
	}
}
