package report

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"
)

// Aim is a figure to reach, in messages per second.
type Aim struct {
	Name     string  `json:"name"`
	Scenario string  `json:"scenario"`
	Want     float64 `json:"want"`
}

// Figure is an aim and the runs that measured it.
type Figure struct {
	Aim
	Runs []*Run `json:"runs"`
}

// Best is the run with the highest rate.
func (f Figure) Best() *Run {
	best := f.Runs[0]
	for _, r := range f.Runs {
		if r.Figure() > best.Figure() {
			best = r
		}
	}
	return best
}

// Bench is a whole benchmark.
type Bench struct {
	Connections   int      `json:"connections"`
	Body          int      `json:"body_bytes"`
	Repeat        int      `json:"repeat"`
	Figures       []Figure `json:"figures"`
	Waiting       int64    `json:"waiting_messages,omitempty"` // of the memory figure
	ResidentBytes int64    `json:"resident_bytes,omitempty"`
	PeakBytes     int64    `json:"peak_resident_bytes,omitempty"`
	MemoryAim     int64    `json:"resident_bytes_aim"`
}

// Broken counts the broken promises of all runs.
func (b *Bench) Broken() int64 {
	total, _ := b.broken()
	return total
}

func (b *Bench) broken() (total int64, checked bool) {
	for _, f := range b.Figures {
		for _, r := range f.Runs {
			if r.Checked {
				checked = true
				total += r.Ledger.Broken()
			}
		}
	}
	return total, checked
}

// Text prints the table.
func (b *Bench) Text(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%d connections, %d byte bodies, durable; client and server on the same %d cores; best of %d\n\n",
		b.Connections, b.Body, runtime.NumCPU(), b.Repeat)
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight) // writes fail at Flush
	_, _ = fmt.Fprintln(t, "figure\tmessages/s\taim\tall runs\tp50 ms\tp99 ms\tserver us/call\tclient us/call\terrors\tload average\t")
	for _, f := range b.Figures {
		best := f.Best()
		all := make([]string, 0, len(f.Runs))
		for _, r := range f.Runs {
			all = append(all, fmt.Sprintf("%.0f", r.Figure()))
		}
		server := 0.0
		if best.Server != nil {
			server = best.Server.CPUMicrosPerCall
		}
		call := best.operation()
		_, _ = fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%s\t%.2f\t%.2f\t%.1f\t%.1f\t%d\t%.1f\t\n",
			f.Name, best.Figure(), f.Want, strings.Join(all, " "), call.P50MS, call.P99MS,
			server, best.Client.CPUMicrosPerCall, best.TotalErrors(), best.Machine.LoadAfter)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("printing the figures: %w", err)
	}
	if b.Waiting > 0 {
		fmt.Fprintf(&text, "\nresident memory with %d waiting messages: %d MiB (highest %d MiB), aim below %d MiB\n",
			b.Waiting, b.ResidentBytes>>20, b.PeakBytes>>20, b.MemoryAim>>20)
	}
	if broken, checked := b.broken(); broken > 0 {
		fmt.Fprintf(&text, "check FAILED: %d broken promises; see the JSON report\n", broken)
	} else if checked {
		text.WriteString("check: nothing lost, doubled, out of order or damaged in the lives\n")
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("printing the figures: %w", err)
	}
	return nil
}

// operation is the call that stands for the scenario.
func (r *Run) operation() Call {
	if c, ok := r.Calls["life"]; ok {
		return c
	}
	return r.Calls["send"]
}
