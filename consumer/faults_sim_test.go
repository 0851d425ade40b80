package consumer_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/consumer/journal"
	"sqsgate/internal/ydbstatus"
)

// faults is the one who breaks things: one at a time, at the pace of the plan.
// What it holds back it lets go some time later.
type faults struct {
	w    *world
	rnd  *rand.Rand
	undo []undo
	in   inspector
}

type undo struct {
	at    time.Time
	what  string
	apply func()
	// lost: a crash of the server undoes it.
	lost bool
}

func (f *faults) run(ctx context.Context) {
	for rest(ctx, time.Duration(f.rnd.Int64N(int64(f.w.plan.calm)))) {
		f.undoDue(time.Now())
		if f.rnd.IntN(3) == 0 {
			f.in.look(ctx)
		}
		f.one(ctx)
	}
}

func (f *faults) later(most time.Duration, what string, lost bool, apply func()) {
	d := time.Duration(f.rnd.Int64N(int64(most)))
	f.w.h.note("%s for %v", what, d)
	f.undo = append(f.undo, undo{time.Now().Add(d), what, apply, lost})
}

func (f *faults) undoDue(now time.Time) {
	f.undo = slices.DeleteFunc(f.undo, func(u undo) bool {
		if u.at.After(now) {
			return false
		}
		u.apply()
		f.w.h.note("end of: %s", u.what)
		return true
	})
}

// heal undoes everything.
func (f *faults) heal() { f.undoDue(time.Now().Add(24 * time.Hour)) }

// topics are those that faults may hit.
func (f *faults) topic() string {
	q := f.w.queues[f.rnd.IntN(len(f.w.queues))]
	switch f.rnd.IntN(5) {
	case 0, 1:
		return q.topic
	case 2:
		return q.dead
	default:
		return journal.Path(stateRoot, q.name, shared)
	}
}

func (f *faults) one(ctx context.Context) {
	w, rnd := f.w, f.rnd
	if w.plan.drops && rnd.IntN(8) == 0 {
		f.dropDead()
		return
	}
	if w.plan.remakes && rnd.IntN(12) == 0 {
		q := w.queues[rnd.IntN(len(w.queues))]
		w.h.note("delete %s and make it again", q.name)
		w.remake(ctx, q, rnd)
		return
	}
	methods := []string{"StreamRead", "StreamWrite", "DescribeConsumer", "DescribeTopic", "CommitOffset"}
	switch rnd.IntN(16) {
	case 0, 1:
		if w.plan.splits {
			f.split()
		}
	case 2:
		q := w.queues[rnd.IntN(len(w.queues))]
		w.h.note("rebalance %s", q.topic)
		_ = w.control.Rebalance(q.topic, shared) // there may be no reader
	case 3:
		path := f.topic()
		w.h.note("kill %d sessions of %s", w.control.KillSessions(path), path)
	case 4:
		method := methods[rnd.IntN(len(methods))]
		n := 1 + rnd.IntN(4)
		w.h.note("fail %d %s", n, method)
		w.control.Fail(method, n, Ydb.StatusIds_UNAVAILABLE)
	case 5:
		method := methods[rnd.IntN(len(methods))]
		d := time.Duration(rnd.IntN(8000)) * time.Millisecond
		w.h.note("delay %s by %v", method, d)
		w.control.Delay(method, 1+rnd.IntN(2), d)
	case 6, 7:
		path := f.topic()
		f.later(9*time.Second, "hold acks of "+path, true, w.control.HoldAcks(path))
	case 8:
		i := f.gateway()
		g := w.gateways[i]
		g.wire.cut()
		f.later(10*time.Second, "cut "+g.name, false, g.wire.mend)
	case 9, 10:
		i := f.gateway()
		g := w.gateways[i]
		most := 15 * time.Second
		if w.plan.drops || w.plan.remakes {
			most = 75 * time.Second // beyond every timeout
		}
		f.later(most, "stall "+g.name, false, g.wire.stall())
		if rnd.IntN(2) == 0 { // as the server does when it hears nothing
			for _, q := range w.queues {
				w.control.KillSessions(q.topic)
			}
			w.h.note("kill the sessions of all topics")
		}
	case 11:
		f.replace(rnd.IntN(2) == 0)
	case 12:
		if len(w.gateways) > 1 {
			g := w.take(f.gateway())
			graceful := rnd.IntN(2) == 0
			w.h.note("stop %s, gracefully: %v", g.name, graceful)
			f.release(g)
			g.stop(graceful)
		} else if w.plan.gateways > 1 {
			w.addGateway()
			w.h.note("one more gateway: %s", w.gateways[len(w.gateways)-1].name)
		}
	case 13:
		if w.plan.crashes {
			f.crash(rnd.IntN(2) == 0)
		}
	case 14:
		f.vanish()
	case 15:
		switch rnd.IntN(8) {
		case 0, 1:
			w.purge(ctx, w.queues[rnd.IntN(len(w.queues))], rnd)
		case 2:
			q := w.queues[rnd.IntN(len(w.queues))]
			d := time.Duration(1+rnd.IntN(60)) * time.Second
			w.h.note("retention of %s: %v", q.name, d)
			w.h.retain(q, d)
			q.retention.Store(int64(d))
		case 3:
			q := w.queues[rnd.IntN(len(w.queues))]
			w.h.note("retention of %s: for long", q.name)
			w.h.retain(q, time.Hour)
			q.retention.Store(int64(time.Hour))
		}
	}
}

