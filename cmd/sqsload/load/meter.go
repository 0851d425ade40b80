package load

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"sqsgate/cmd/sqsload/report"
	"sqsgate/cmd/sqsload/sqs"
)

// call is what is timed.
type call int

const (
	callSend call = iota
	callReceive
	callDelete
	callLife // send, receive and delete together
	callKinds
)

func (c call) String() string {
	return [...]string{"send", "receive", "delete", "life"}[c]
}

const (
	longest     = time.Minute // slower ones are counted as this
	significant = 2           // decimal digits of a latency
)

// window is the time in which what ends is counted.
type window struct{ from, to time.Time }

func (w window) has(t time.Time) bool { return !t.Before(w.from) && t.Before(w.to) }

// meter counts what one worker does.
type meter struct {
	window window

	mu       sync.Mutex
	kinds    [callKinds]tally
	errors   map[string]int64
	empty    int64     // receives without a message
	finished time.Time // of the last counted call that carried messages
	live     liveCount
}

type tally struct {
	calls    int64
	messages int64
	latency  *hdrhistogram.Histogram // microseconds
}

// liveCount is the running total, in and outside the window.
type liveCount struct {
	messages [callKinds]int64
	errors   int64
}

func newMeter() *meter {
	m := &meter{errors: map[string]int64{}}
	for i := range m.kinds {
		m.kinds[i].latency = newHistogram()
	}
	return m
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, longest.Microseconds(), significant)
}

// begin sets the window of the next phase. What was counted in the last stays.
func (m *meter) begin(w window) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.window = w
}

// done counts a call that carried so many messages.
func (m *meter) done(c call, start, end time.Time, messages int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live.messages[c] += int64(messages)
	if !m.window.has(end) {
		return
	}
	t := &m.kinds[c]
	t.calls++
	t.messages += int64(messages)
	if c == callReceive && messages == 0 {
		m.empty++ // a long poll's wait is no latency
		return
	}
	if messages > 0 {
		m.finished = end
	}
	latency := min(max(end.Sub(start).Microseconds(), 1), longest.Microseconds())
	if err := t.latency.RecordValue(latency); err != nil {
		panic("a latency outside the bounds it was cut to: " + err.Error())
	}
}

// failed counts a failure of a call or of an entry of a batch.
func (m *meter) failed(c call, code string, end time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live.errors++
	if m.window.has(end) {
		m.errors[c.String()+": "+code]++
	}
}

func (m *meter) failedCall(c call, err error, end time.Time) { m.failed(c, sqs.Code(err), end) }

// addTo adds the running total to sum.
func (m *meter) addTo(sum *liveCount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, n := range m.live.messages {
		sum.messages[i] += n
	}
	sum.errors += m.live.errors
}

// summarize sums up over workers. The time measured is that of the window, cut
// at the last message if stopAtLast.
func summarize(meters []*meter, w window, stopAtLast bool) report.Measurement {
	out := report.Measurement{Calls: map[string]report.Call{}, Errors: map[string]int64{}}
	last := w.from
	for _, m := range meters {
		if m.finished.After(last) {
			last = m.finished
		}
		out.EmptyReceives += m.empty
		for code, n := range m.errors {
			out.Errors[code] += n
		}
	}
	elapsed := w.to.Sub(w.from)
	if stopAtLast {
		elapsed = last.Sub(w.from)
	}
	out.Seconds = elapsed.Seconds()
	for c := range callKinds {
		all := tally{latency: newHistogram()}
		for _, m := range meters {
			all.calls += m.kinds[c].calls
			all.messages += m.kinds[c].messages
			all.latency.Merge(m.kinds[c].latency)
		}
		if all.calls == 0 {
			continue
		}
		if c != callLife {
			out.TotalCalls += all.calls
		}
		out.Calls[c.String()] = report.Call{
			Calls:             all.calls,
			Messages:          all.messages,
			CallsPerSecond:    report.Rate(all.calls, elapsed),
			MessagesPerSecond: report.Rate(all.messages, elapsed),
			MeanMS:            all.latency.Mean() / 1000,
			P50MS:             quantile(all.latency, 50),
			P90MS:             quantile(all.latency, 90),
			P99MS:             quantile(all.latency, 99),
			P999MS:            quantile(all.latency, 99.9),
			MaxMS:             float64(all.latency.Max()) / 1000,
		}
	}
	return out
}

func quantile(h *hdrhistogram.Histogram, q float64) float64 {
	return float64(h.ValueAtQuantile(q)) / 1000
}
