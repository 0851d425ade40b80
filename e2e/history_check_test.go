//go:build e2e

package e2e

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestHistoryFindsViolations holds the checker of the crash tests against
// histories that are wrong, and against some that are not.
func TestHistoryFindsViolations(t *testing.T) {
	t.Parallel()
	failed := errors.New("connection lost")
	type step struct {
		body         string
		kind         eventKind
		began, ended int // ms; ended 0 = no answer
		count        int
		visible      int // ms
		err          error
		id, client   string
	}
	tests := map[string]struct {
		fifo  bool
		steps []step
		want  string // part of the first violation, "" = none
	}{
		"life": {steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10},
			{body: "g/0", kind: received, began: 20, ended: 30, count: 1, visible: 1000},
			{body: "g/0", kind: received, began: 1010, ended: 1020, count: 2, visible: 1000},
			{body: "g/0", kind: deleted, began: 1030, ended: 1040},
		}},
		"lost": {steps: []step{{body: "g/0", kind: sent, began: 0, ended: 10}}, want: "LOST"},
		"a failed send may be lost": {steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10, err: failed},
		}},
		"early": {steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10},
			{body: "g/0", kind: received, began: 20, ended: 30, count: 1, visible: 1000},
			{body: "g/0", kind: received, began: 900, ended: 1000, count: 2, visible: 1000},
		}, want: "its lease was to last until"},
		"given back": {steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10},
			{body: "g/0", kind: received, began: 20, ended: 30, count: 1, visible: 1000},
			{body: "g/0", kind: hidden, began: 40},
			{body: "g/0", kind: received, began: 35, ended: 50, count: 2, visible: 1000},
		}},
		"extended": {steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10},
			{body: "g/0", kind: received, began: 20, ended: 30, count: 1, visible: 1000},
			{body: "g/0", kind: hidden, began: 500, ended: 510, visible: 2000},
			{body: "g/0", kind: received, began: 1900, ended: 2000, count: 2, visible: 1000},
		}, want: "its lease was to last until"},
		"extension without answer": {steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10},
			{body: "g/0", kind: received, began: 20, ended: 30, count: 1, visible: 1000},
			{body: "g/0", kind: hidden, began: 500, ended: 510, visible: 2000, err: failed},
			{body: "g/0", kind: received, began: 1900, ended: 2000, count: 2, visible: 1000},
		}},
		"back from the dead": {steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10},
			{body: "g/0", kind: received, began: 20, ended: 30, count: 1, visible: 1000},
			{body: "g/0", kind: deleted, began: 40, ended: 50},
			{body: "g/0", kind: received, began: 2000, ended: 2010, count: 2},
		}, want: "a delete was answered"},
		"delete without answer": {steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10},
			{body: "g/0", kind: received, began: 20, ended: 30, count: 1, visible: 1000},
			{body: "g/0", kind: deleted, began: 40, ended: 50, err: failed},
			{body: "g/0", kind: received, began: 2000, ended: 2010, count: 2},
		}},
		"count": {steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10},
			{body: "g/0", kind: received, began: 20, ended: 30, count: 4, visible: 1000},
			{body: "g/0", kind: received, began: 2000, ended: 2010, count: 4},
		}, want: "the receive count was 4 before"},
		"a late answer": {steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10},
			{body: "g/0", kind: received, began: 1010, ended: 1020, count: 2, visible: 1000},
			{body: "g/0", kind: received, began: 20, ended: 1500, count: 1, visible: 900},
		}},
		"a late answer whose lease was broken": {steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10},
			{body: "g/0", kind: received, began: 500, ended: 510, count: 2, visible: 1000},
			{body: "g/0", kind: received, began: 20, ended: 1500, count: 1, visible: 900},
		}, want: "before this lease ended"},
		"invented": {steps: []step{{body: "g/0", kind: received, began: 20, ended: 30, count: 1}}, want: "nobody sent it"},
		"twice": {fifo: true, steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10, id: "a"}, {body: "g/0", kind: received, began: 20, ended: 30, count: 1, id: "b"},
		}, want: "is there as a and as b"},
		"overtaken": {fifo: true, steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10},
			{body: "g/1", kind: sent, began: 10, ended: 20},
			{body: "g/1", kind: received, began: 20, ended: 30, count: 1},
		}, want: "g/0 of the same group is not deleted"},
		"in one answer": {fifo: true, steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10},
			{body: "g/1", kind: sent, began: 10, ended: 20},
			{body: "g/0", kind: received, began: 20, ended: 30, count: 1},
			{body: "g/1", kind: received, began: 20, ended: 30, count: 1},
		}},
		"by another while the first is out": {fifo: true, steps: []step{
			{body: "g/0", kind: sent, began: 0, ended: 10},
			{body: "g/1", kind: sent, began: 10, ended: 20},
			{body: "g/0", kind: received, began: 20, ended: 30, count: 1},
			{body: "g/1", kind: received, began: 21, ended: 31, count: 1, client: "other"},
		}, want: "g/0 of the same group is not deleted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHistory(test.fifo)
			for _, s := range test.steps {
				e := event{
					kind: s.kind, began: h.start.Add(ms(s.began)), count: s.count, visible: ms(s.visible), err: s.err, id: s.id, client: s.client,
				}
				if s.ended > 0 {
					e.ended = h.start.Add(ms(s.ended))
				}
				h.note(s.body, e)
			}
			h.finish()
			first := ""
			if len(h.broken) > 0 {
				first = h.broken[0]
			}
			if test.want == "" && first != "" || !strings.Contains(first, test.want) {
				t.Errorf("want %q, got %s", test.want, first)
			}
		})
	}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