func (f *faults) gateway() int { return f.rnd.IntN(len(f.w.gateways)) }

// release ends what holds a gateway that is going to be stopped.
func (f *faults) release(g *gateway) {
	f.undo = slices.DeleteFunc(f.undo, func(u undo) bool {
		if u.what == "stall "+g.name || u.what == "cut "+g.name {
			u.apply()
			return true
		}
		return false
	})
}

// replace stops a gateway and starts another one.
func (f *faults) replace(graceful bool) {
	w := f.w
	i := f.gateway()
	if f.rnd.IntN(2) == 0 { // the new one first
		w.addGateway()
		g := w.take(i)
		w.h.note("replace %s, gracefully: %v", g.name, graceful)
		f.release(g)
		g.stop(graceful)
		return
	}
	g := w.gateways[i]
	w.h.note("restart %s, gracefully: %v", g.name, graceful)
	f.release(g)
	g.stop(graceful)
	w.addGateway()
	w.take(i)
}

func (f *faults) crash(gateways bool) {
	f.w.h.note("power failure, gateways too: %v", gateways)
	f.undo = slices.DeleteFunc(f.undo, func(u undo) bool {
		if u.lost || gateways {
			u.apply()
		}
		return u.lost || gateways
	})
	f.w.crash(f.rnd, gateways)
}

// split splits a partition of a topic in use.
func (f *faults) split() {
	q := f.w.queues[f.rnd.IntN(len(f.w.queues))]
	path := q.topic
	if f.rnd.IntN(4) == 0 && !f.under("no "+q.dead) {
		path = q.dead
	}
	var active []int64
	for _, p := range f.w.describe(path) {
		if p.GetActive() {
			active = append(active, p.GetPartitionId())
		}
	}
	id := active[f.rnd.IntN(len(active))]
	f.w.h.note("split %s partition %d: %v", path, id, f.w.control.Split(path, id))
}

// under tells whether a fault lasts.
func (f *faults) under(what string) bool {
	return slices.ContainsFunc(f.undo, func(u undo) bool { return u.what == what })
}

// dropDead drops a dead-letter topic with what it holds, for a while.
func (f *faults) dropDead() {
	q := f.w.queues[f.rnd.IntN(len(f.w.queues))]
	if f.under("no consumer on "+q.dead) || f.under("no "+q.dead) {
		return
	}
	f.w.readDead(q)
	f.w.h.dropping(q.dead)
	resp, err := f.w.conn.Load().Topics().DropTopic(context.Background(), &Ydb_Topic.DropTopicRequest{Path: q.dead})
	if err := ydbstatus.Operation(resp.GetOperation(), err, nil); err != nil {
		f.w.t.Errorf("dropping %s: %v", q.dead, err)
	}
	f.later(20*time.Second, "no "+q.dead, false, func() { f.w.createTopic(q.dead, 1) })
}

// vanish lets a dead-letter queue cease to be one for a while.
func (f *faults) vanish() {
	q := f.w.queues[f.rnd.IntN(len(f.w.queues))]
	if q.spec.Settings.MaxReceiveCount == 0 || f.under("no consumer on "+q.dead) || f.under("no "+q.dead) {
		return
	}
	alter := func(r *Ydb_Topic.AlterTopicRequest) {
		r.Path = q.dead
		resp, err := f.w.conn.Load().Topics().AlterTopic(context.Background(), r)
		if err := ydbstatus.Operation(resp.GetOperation(), err, nil); err != nil {
			f.w.t.Errorf("altering %s: %v", q.dead, err)
		}
	}
	alter(&Ydb_Topic.AlterTopicRequest{DropConsumers: []string{shared}})
	f.later(30*time.Second, "no consumer on "+q.dead, false, func() {
		alter(&Ydb_Topic.AlterTopicRequest{AddConsumers: []*Ydb_Topic.Consumer{{Name: shared}}})
	})
}
