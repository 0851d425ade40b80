package load

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"sqsgate/cmd/sqsload/process"
)

// live prints a line a second while a phase lasts.
type live struct {
	done chan struct{}
	wg   sync.WaitGroup
}

func startLive(out io.Writer, phase string, workers []*worker) *live {
	l := &live{done: make(chan struct{})}
	if out == io.Discard {
		return l
	}
	l.wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		start, before := time.Now(), total(workers)
		for last := start; ; {
			select {
			case <-l.done:
				return
			case <-tick.C:
			}
			now, sum := time.Now(), total(workers)
			_, _ = fmt.Fprintln(out, line(phase, now.Sub(start), now.Sub(last), before, sum)) // a picture only
			last, before = now, sum
		}
	})
	return l
}

func (l *live) stop() {
	close(l.done)
	l.wg.Wait()
}

func total(workers []*worker) (sum liveCount) {
	for _, w := range workers {
		w.meter.addTo(&sum)
	}
	return sum
}

func line(phase string, at, since time.Duration, before, sum liveCount) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s %4.0fs", phase, at.Seconds())
	for c := range callLife {
		if sum.messages[c] > 0 {
			fmt.Fprintf(&b, "  %s %.0f/s", c, float64(sum.messages[c]-before.messages[c])/since.Seconds())
		}
	}
	fmt.Fprintf(&b, "  errors %d  load %.1f", sum.errors-before.errors, process.LoadAverage())
	return b.String()
}
