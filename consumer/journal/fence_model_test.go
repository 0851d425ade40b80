package journal

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// The fence is checked by going through every order of events of a small world:
// one journal partition, an owner with a few appends to make, and others that
// take over from it. The model is of the rules, not of the code:
//
//   - the server appends a message whose sequence number is above the producer's
//     last one, and answers "skipped" to others; what is under way may arrive at
//     any time later, also from a session that another one has replaced;
//   - a process may stand still between any two of its steps, for ever too;
//   - a connection may break with an append under way, which then arrives or not.
//
// An answer to a client is wrong when the journal does not hold what was answered,
// or when the owner did not know of an op that lies before it in the journal and
// was answered, too: then one owner deletes what another one hands out.

// fenceRules are what an owner does. The zero value is the rule in use.
type fenceRules struct {
	plainNumbers   bool // sequence numbers go on by one instead of epoch<<40|n
	skippedIsDone  bool // "skipped" counts as written
	replayFirst    bool // the journal is read before the Epoch record is appended
	resendBlindly  bool // after a reconnect "skipped" counts as written
	noEpochRecord  bool // a new owner reads the journal and goes on
	replayBehindMe bool // it reads up to the record before its Epoch record, less one
}

const (
	modelShift = 8 // of the epoch in a sequence number
	modelOps   = 2 // appends of each process
)

// The steps of a process.
const (
	stepOpen    = iota // learn the last sequence number, choose an epoch
	stepReplay0        // replayFirst only
	stepFence          // send the Epoch record
	stepFencing        // wait for its answer
	stepReplay         // read the journal
	stepServe          // send the next op, or be done
	stepAwait          // wait for its answer
	stepBroken         // the connection broke with an op under way
	stepStopped
)

type modelRecord struct {
	epoch, op int // op 0 = Epoch
	by        int
}

// modelMessage is on its way to the server, or its answer on the way back.
type modelMessage struct {
	seq      int
	record   modelRecord
	answered bool
	written  bool
	at       int // offset
}

type modelProcess struct {
	step   int
	epoch  int
	seq    int // the last one used
	fence  int // offset of its Epoch record
	ops    int // appended so far
	resent bool
	flight *modelMessage // at most one
	lost   *modelMessage // sent over a connection that broke; its answer goes nowhere
	view   uint          // ops it knows of
}

type modelWorld struct {
	rules    fenceRules
	log      []modelRecord
	lastSeq  int
	breaks   int          // connections that may still break
	answered map[int]uint // by op: what its owner knew of, itself included
	procs    []modelProcess
}

func (w *modelWorld) clone() *modelWorld {
	c := *w
	c.log = slices.Clone(w.log)
	c.answered = maps.Clone(w.answered)
	c.procs = slices.Clone(w.procs)
	for i := range c.procs {
		p := &c.procs[i]
		if p.flight != nil {
			m := *p.flight
			p.flight = &m
		}
		if p.lost != nil {
			m := *p.lost
			p.lost = &m
		}
	}
	return &c
}

func (w *modelWorld) key() string {
	s := fmt.Sprint(w.log, w.lastSeq, w.breaks, w.answered)
	for i := range w.procs {
		p := w.procs[i]
		s += fmt.Sprint(p.step, p.epoch, p.seq, p.fence, p.ops, p.resent, p.view)
		for _, m := range []*modelMessage{p.flight, p.lost} {
			if m != nil {
				s += fmt.Sprint(*m)
			}
			s += "|"
		}
	}
	return s
}

// fold is what a reader makes of the log below upto.
func (w *modelWorld) fold(upto int) uint {
	var view uint
	epoch := 0
	for _, r := range w.log[:upto] {
		if r.epoch < epoch {
			continue
		}
		epoch = max(epoch, r.epoch)
		view |= 1 << r.op
	}
	return view &^ 1
}

