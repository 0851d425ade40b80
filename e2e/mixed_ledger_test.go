//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// ledger holds what one side has got of a mixedLoad, by group and number.
type ledger struct {
	name  string
	order bool // within groups

	mu       sync.Mutex
	groups   map[string]*ledgerGroup
	finished int64
	wrong    []string
}

type ledgerGroup struct {
	states []ledgerState // by number
	gone   int           // finished without a gap from the first on
	out    int           // taken and not finished
	answer string        // that has what is out
}

type ledgerState byte

const (
	notSeen   ledgerState = iota // or given back
	taken                        // and not settled
	isDeleted                    // or asked to be
)

func newLedger(name string, order bool) *ledger {
	return &ledger{name: name, order: order, groups: map[string]*ledgerGroup{}}
}

// free tells whether the messages of a group come in no order.
func (l *ledger) free(group string) bool { return !l.order || strings.HasPrefix(group, nobody) }

// take notes messages that one answer brought, in its order. None of them may be
// out or finished, and in a group with an order each is the next one, with
// nothing of the group in other hands.
func (l *ledger) take(answer string, bodies []string) {
	l.each(bodies, func(body, name string, g *ledgerGroup, n int) {
		switch g.states[n] {
		case taken:
			l.violate("%q came to %s while %s has it", body, answer, g.answer)
		case isDeleted:
			l.violate("%q came to %s after its deletion", body, answer)
		case notSeen:
			if l.free(name) {
				break
			}
			if n != g.gone+g.out {
				l.violate("%q came to %s, but %d are finished and %d out", body, answer, g.gone, g.out)
			}
			if g.out > 0 && g.answer != answer {
				l.violate("%q came to %s while %s has a part of the group", body, answer, g.answer)
			}
		}
		g.states[n], g.answer = taken, answer
		g.out++
	})
}

// finish notes messages whose deletion is about to be asked for.
func (l *ledger) finish(bodies []string) {
	l.each(bodies, func(_, _ string, g *ledgerGroup, n int) {
		g.states[n] = isDeleted
		g.out--
		for g.gone < len(g.states) && g.states[g.gone] == isDeleted {
			g.gone++
		}
		l.finished++
	})
}

// giveBack notes messages that are about to be given back.
func (l *ledger) giveBack(bodies []string) {
	l.each(bodies, func(_, _ string, g *ledgerGroup, n int) {
		g.states[n] = notSeen
		g.out--
	})
}

func (l *ledger) each(bodies []string, do func(body, name string, g *ledgerGroup, n int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, body := range bodies {
		name, n := parseBody(body)
		g := l.groups[name]
		if g == nil {
			g = &ledgerGroup{}
			l.groups[name] = g
		}
		for len(g.states) <= n {
			g.states = append(g.states, notSeen)
		}
		do(groupBody(name, n), name, g, n)
	}
}

func (l *ledger) violate(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// done is how many messages are finished.
func (l *ledger) done() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.finished
}

// broken tells whether something was wrong.
func (l *ledger) broken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.wrong) > 0
}

// report fails the test with what was wrong, and with what is missing of all.
func (l *ledger) report(t *testing.T, all int64) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, wrong := range l.wrong {
		if i == 5 {
			t.Errorf("%s: and %d more", l.name, len(l.wrong)-i)
			return
		}
		t.Errorf("%s: %s", l.name, wrong)
	}
	if l.finished == all {
		return
	}
	t.Errorf("%s: %d of %d messages", l.name, l.finished, all)
	told := 0
	for name, g := range l.groups {
		if (g.gone < len(g.states) || g.out > 0) && told < 5 {
			t.Errorf("%s: group %s has a gap at %d, the last seen is %d, %d are out", l.name, name, g.gone, len(g.states)-1, g.out)
			told++
		}
	}
}

// TestLedger: a ledger finds what would be wrong with an answer.
func TestLedger(t *testing.T) {
	tests := []struct {
		name  string
		do    func(l *ledger)
		wrong string // "" for nothing
	}{
		{"in order", func(l *ledger) {
			l.take("a", []string{"g/0", "g/1", "h/0"})
			l.finish([]string{"g/0", "g/1"})
			l.take("b", []string{"g/2"})
		}, ""},
		{"given back", func(l *ledger) {
			l.take("a", []string{"g/0", "g/1"})
			l.giveBack([]string{"g/0", "g/1"})
			l.take("b", []string{"g/0"})
		}, ""},
		{"no order", func(l *ledger) {
			l.take("a", []string{nobody + "/5"})
			l.take("b", []string{nobody + "/3"})
		}, ""},
		{"gap", func(l *ledger) { l.take("a", []string{"g/1"}) }, "0 are finished and 0 out"},
		{"gap after a delete", func(l *ledger) {
			l.take("a", []string{"g/0"})
			l.finish([]string{"g/0"})
			l.take("b", []string{"g/2"})
		}, "1 are finished and 0 out"},
		{"out of order in one answer", func(l *ledger) { l.take("a", []string{"g/1", "g/0"}) }, "0 are finished"},
		{"locked group", func(l *ledger) {
			l.take("a", []string{"g/0"})
			l.take("b", []string{"g/1"})
		}, "while a has a part"},
		{"twice out", func(l *ledger) {
			l.take("a", []string{nobody + "/0"})
			l.take("b", []string{nobody + "/0"})
		}, "while a has it"},
		{"after its deletion", func(l *ledger) {
			l.take("a", []string{"g/0"})
			l.finish([]string{"g/0"})
			l.take("b", []string{"g/0"})
		}, "after its deletion"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newLedger("", true)
			test.do(l)
			switch {
			case test.wrong == "" && l.broken():
				t.Errorf("found wrong: %v", l.wrong)
			case test.wrong != "" && !strings.Contains(strings.Join(l.wrong, "\n"), test.wrong):
				t.Errorf("found %q, want %q", l.wrong, test.wrong)
			}
		})
	}
}
