package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Text prints the run for people.
func (r *Run) Text(w io.Writer) error {
	kind := "standard"
	if r.FIFO {
		kind = fmt.Sprintf("FIFO, %d groups", r.Groups)
	}
	pace := "as fast as possible"
	if r.Rate > 0 {
		pace = fmt.Sprintf("%g operations/s asked for", r.Rate)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s (%s), %d connections, %d byte bodies, %s, %.1f s measured\n",
		r.Scenario, r.Queue, kind, r.Connections, r.BodyBytes, pace, r.Seconds)
	fmt.Fprintf(&b, "%s, %s\n\n", r.Machine, r.usage())

	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight) // writes fail at Flush
	_, _ = fmt.Fprintln(t, "\tcalls/s\tmessages/s\tmean ms\tp50\tp90\tp99\tp99.9\tmax\t")
	for _, name := range []string{"send", "receive", "delete", "life"} {
		c, ok := r.Calls[name]
		if !ok {
			continue
		}
		_, _ = fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n",
			name, c.CallsPerSecond, c.MessagesPerSecond, c.MeanMS, c.P50MS, c.P90MS, c.P99MS, c.P999MS, c.MaxMS)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("printing the report: %w", err)
	}
	if r.EmptyReceives > 0 {
		fmt.Fprintf(&b, "receives that found nothing: %d\n", r.EmptyReceives)
	}
	for _, code := range slices.Sorted(maps.Keys(r.Errors)) {
		fmt.Fprintf(&b, "error %s: %d\n", code, r.Errors[code])
	}
	b.WriteString(r.verdict())
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("printing the report: %w", err)
	}
	return nil
}

func (r *Run) usage() string {
	text := fmt.Sprintf("client %.1f us CPU per call", r.Client.CPUMicrosPerCall)
	if r.Server != nil {
		text += fmt.Sprintf(", server %.1f us, %d MiB resident", r.Server.CPUMicrosPerCall, r.Server.ResidentBytes>>20)
	}
	return text
}

func (r *Run) verdict() string {
	l := r.Ledger
	if !r.Checked {
		return fmt.Sprintf("sent %d, without an answer %d; nothing was received, so nothing is checked\n", l.Sent, l.Unsure)
	}
	text := fmt.Sprintf("sent %d, without an answer %d, received %d, again after a lease %d, deleted %d, of others %d\n",
		l.Sent, l.Unsure, l.Received, l.Again, l.Deleted, l.Foreign)
	if l.Broken() == 0 {
		return text + "check: nothing lost, doubled, out of order or damaged\n"
	}
	return text + fmt.Sprintf("check FAILED: lost %d, doubled within a lease %d, back after a delete %d, out of order %d, group with two receivers %d, damaged %d, refused and yet there %d\n",
		l.Lost, l.Duplicates, l.CameBack, l.Disorder, l.GroupTwice, l.Corrupt, l.Unsent)
}

// String is the machine in a few words.
func (m Machine) String() string {
	return fmt.Sprintf("%d cores, load average %.1f before and %.1f after, %s, %s", m.Cores, m.LoadBefore, m.LoadAfter, m.OS, m.Go)
}
