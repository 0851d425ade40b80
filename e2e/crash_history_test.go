//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// history is what the clients of one queue did and were told. Times are the
// clients': began is before the request leaves, ended after its answer is here.
type history struct {
	fifo  bool
	start time.Time

	mu     sync.Mutex
	events map[string][]event // by body, in the order in which they ended
	broken []string           // violations, each with its message's history
}

type eventKind string

const (
	sent     eventKind = "sent"
	received eventKind = "received"
	hidden   eventKind = "visibility changed"
	deleted  eventKind = "deleted"
)

// event is one request about one message, with its answer.
type event struct {
	kind         eventKind
	began, ended time.Time
	err          error
	client       string
	id           string        // message id
	count        int           // of receives
	visible      time.Duration // the visibility asked for
}

// slack is how much earlier than promised a lease may seem to end: the gateway
// counts in whole milliseconds.
const slack = 3 * time.Millisecond

func newHistory(fifo bool) *history {
	return &history{fifo: fifo, start: time.Now(), events: map[string][]event{}}
}

// note adds an event and checks it against what is known of its message.
func (h *history) note(body string, e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.kind == received {
		h.checkReceive(body, e)
	}
	h.events[body] = append(h.events[body], e)
	if e.kind == received {
		h.checkOrder(body, e)
	}
}

// begin adds a delete or a visibility change whose answer is not there yet, so
// that a receive beside it knows of it. The returned function completes it.
func (h *history) begin(body string, e event) (end func(error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events[body] = append(h.events[body], e)
	at := len(h.events[body]) - 1
	return func(err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.events[body][at].ended, h.events[body][at].err = time.Now(), err
	}
}

// checkReceive holds one receive against the earlier ones of the message.
func (h *history) checkReceive(body string, now event) {
	if h.late(body, now) {
		return
	}
	var lease time.Time // the message may be handed out again from here on
	before := 0
	known := false
	for _, e := range h.events[body] {
		switch e.kind {
		case sent:
			known = true
			if h.fifo && e.err == nil && e.id != now.id {
				h.violate(body, now, "a message sent once is there as %s and as %s", e.id, now.id)
			}
		case received:
			lease, before = e.began.Add(e.visible), max(before, e.count)
		case hidden:
			until := e.began.Add(e.visible)
			if e.ended.IsZero() || e.err != nil {
				until = earlier(until, lease) // it may have happened or not
			}
			lease = until
		case deleted:
			if !e.ended.IsZero() && e.err == nil && e.ended.Before(now.began) {
				h.violate(body, now, "a delete was answered")
			}
		}
	}
	switch {
	case !known:
		h.violate(body, now, "nobody sent it")
	case now.ended.Before(lease.Add(-slack)):
		h.violate(body, now, "its lease was to last until %v", h.at(lease))
	case now.count <= before:
		h.violate(body, now, "the receive count was %d before", before)
	}
}

// late tells whether a process stood still with this answer while a later receive,
// which has the higher count, was answered. That one had to wait for this lease.
func (h *history) late(body string, now event) bool {
	late := false
	for _, e := range h.events[body] {
		if e.kind != received || e.count <= now.count || !now.began.Before(e.ended) {
			continue
		}
		late = true
		if until := now.began.Add(now.visible); e.ended.Before(until.Add(-slack)) && !h.givenBack(body, now, e) {
			h.violate(body, now, "another receive got it %v before this lease ended", until.Sub(e.ended))
		}
	}
	return late
}

// givenBack tells whether somebody changed the visibility between two receives.
func (h *history) givenBack(body string, first, second event) bool {
	return slices.ContainsFunc(h.events[body], func(e event) bool {
		return e.kind == hidden && e.began.After(first.began) && e.began.Before(second.ended)
	})
}

// checkOrder: on a FIFO queue all earlier messages of the group are deleted, or
// at least somebody has asked for it, or they come with the same answer.
func (h *history) checkOrder(body string, now event) {
	if !h.fifo {
		return
	}
	group, number := parseBody(body)
	for n := range number {
		earlier := groupBody(group, n)
		if !slices.ContainsFunc(h.events[earlier], func(e event) bool {
			return e.kind == deleted || e.kind == received && e.client == now.client && e.ended.Equal(now.ended)
		}) {
			h.violate(body, now, "%s of the same group is not deleted", earlier)
			h.broken = append(h.broken, h.story(earlier))
			return
		}
	}
}

// finish checks that every message whose send was answered was received, and
// that what is left was deleted; call it when the queue is empty.
func (h *history) finish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, body := range slices.Sorted(maps.Keys(h.events)) {
		ok, seen := false, false
		for _, e := range h.events[body] {
			ok = ok || e.kind == sent && e.err == nil
			seen = seen || e.kind == received || e.kind == deleted
		}
		if ok && !seen {
			h.broken = append(h.broken, "LOST: the send was answered, nobody received it\n"+h.story(body))
		}
	}
}

// outstanding are the messages that must still be in the queue: their send was
// answered, and nobody has asked for their deletion.
func (h *history) outstanding() (bodies []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for body, events := range h.events {
		there, gone := false, false
		for _, e := range events {
			there = there || e.kind == sent && e.err == nil
			gone = gone || e.kind == deleted // without an answer it may have happened
		}
		if there && !gone {
			bodies = append(bodies, body)
		}
	}
	return bodies
}

// report fails the test with the violations.
func (h *history) report(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := map[eventKind]int{}
	failed := map[eventKind]int{}
	for _, events := range h.events {
		for _, e := range events {
			counts[e.kind]++
			if e.err != nil {
				failed[e.kind]++
			}
		}
	}
	t.Logf("fifo %v: requests %v, of them failed %v", h.fifo, counts, failed)
	for i, v := range h.broken {
		if i == 5 {
			t.Errorf("and %d violations more", len(h.broken)-i)
			break
		}
		t.Error(v)
	}
}

func (h *history) violate(body string, now event, format string, args ...any) {
	h.broken = append(h.broken, fmt.Sprintf("VIOLATION: %q received, but ", body)+fmt.Sprintf(format, args...)+
		"\n"+h.story(body)+h.line(now)+"  <- this one\n")
}

func (h *history) at(t time.Time) time.Duration { return t.Sub(h.start).Round(100 * time.Microsecond) }

func (h *history) story(body string) string {
	var b strings.Builder
	for _, e := range h.events[body] {
		b.WriteString(h.line(e))
	}
	return b.String()
}

func (h *history) line(e event) string {
	if e.ended.IsZero() {
		return fmt.Sprintf("  %10v ..........  %s by %s, no answer yet\n", h.at(e.began), e.kind, e.client)
	}
	line := fmt.Sprintf("  %10v %10v  %s by %s", h.at(e.began), h.at(e.ended), e.kind, e.client)
	if e.kind == received {
		line += fmt.Sprintf(", count %d", e.count)
	}
	if e.visible > 0 {
		line += fmt.Sprintf(", visible in %v", e.visible)
	}
	if e.id != "" {
		line += ", id " + e.id
	}
	if e.err != nil {
		line += ", " + errorCode(e.err)
	}
	return line + "\n"
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// groupBody is the body of the n-th message of a group, from 0.
func groupBody(group string, n int) string { return fmt.Sprintf("%s/%d", group, n) }

func parseBody(body string) (group string, n int) {
	group, number, _ := strings.Cut(body, "/")
	if _, err := fmt.Sscan(number, &n); err != nil {
		panic("a body that no test has made: " + body)
	}
	return group, n
}