// arrive lets the server take a message.
func (w *modelWorld) arrive(m *modelMessage) {
	m.answered = true
	if m.seq > w.lastSeq {
		w.lastSeq, m.written, m.at = m.seq, true, len(w.log)
		w.log = append(w.log, m.record)
	}
}

func (p *modelProcess) send(by, op int) {
	p.flight = &modelMessage{seq: p.seq, record: modelRecord{epoch: p.epoch, op: op, by: by}}
}

// opID numbers the ops of all processes from 1.
func opID(process, n int) int { return 1 + process*modelOps + n }

// number is the next sequence number of an owner.
func (w *modelWorld) number(p *modelProcess) int {
	if w.rules.plainNumbers || p.step != stepFence {
		return p.seq + 1
	}
	return p.epoch << modelShift
}

// answer tells a client that an op is done, and what is wrong with that.
func (w *modelWorld) answer(p *modelProcess, op int) (wrong string) {
	p.view |= 1 << op
	p.ops++
	p.step, p.flight = stepServe, nil
	w.answered[op] = p.view
	fold := w.fold(len(w.log))
	var before []int
	for _, r := range w.log {
		view, answered := w.answered[r.op]
		if !answered || fold&(1<<r.op) == 0 {
			continue
		}
		for _, b := range before {
			if view&(1<<b) == 0 {
				return fmt.Sprintf("op %d was answered by an owner that did not know of op %d", r.op, b)
			}
		}
		before = append(before, r.op)
	}
	if len(before) < len(w.answered) {
		return fmt.Sprintf("%d ops were answered, the journal holds %v of them", len(w.answered), before)
	}
	return ""
}

// events are what may happen next.
func (w *modelWorld) events() []func(*modelWorld) string {
	var list []func(*modelWorld) string
	for i := range w.procs {
		p := &w.procs[i]
		switch p.step {
		case stepStopped:
		case stepServe:
			if p.ops < modelOps {
				list = append(list, func(w *modelWorld) string { return w.step(i) })
			}
		case stepFencing, stepAwait:
			if p.flight.answered {
				list = append(list, func(w *modelWorld) string { return w.step(i) })
			}
		default:
			list = append(list, func(w *modelWorld) string { return w.step(i) })
		}
		if p.flight != nil && !p.flight.answered {
			list = append(list, func(w *modelWorld) string { w.arrive(w.procs[i].flight); return "" })
		}
		if p.lost != nil && !p.lost.answered {
			list = append(list, func(w *modelWorld) string { w.arrive(w.procs[i].lost); return "" })
		}
		if p.step == stepAwait && w.breaks > 0 {
			list = append(list, func(w *modelWorld) string {
				p := &w.procs[i]
				w.breaks--
				p.lost, p.flight, p.step = p.flight, nil, stepBroken
				return ""
			})
		}
	}
	return list
}

// step takes the next step of a process.
func (w *modelWorld) step(i int) (wrong string) {
	p := &w.procs[i]
	switch p.step {
	case stepOpen:
		p.epoch, p.seq = w.lastSeq>>modelShift+1, w.lastSeq
		if w.rules.plainNumbers {
			p.epoch = w.lastEpoch() + 1
		}
		switch {
		case w.rules.noEpochRecord:
			p.seq = p.epoch << modelShift
			p.fence, p.step = len(w.log), stepReplay
		case w.rules.replayFirst:
			p.step = stepReplay0
		default:
			p.step = stepFence
		}
	case stepReplay0:
		p.view = w.fold(len(w.log))
		p.step = stepFence
	case stepFence:
		p.seq = w.number(p)
		p.send(i, 0)
		p.step = stepFencing
	case stepFencing:
		m := p.flight
		p.flight = nil
		switch {
		case !m.written:
			p.step = stepOpen // somebody newer
		case w.rules.replayFirst:
			p.step = stepServe
		default:
			p.fence, p.step = m.at, stepReplay
		}
	case stepReplay:
		upto := p.fence
		if w.rules.replayBehindMe {
			upto = max(0, upto-1)
		}
		p.view = w.fold(upto)
		p.step = stepServe
	case stepServe:
		p.seq = w.number(p)
		p.send(i, opID(i, p.ops))
		p.step, p.resent = stepAwait, false
	case stepAwait:
		if p.flight.written || w.rules.skippedIsDone || p.resent && w.rules.resendBlindly {
			return w.answer(p, p.flight.record.op)
		}
		p.step, p.flight = stepStopped, nil
	case stepBroken:
		// A new session tells the last sequence number of the producer.
		op := opID(i, p.ops)
		switch {
		case w.rules.resendBlindly, w.lastSeq < p.seq:
			p.send(i, op)
			p.step, p.resent = stepAwait, true
		case w.lastSeq == p.seq && !w.rules.plainNumbers:
			return w.answer(p, op)
		default:
			p.step = stepStopped
		}
	}
	return ""
}

