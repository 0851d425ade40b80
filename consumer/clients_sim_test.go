package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"sqsgate/codec"
	"sqsgate/consumer"
	"sqsgate/partition"
)

// producer is a client that sends. It is the only one to send to its groups.
type producer struct {
	w      *world
	q      *simQueue
	name   string
	rnd    *rand.Rand
	groups []string
	count  int
	recent []*simMessage
}

func (p *producer) run(ctx context.Context) {
	for rest(ctx, time.Duration(p.rnd.Int64N(int64(p.w.plan.pace)))) {
		p.q = p.w.life(p.q)
		for again := p.send(ctx, nil); again != nil && p.rnd.IntN(4) > 0 && ctx.Err() == nil; {
			again = p.send(ctx, again) // the outcome is not known: once more
		}
		if p.q.fifo && len(p.recent) > 0 && p.rnd.IntN(12) == 0 {
			p.send(ctx, p.recent[p.rnd.IntN(len(p.recent))])
		}
	}
}

// send sends a new message, or an old one again. It returns the message when it
// cannot tell whether it is stored.
func (p *producer) send(ctx context.Context, again *simMessage) *simMessage {
	p.count++
	m := &simMessage{queue: p.q, body: fmt.Sprintf("%s-%d", p.name, p.count), delay: p.q.spec.Settings.Delay}
	own := -1
	if p.q.fifo {
		m.group, m.deduplication = p.groups[p.rnd.IntN(len(p.groups))], m.body
	} else if p.rnd.IntN(6) == 0 {
		own = p.rnd.IntN(8)
		m.delay = time.Duration(own) * time.Second
	}
	if !p.q.fifo && p.rnd.IntN(3) == 0 {
		m.group = p.groups[p.rnd.IntN(len(p.groups))]
	}
	if again != nil {
		m.group, m.deduplication = again.group, again.deduplication
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(50+p.rnd.IntN(8000))*time.Millisecond)
	defer cancel()
	g, _ := p.w.pick(p.rnd)
	p.w.h.sending(m, g.name)
	out := codec.Message{Body: []byte(m.body), GroupID: m.group, DeduplicationID: m.deduplication, DelaySeconds: own}
	verdict, err := g.send(ctx, p.w.h, p.q, m, &out)
	p.w.h.end(&m.send, verdict, err)
	if p.q.fifo && again == nil {
		p.recent = append(p.recent, m)
	}
	if verdict == unknown {
		return m
	}
	return nil
}

// send stores a message as the gateway's SendMessage does.
func (g *gateway) send(ctx context.Context, h *history, q *simQueue, m *simMessage, out *codec.Message) (verdict, error) {
	queue := g.queue(q)
	var claims []consumer.Claim
	written := []consumer.Written{{Err: partition.ErrUnavailable}}
	if q.fifo {
		var err error
		claims, err = queue.Claim(ctx, []consumer.DeduplicationID{{ID: m.deduplication, Group: m.group}})
		if err != nil {
			return refused, err // nothing was sent
		}
		if claims[0].Duplicate {
			h.stored(m, place{claims[0].Partition, claims[0].Offset}, true)
			return done, nil
		}
		defer func() { queue.Settle(claims, written) }()
		out.PrivateDeduplication = queue.PrivateDeduplication()
	}
	record, err := codec.Encode(out)
	if err != nil {
		panic(err) // the simulation sends only what can be sent
	}
	r := g.pool.Write(ctx, partition.Topic{Path: q.topic, FIFO: q.fifo}, []partition.Message{{Group: m.group, Record: record}})[0]
	written[0] = consumer.Written{Partition: r.Partition, Offset: r.Offset, Err: r.Err}
	if r.Err != nil {
		return unknown, r.Err
	}
	h.stored(m, place{r.Partition, r.Offset}, false)
	g.consumer.Wrote(q.topic, r.Partition, r.Offset)
	return done, nil
}

// receiver is a client that receives and settles.
type receiver struct {
	w        *world
	q        *simQueue
	rnd      *rand.Rand
	name     string
	attempts int
	later    []*simDelivery // settled some time later
}

func (r *receiver) run(ctx context.Context) {
	for rest(ctx, time.Duration(r.rnd.Int64N(int64(r.w.plan.pace)))) {
		r.q = r.w.life(r.q)
		got := r.receive(ctx)
		for _, d := range got {
			if r.rnd.IntN(4) == 0 {
				r.later = append(r.later, d)
			} else {
				r.settle(ctx, d)
			}
		}
		for len(r.later) > 0 && r.rnd.IntN(3) == 0 {
			d := r.later[0]
			r.later = r.later[1:]
			r.settle(ctx, d)
		}
	}
}

