package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/consumer"
	"sqsgate/consumer/journal"
	"sqsgate/internal/ydbstatus"
)

// inspector looks into the gateways while they run: at I11, I13, I16, I18, and
// whether the journals are trimmed too far (I10). One goroutine uses it.
type inspector struct {
	w *world
	// compared counts the states that were compared with their journals.
	compared int
}

// inspection bounds what one look takes, since a gateway may stand still.
const inspection = 300 * time.Millisecond

// seen is one tenure at the moment of a look.
type seen struct {
	consumer.Still
	queue   *simQueue
	gateway string
	journal string
	sent    int64 // the last sequence number of its journal
	frozen  consumer.Frozen
	whole   bool // all it holds is durable
	known   int64
}

func (i *inspector) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, inspection)
	defer cancel()
	var all []seen
	i.w.mu.Lock()
	gateways := append([]*gateway(nil), i.w.gateways...)
	i.w.mu.Unlock()
	for _, q := range i.w.all() {
		for _, g := range gateways {
			for _, s := range g.queue(q).Tenures(ctx) {
				all = append(all, seen{Still: s, queue: q, gateway: g.name, journal: q.journalName(s.Partition())})
			}
		}
	}
	synctest.Wait()
	resume := make(chan struct{})
	stands := make([]func() bool, len(all))
	for n, s := range all {
		stands[n] = s.Park(resume)
	}
	synctest.Wait()
	var whole []seen
	for n, s := range all {
		if !stands[n]() || !s.Serves() {
			continue
		}
		s.sent, _ = i.w.h.lastSent(s.journal)
		s.known = s.Known()
		if err := s.Recount(); err != nil {
			i.violation(&s, "I16 counters", "%v", err)
		}
		if err := s.Answers(); err != nil {
			i.violation(&s, "I18 answers", "%v", err)
		}
		s.frozen, s.whole = s.Freeze()
		whole = append(whole, s)
	}
	close(resume)
	for _, s := range whole {
		i.compare(ctx, &s)
	}
	i.ends(ctx, whole)
	i.trimmed(ctx)
}

func (i *inspector) violation(s *seen, invariant, format string, args ...any) {
	c := check{w: i.w, h: i.w.h}
	where := fmt.Sprintf("%s on %s: ", s.journal, s.gateway)
	c.violation(invariant, []*simMessage{{queue: s.queue}}, "%s", where+fmt.Sprintf(format, args...))
}

// compare checks I11: what the journal and the log say is what the machine holds.
func (i *inspector) compare(ctx context.Context, s *seen) {
	const epochShift = 40
	if !s.whole || s.sent>>epochShift != s.Epoch() || i.w.h.raised(s.queue) {
		return // fenced, or messages have expired that would not any more
	}
	held, rebuilt, err := s.Rebuilt(ctx, s.frozen)
	if last, _ := i.w.h.lastSent(s.journal); last != s.sent || errors.Is(err, consumer.ErrNotRebuilt) && !errors.Is(err, journal.ErrDamaged) {
		return // somebody has changed something meanwhile
	}
	if err != nil {
		i.violation(s, "I11 replay", "%v", err)
		return
	}
	i.compared++
	if !rebuilt.Same(held) {
		i.violation(s, "I11 replay", "\n     held %v\n rebuilt %v", held, rebuilt)
	}
}

// ends checks I13: nobody knows of messages that the topic has not got.
func (i *inspector) ends(ctx context.Context, all []seen) {
	ends := make(map[*simQueue]map[int64]int64)
	for _, q := range i.w.all() {
		resp, err := i.w.conn.Load().Topics().DescribeTopic(ctx, &Ydb_Topic.DescribeTopicRequest{Path: q.topic, IncludeStats: true})
		var result Ydb_Topic.DescribeTopicResult
		if ydbstatus.Operation(resp.GetOperation(), err, &result) != nil {
			continue
		}
		ends[q] = make(map[int64]int64)
		for _, p := range result.GetPartitions() {
			ends[q][p.GetPartitionId()] = p.GetPartitionStats().GetPartitionOffsets().GetEnd()
		}
	}
	for _, s := range all {
		if end, known := ends[s.queue][s.Partition()]; known && s.known > end {
			i.violation(&s, "I13 end of the log", "it knows messages up to %d, the topic ends at %d", s.known, end)
		}
	}
}

// trimmed checks that every partition that has to be read still has its journal.
func (i *inspector) trimmed(ctx context.Context) {
	for _, q := range i.w.all() {
		resp, err := i.w.conn.Load().Topics().DescribeConsumer(ctx, &Ydb_Topic.DescribeConsumerRequest{Path: q.topic, Consumer: shared, IncludeStats: true})
		var result Ydb_Topic.DescribeConsumerResult
		if ydbstatus.Operation(resp.GetOperation(), err, &result) != nil {
			continue
		}
		for _, p := range result.GetPartitions() {
			if !p.GetActive() && p.GetPartitionConsumerStats().GetCommittedOffset() >= p.GetPartitionStats().GetPartitionOffsets().GetEnd() {
				continue
			}
			key := journal.Key{Incarnation: q.spec.Incarnation, Partition: p.GetPartitionId()}
			of := seen{queue: q, gateway: "the server", journal: q.journalName(p.GetPartitionId())}
			_, durable := i.w.h.lastSent(of.journal)
			_, found, err := journal.Look(ctx, i.w.conn.Load().Topics(), journal.Path(stateRoot, q.name, shared), 0, key)
			if errors.Is(err, journal.ErrDamaged) || err == nil && durable && !found {
				i.violation(&of, "I10 journal", "found %v, %v", found, err)
			}
		}
	}
}

// raised tells whether the retention of a queue was ever made longer.
func (h *history) raised(q *simQueue) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := time.Duration(0)
	for _, r := range h.retained {
		if r.queue != q {
			continue
		}
		if last != 0 && r.d > last {
			return true
		}
		last = r.d
	}
	return false
}
