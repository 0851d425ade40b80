package consumer_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sqsgate/consumer"
	"sqsgate/internal/logread"
)

var (
	simSeed  = flag.Uint64("sim.seed", 0, "run the simulation of this seed alone")
	simSeeds = flag.Int("sim.seeds", simSeedsDefault, "number of seeds of the simulation")
	simFirst = flag.Uint64("sim.first", 1, "first seed of the simulation")
)

// TestSimulation runs gateways, clients and faults in virtual time, one seed
// after the other, and holds the clients' history to the invariants. Replay a
// failure with -run TestSimulation -sim.seed=N.
func TestSimulation(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(simProcessors))
	first, count := *simFirst, *simSeeds
	if *simSeed != 0 {
		first, count = *simSeed, 1
	}
	compared := 0
	for seed := first; seed < first+uint64(count); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { compared += simulate(t, seed) })
		})
	}
	if count >= 6 && compared == 0 {
		t.Error("no machine was compared with its journal")
	}
}

// simulate runs one seed. It returns how many machines were compared with their
// journals.
func simulate(t *testing.T, seed uint64) int {
	w := newWorld(t, seed)
	source := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) } //nolint:gosec // not for security
	ctx, cancel := context.WithTimeout(context.Background(), w.plan.duration)
	var clients sync.WaitGroup
	next := uint64(1)
	for _, q := range w.queues {
		for i := range 3 {
			p := &producer{w: w, q: q, name: fmt.Sprintf("%s-%d", q.name, i), rnd: source(next)}
			for g := range 2 {
				p.groups = append(p.groups, fmt.Sprintf("g%d-%d", i, g))
			}
			r := &receiver{w: w, q: q, name: fmt.Sprintf("%s-r%d", q.name, i), rnd: source(next + 1)}
			next += 2
			clients.Go(func() { p.run(ctx) })
			clients.Go(func() { r.run(ctx) })
		}
	}
	clients.Go(func() { w.watch(ctx) })
	if w.plan.tasks {
		clients.Go(func() { w.moveOut(ctx, source(1<<33)) })
	}
	f := &faults{w: w, rnd: source(next), in: inspector{w: w}}
	f.run(ctx)
	clients.Wait()
	f.in.look(context.Background())
	cancel()
	f.heal()
	w.h.note("healed")
	w.settle()
	for len(w.gateways) > 1 {
		w.take(0).stop(true)
	}
	for _, q := range w.queues {
		w.drain(q)
		w.readDead(q)
	}
	c := &check{w: w, h: w.h}
	c.run()
	for len(w.gateways) > 0 {
		w.take(0).stop(true)
	}
	if err := w.shutDown(); err != nil {
		t.Errorf("closing the topic server: %v", err)
	}
	return f.in.compared
}

// settle waits until every gateway serves all that it owns. Two that both think
// they own a partition would fence each other for ever.
func (w *world) settle() {
	var trouble error
	for calm, tries := 0, 0; calm < 20; tries++ {
		if tries > 300 {
			w.t.Errorf("seed %d: not all is served: %v%s", w.seed, trouble, w.h.story(&simMessage{queue: w.queues[0]}))
			return
		}
		rest(context.Background(), time.Second)
		calm++
		for _, g := range w.gateways {
			for _, q := range w.queues {
				g.queue(q) // it may still have one that was deleted
			}
			if err := g.consumer.Ready(); err != nil {
				trouble, calm = fmt.Errorf("%s: %w", g.name, err), 0
			}
		}
	}
}

// drain receives and deletes until nothing has come for longer than any lease,
// delay or retry lasts.
func (w *world) drain(q *simQueue) {
	g := w.gateways[0]
	queue := g.queue(q)
	const visibility = 30 * time.Second
	deadline := time.Now().Add(30 * time.Minute)
	for quiet := 0; quiet < 5; {
		if time.Now().After(deadline) {
			w.t.Errorf("seed %d: %s cannot be drained%s", w.seed, q.name, w.h.story(&simMessage{queue: q}))
			return
		}
		call := &simReceive{queue: q, visibility: visibility, long: true, max: 10}
		w.h.receiving(call, g.name)
		got, err := queue.Receive(context.Background(), consumer.ReceiveRequest{Max: 10, Visibility: visibility, Wait: 20 * time.Second})
		if err != nil {
			w.h.end(&call.request, unknown, err)
			rest(context.Background(), time.Second)
			continue
		}
		quiet++
		for _, d := range w.h.received(call, got) {
			quiet = 0
			w.delete(context.Background(), g, d)
		}
	}
	counts, err := queue.Counts(context.Background())
	for range 5 {
		if err == nil { // a fault may be left that no call has met yet
			break
		}
		counts, err = queue.Counts(context.Background())
	}
	if err != nil || counts != (consumer.Counts{}) {
		w.t.Errorf("seed %d: %s counts %+v, %v after the drain%s", w.seed, q.name, counts, err, w.h.story(&simMessage{queue: q}))
	}
}

// readDead reads a dead-letter topic from its beginning, until no fault is in the way.
func (w *world) readDead(q *simQueue) {
	seen := w.h.moment()
	for {
		found := make(map[*simMessage][]simDead)
		err := w.eachDead(q, func(partition int64, m *logread.Message) {
			w.h.mu.Lock()
			of := w.h.messages[string(m.Data)]
			w.h.mu.Unlock()
			found[of] = append(found[of], simDead{place{partition, m.Offset}, time.UnixMilli(m.WriteTime), seen})
		})
		if err == nil {
			for m, list := range found {
				m.dead = append(m.dead, list...)
			}
			return
		}
		w.h.note("reading %s: %v", q.dead, err)
		rest(context.Background(), time.Second)
	}
}

func (w *world) eachDead(q *simQueue, visit func(partition int64, m *logread.Message)) error {
	for _, p := range w.describe(q.dead) {
		end := p.GetPartitionStats().GetPartitionOffsets().GetEnd()
		if end == 0 {
			continue
		}
		reader, err := logread.Open(context.Background(), w.conn.Load().Topics(), logread.Request{
			Path: q.dead, Partition: p.GetPartitionId(), Credit: 1 << 20,
		})
		if err != nil {
			return err
		}
		for read := int64(0); read < end; {
			messages, cost, err := reader.Read()
			if err != nil {
				reader.Close()
				return err
			}
			for i := range messages {
				read = messages[i].Offset + 1
				visit(p.GetPartitionId(), &messages[i])
			}
			reader.Grant(cost)
		}
		reader.Close()
	}
	return nil
}