func (r *receiver) receive(ctx context.Context) []*simDelivery {
	request := consumer.ReceiveRequest{
		Max:        1 + r.rnd.IntN(10),
		Visibility: time.Duration(1+r.rnd.IntN(20)) * time.Second,
	}
	if r.rnd.IntN(3) == 0 {
		request.Wait = time.Duration(1+r.rnd.IntN(5)) * time.Second
	}
	if r.q.fifo && r.rnd.IntN(4) == 0 {
		if r.attempts == 0 || r.rnd.IntN(2) == 0 {
			r.attempts++
		}
		request.AttemptID = fmt.Sprintf("%s-%d", r.name, r.attempts)
	}
	patience := 10 * time.Second
	if r.rnd.IntN(6) == 0 {
		patience = time.Duration(r.rnd.IntN(1000)) * time.Millisecond // it may leave early
	}
	g, alone := r.w.pick(r.rnd)
	call := &simReceive{queue: r.q, visibility: request.Visibility, attempt: request.AttemptID, long: request.Wait > 0, max: request.Max}
	r.w.h.receiving(call, g.name)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	receive := g.queue(r.q).ReceiveOwn
	if alone || r.rnd.IntN(4) == 0 {
		receive = g.queue(r.q).Receive
	}
	got, err := receive(ctx, request)
	if err != nil {
		r.w.h.end(&call.request, unknown, err)
		return nil
	}
	return r.w.h.received(call, got)
}

// settle does one thing with a message.
func (r *receiver) settle(ctx context.Context, d *simDelivery) {
	// Mostly with the gateway it came from, which owns the partition.
	r.w.mu.Lock()
	var g *gateway
	for _, one := range r.w.gateways {
		if one.name == d.call.gateway {
			g = one
		}
	}
	r.w.mu.Unlock()
	if g == nil || r.rnd.IntN(6) == 0 {
		g, _ = r.w.pick(r.rnd)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(50+r.rnd.IntN(6000))*time.Millisecond)
	defer cancel()
	switch r.rnd.IntN(8) {
	case 0: // its lease may end
	case 1:
		visibility := time.Duration(r.rnd.IntN(3)*r.rnd.IntN(20)) * time.Second // 0 gives it back
		r.w.change(ctx, g, d, visibility)
	default:
		if r.w.delete(ctx, g, d) == unknown && r.rnd.IntN(2) == 0 && ctx.Err() == nil {
			other, _ := r.w.pick(r.rnd)
			r.w.delete(ctx, other, d)
		}
	}
}

func (w *world) delete(ctx context.Context, g *gateway, d *simDelivery) verdict {
	r := &request{}
	w.h.asking(func() { d.deletes = append(d.deletes, r) }, r, g.name)
	q := w.life(d.call.queue)
	err := g.queue(q).Delete(ctx, []string{d.handle})[0]
	v := w.verdict(q, d, err)
	w.h.end(r, v, err)
	return v
}

func (w *world) change(ctx context.Context, g *gateway, d *simDelivery, visibility time.Duration) {
	c := &simChange{visibility: visibility}
	w.h.asking(func() { d.changes = append(d.changes, c) }, &c.request, g.name)
	q := w.life(d.call.queue)
	err := g.queue(q).ChangeVisibility(ctx, []consumer.VisibilityChange{{Handle: d.handle, Timeout: visibility}})[0]
	w.h.end(&c.request, w.verdict(q, d, err), err)
}

// verdict is that of a request with the handle of d to q. A handle of a deleted queue
// must be of no use.
func (w *world) verdict(q *simQueue, d *simDelivery, err error) verdict {
	if q == d.call.queue {
		return verdictOf(err)
	}
	if err == nil {
		w.h.alien(fmt.Sprintf("the handle of %s was taken by a queue made later", d.message.body))
	}
	return refused
}

// moveOut moves some messages to the dead-letter queue, as a task does.
func (w *world) moveOut(ctx context.Context, rnd *rand.Rand) {
	for rest(ctx, time.Duration(rnd.Int64N(int64(4*w.plan.pace)))) {
		g, alone := w.pick(rnd)
		if !alone && rnd.IntN(4) > 0 {
			continue // it would wait for partitions of others
		}
		all := w.all()
		p := &simPurge{queue: all[rnd.IntN(len(all))]}
		w.h.movingOut(p, g.name)
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err := g.queue(p.queue).MoveOut(ctx, consumer.TargetOf(p.queue.dead), 1+rnd.IntN(3))
		cancel()
		w.h.end(&p.request, verdictOf(err), err)
	}
}

func verdictOf(err error) verdict {
	switch {
	case err == nil:
		return done
	case errors.Is(err, consumer.ErrExpired), errors.Is(err, consumer.ErrHandle), errors.Is(err, consumer.ErrGone), errors.Is(err, consumer.ErrTooLong):
		return refused
	}
	return unknown
}

// purge empties a queue.
func (w *world) purge(ctx context.Context, q *simQueue, rnd *rand.Rand) {
	p := &simPurge{queue: q}
	g, _ := w.pick(rnd)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	w.h.purging(p, g.name)
	err := g.queue(q).Purge(ctx)
	w.h.end(&p.request, verdictOf(err), err)
}
