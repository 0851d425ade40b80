package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const visibility = 30 * time.Second

// story drives a ledger; times are seconds since the start.
type story struct {
	*Ledger
	start time.Time
}

func newStory(producers, groups int) story {
	start := time.Unix(1000, 0)
	return story{New(start, visibility, producers, groups), start}
}

func (s story) at(seconds int) time.Time { return s.start.Add(time.Duration(seconds) * time.Second) }

func (s story) receive(asked, answered int, ids ...ID) { s.Received(ids, s.at(asked), s.at(answered)) }

func (s story) remove(asked, answered int, id ID) {
	_ = asked // reads better where it is called
	s.Deleting(id)
	s.Deleted(id, s.at(answered))
}

func message0(seq int) ID       { return ID{Producer: 0, Seq: seq, Group: -1} }
func grouped(seq, group int) ID { return ID{Producer: 0, Seq: seq, Group: group} }
func other(seq, group int) ID   { return ID{Producer: 1, Seq: seq, Group: group} }
func (s story) send(ids ...ID)  { each(ids, s.Sent) }
func each(ids []ID, do func(ID)) {
	for _, id := range ids {
		do(id)
	}
}

func TestRules(t *testing.T) {
	for name, tc := range map[string]struct {
		tell func(story)
		want Result
	}{
		"a whole life": {
			func(s story) {
				s.send(message0(0))
				s.receive(1, 2, message0(0))
				s.remove(3, 4, message0(0))
			},
			Result{Sent: 1, Received: 1, Deleted: 1},
		},
		"received before the send is answered": {
			func(s story) {
				s.receive(1, 2, message0(0))
				s.send(message0(0))
				s.remove(3, 4, message0(0))
			},
			Result{Sent: 1, Received: 1, Deleted: 1},
		},
		"lost": {
			func(s story) {
				s.send(message0(0), message0(1))
				s.receive(1, 2, message0(1))
			},
			Result{Sent: 2, Received: 1, Lost: 1},
		},
		"a send without an answer may be missing": {
			func(s story) { s.Unsure(message0(0)) },
			Result{Unsure: 1},
		},
		"a send without an answer may be there": {
			func(s story) {
				s.Unsure(message0(0))
				s.receive(1, 2, message0(0))
			},
			Result{Unsure: 1, Received: 1},
		},
		"a refused send is there": {
			func(s story) {
				s.Refused(message0(0))
				s.receive(1, 2, message0(0))
				s.receive(3, 4, message0(1))
				s.Refused(message0(1))
			},
			Result{Received: 2, Unsent: 2},
		},
		"twice within the lease": {
			func(s story) {
				s.send(message0(0))
				s.receive(1, 3, message0(0))
				s.receive(28, 30, message0(0)) // held until 31
			},
			Result{Sent: 1, Received: 1, Duplicates: 1},
		},
		"twice, the second lease counts as well": {
			func(s story) {
				s.send(message0(0))
				s.receive(1, 3, message0(0))
				s.receive(30, 31, message0(0)) // fair
				s.receive(32, 59, message0(0)) // held until 60
			},
			Result{Sent: 1, Received: 1, Again: 1, Duplicates: 1},
		},
		"again after the lease": {
			func(s story) {
				s.send(message0(0))
				s.receive(1, 3, message0(0))
				s.receive(20, 31, message0(0))
			},
			Result{Sent: 1, Received: 1, Again: 1},
		},
		"back after the delete": {
			func(s story) {
				s.send(message0(0))
				s.receive(1, 2, message0(0))
				s.remove(3, 4, message0(0))
				s.receive(100, 101, message0(0))
			},
			Result{Sent: 1, Received: 1, Deleted: 1, CameBack: 1},
		},
		"a receive that was under way before the delete was answered": {
			func(s story) {
				s.send(message0(0))
				s.receive(1, 2, message0(0))
				s.remove(40, 42, message0(0))
				s.receive(41, 43, message0(0))
			},
			Result{Sent: 1, Received: 1, Deleted: 1, Again: 1},
		},
		"deleted twice": {
			func(s story) {
				s.send(message0(0))
				s.receive(1, 2, message0(0))
				s.remove(3, 4, message0(0))
				s.remove(3, 4, message0(0))
			},
			Result{Sent: 1, Received: 1, Deleted: 1},
		},
		"a group in order, over answers": {
			func(s story) {
				s.send(grouped(0, 0), grouped(1, 1), grouped(2, 0), grouped(3, 0))
				s.receive(1, 2, grouped(0, 0), grouped(2, 0))
				s.receive(1, 3, grouped(1, 1))
				s.remove(3, 4, grouped(0, 0))
				s.remove(3, 4, grouped(2, 0))
				s.receive(3, 5, grouped(3, 0))
			},
			Result{Sent: 4, Received: 4, Deleted: 2},
		},
		"a group out of order": {
			func(s story) {
				s.send(grouped(0, 0), grouped(1, 0))
				s.receive(1, 2, grouped(1, 0), grouped(0, 0))
			},
			Result{Sent: 2, Received: 2, Disorder: 1},
		},
		"two producers of a group have no order": {
			func(s story) {
				s.send(grouped(5, 0), other(0, 0))
				s.receive(1, 2, grouped(5, 0), other(0, 0))
			},
			Result{Sent: 2, Received: 2},
		},
		"redelivery is no disorder": {
			func(s story) {
				s.send(grouped(0, 0), grouped(1, 0))
				s.receive(1, 2, grouped(0, 0), grouped(1, 0))
				s.receive(31, 32, grouped(0, 0), grouped(1, 0))
			},
			Result{Sent: 2, Received: 2, Again: 2},
		},
		"a group with two receivers": {
			func(s story) {
				s.send(grouped(0, 0), grouped(1, 0))
				s.receive(1, 2, grouped(0, 0))
				s.receive(1, 3, grouped(1, 0))
			},
			Result{Sent: 2, Received: 2, GroupTwice: 1},
		},
		"a group's next receiver after the lease": {
			func(s story) {
				s.send(grouped(0, 0), grouped(1, 0))
				s.receive(1, 2, grouped(0, 0))
				s.receive(2, 31, grouped(1, 0))
			},
			Result{Sent: 2, Received: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(2, 2)
			tc.tell(s)
			if diff := cmp.Diff(tc.want, s.Result()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Memory goes when messages are deleted, what is known of them does not.
func TestForgetsDeletedMessages(t *testing.T) {
	s := newStory(1, 0)
	const n = 3 * chunkSize
	for i := range n {
		s.send(message0(i))
		s.receive(1, 2, message0(i))
		if i != chunkSize { // one stays in the middle
			s.remove(3, 4, message0(i))
		}
	}
	p := &s.producers[0]
	if p.chunks[0] != nil || p.chunks[1] == nil || p.chunks[2] != nil {
		t.Error("not exactly the chunks without a message are gone")
	}
	s.receive(5, 6, message0(7))
	s.remove(7, 8, message0(7))
	want := Result{Sent: n, Received: n, Deleted: n - 1, CameBack: 1}
	if diff := cmp.Diff(want, s.Result()); diff != "" {
		t.Error(diff)
	}
}

func TestMissing(t *testing.T) {
	s := newStory(2, 1)
	s.send(message0(0), grouped(1, 0), other(0, 0))
	s.receive(1, 2, other(0, 0))
	if got := s.Missing(); got != 2 {
		t.Errorf("missing %d, want 2", got)
	}
}

func TestKnows(t *testing.T) {
	l := newStory(2, 3)
	for id, want := range map[ID]bool{
		{0, 0, -1}: true, {1, 1<<32 - 1, 2}: true,
		{2, 0, 0}: false, {0, 1 << 32, 0}: false, {-1, 0, 0}: false, {0, -1, 0}: false, {0, 0, 3}: false, {0, 0, -2}: false,
	} {
		if got := l.Knows(id); got != want {
			t.Errorf("%v: %v", id, got)
		}
	}
}