func (w *modelWorld) lastEpoch() int {
	epoch := 0
	for _, r := range w.log {
		epoch = max(epoch, r.epoch)
	}
	return epoch
}

// explore goes through every state that can be reached, or up to the first
// violation.
func explore(start *modelWorld, all bool) (states, violations int, first string) {
	seen := map[string]bool{start.key(): true}
	next := []*modelWorld{start}
	for len(next) > 0 {
		w := next[len(next)-1]
		next = next[:len(next)-1]
		states++
		for _, event := range w.events() {
			c := w.clone()
			if wrong := event(c); wrong != "" {
				violations++
				if first == "" {
					first = fmt.Sprintf("%s; journal %v", wrong, c.log)
				}
				if !all {
					return states, violations, first
				}
				continue
			}
			if key := c.key(); !seen[key] {
				seen[key] = true
				next = append(next, c)
			}
		}
	}
	return states, violations, first
}

// fenceWorld has an owner, which becomes the zombie, and others to come.
func fenceWorld(rules fenceRules, takeovers, breaks int) *modelWorld {
	w := &modelWorld{rules: rules, breaks: breaks, answered: make(map[int]uint), procs: make([]modelProcess, 1+takeovers)}
	owner := &w.procs[0]
	owner.epoch, owner.step = 1, stepServe
	owner.seq = 1
	if !rules.plainNumbers {
		owner.seq = 1 << modelShift
	}
	w.log, w.lastSeq = []modelRecord{{epoch: 1}}, owner.seq
	return w
}

func TestFenceModel(t *testing.T) {
	tests := []struct {
		name  string
		rules fenceRules
		safe  bool
	}{
		{"epoch numbers, skipped = fenced, fence then replay up to the own record", fenceRules{}, true},
		{"plain numbers, otherwise the same", fenceRules{plainNumbers: true}, true},
		{"skipped taken for written", fenceRules{skippedIsDone: true}, false},
		{"skipped taken for written, plain numbers", fenceRules{skippedIsDone: true, plainNumbers: true}, false},
		{"skipped taken for written after a reconnect", fenceRules{resendBlindly: true}, false},
		{"replay before the fence", fenceRules{replayFirst: true}, false},
		{"no Epoch record", fenceRules{noEpochRecord: true}, false},
		{"replay up to one record less", fenceRules{replayBehindMe: true}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for takeovers := 1; takeovers <= 2; takeovers++ {
				for breaks := range 2 {
					states, violations, first := explore(fenceWorld(test.rules, takeovers, breaks), test.safe)
					t.Logf("%d takeovers, %d broken connections: %d states, %d violations %s", takeovers, breaks, states, violations, first)
					if test.safe && violations > 0 {
						t.Errorf("%d takeovers, %d broken connections: %d violations, the first: %s", takeovers, breaks, violations, first)
					}
					if !test.safe && violations == 0 && (breaks > 0 || !test.rules.resendBlindly) {
						t.Errorf("%d takeovers, %d broken connections: the model does not see what is wrong with this", takeovers, breaks)
					}
				}
			}
		})
	}
}
