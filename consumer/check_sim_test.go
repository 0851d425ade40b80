package consumer_test

import (
	"fmt"
	"slices"
	"time"
)

// check holds a history to the invariants of a queue. A request that was not
// answered, or with an error, may have taken effect at any time from its begin
// on; so may one that is under way. What is reported was wrong whatever became
// of those.
type check struct {
	w *world
	h *history
}

// clockStep is the resolution of the server's times.
const clockStep = time.Millisecond

func (c *check) violation(invariant string, messages []*simMessage, format string, args ...any) {
	c.w.t.Errorf("seed %d: %s: %s%s", c.w.seed, invariant, fmt.Sprintf(format, args...), c.h.story(messages...))
}

func (c *check) run() {
	for _, q := range c.w.queues {
		q.depth = c.w.depths(q.topic)
	}
	groups := make(map[string][]*simMessage)
	ids := make(map[string][]*simMessage)
	for _, m := range c.h.order {
		c.sortDeliveries(m)
		c.message(m)
		if m.queue.fifo {
			group := m.queue.of(m.group)
			groups[group] = append(groups[group], m)
			ids[m.id()] = append(ids[m.id()], m)
		}
	}
	for _, list := range ids {
		c.deduplication(list)
	}
	for _, m := range c.h.order {
		c.durable(m, ids)
	}
	for _, list := range groups {
		c.group(list, ids)
	}
	c.commits(ids)
	for _, what := range c.h.foreign {
		c.violation("I17 incarnation", []*simMessage{{queue: c.w.queues[0]}}, "%s", what)
	}
}

// sortDeliveries puts the deliveries of a message in the order of their counts
// and takes repeats, which have the count of the receive they repeat, for
// changes of its visibility.
func (c *check) sortDeliveries(m *simMessage) {
	slices.SortStableFunc(m.deliveries, func(a, b *simDelivery) int { return a.count - b.count })
	m.deliveries = slices.DeleteFunc(m.deliveries, func(d *simDelivery) bool {
		i := slices.IndexFunc(m.deliveries, func(o *simDelivery) bool { return o.count == d.count })
		first := m.deliveries[i]
		if first == d || d.call.attempt == "" || d.call.attempt != first.call.attempt {
			return false
		}
		first.deletes = append(first.deletes, d.deletes...)
		first.changes = append(first.changes, d.changes...)
		return true
	})
	for _, d := range m.deliveries {
		for _, r := range c.h.receives {
			// One that failed may have started the visibility anew and given it back.
			switch {
			case r == d.call || d.call.attempt == "" || r.attempt != d.call.attempt || r.queue != m.queue:
			case r.got != nil:
				if !slices.ContainsFunc(r.got, func(o *simDelivery) bool { return o.message == m && o.count == d.count }) {
					continue // a receive of its own, after the attempt was over
				}
				d.changes = append(d.changes, &simChange{request: r.request, visibility: r.visibility})
			default:
				d.changes = append(d.changes, &simChange{request: r.request})
			}
		}
		slices.SortFunc(d.changes, func(a, b *simChange) int { return int(a.from.n - b.from.n) })
	}
}

// leased is until when a delivery's lease surely held, as seen at a later moment.
func (d *simDelivery) leased(seen moment) time.Time {
	until := d.call.from.at.Add(d.call.visibility)
	for _, change := range d.changes {
		if change.verdict == refused || seen.before(change.from) {
			continue
		}
		to := change.from.at.Add(change.visibility)
		// A handle whose lease has ended changes nothing, though a standard queue
		// does not say so.
		if change.verdict != done || !change.over(seen) || !change.to.at.Before(until) {
			to = minTime(to, until)
		}
		until = to
	}
	return until.Add(-clockStep)
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// message checks one message by itself: I2, I3, I4, I8, I9, I15, I18.
func (c *check) message(m *simMessage) {
	self := []*simMessage{m}
	if m.duplicate && len(m.deliveries) > 0 {
		c.violation("I7 deduplication", self, "delivered, though it was answered as a duplicate")
	}
	for i, d := range m.deliveries {
		if at := m.written.Add(m.delay); m.delay > 0 && d.call.to.at.Before(at.Add(-clockStep)) {
			c.violation("I8 delay", self, "delivered %v before its delay was over", at.Sub(d.call.to.at))
		}
		for _, o := range m.deliveries {
			for _, r := range o.deletes {
				if r.verdict == done && r.over(d.call.from) {
					c.violation("I2 no resurrection", self, "delivered (count %d) after the delete with count %d was answered", d.count, o.count)
				}
			}
		}
		for _, p := range c.h.purges {
			if p.queue == m.queue && p.verdict == done && m.send.verdict == done && m.send.over(p.from) && p.over(d.call.from) {
				c.violation("I15 purge", self, "delivered (count %d) after a purge", d.count)
			}
		}
		for _, dead := range m.dead {
			if d.call.from.at.After(dead.written.Add(clockStep)) && !c.h.droppedBetween(m.queue, dead.seen, d.call.to) {
				c.violation("I9 dead letters", self, "delivered (count %d) after it was moved", d.count)
			}
		}
		c.delivered(m, d)
		if c.surelyExpired(m, d) {
			c.violation("retention", self, "delivered (count %d) though it had expired", d.count)
		}
		if i > 0 {
			c.redelivery(m.deliveries[i-1], d)
		}
	}
	if n := len(m.dead); n > 1 && !c.h.droppedBetween(m.queue, m.dead[0].seen, m.dead[n-1].seen) {
		c.violation("I9 dead letters", self, "moved %d times", n)
	}
	if most := m.queue.spec.Settings.MaxReceiveCount; len(m.dead) > 0 && !c.h.mayBeMovedOut(m) && (most == 0 || !m.mayHaveCount(c.h, most)) {
		c.violation("I9 dead letters", self, "moved too early")
	}
}

// delivered checks I18 for a delivery and the deletes of its handle: before an answer
// leaves, the gateway has made what it says durable.
func (c *check) delivered(m *simMessage, d *simDelivery) {
	name := m.queue.journalName(m.at.partition)
	if d.call.attempt == "" && !c.h.durableBetween(name, &d.call.request) {
		c.violation("I18 answers", []*simMessage{m}, "the receive (count %d) was answered, and no append is durable", d.count)
	}
	for _, r := range d.deletes {
		if r.verdict == done && !c.mayBeGone(m, r) && !c.h.durableBetween(name, r) {
			c.violation("I18 answers", []*simMessage{m}, "the delete (count %d) was answered, and no append is durable", d.count)
		}
	}
}

// mayBeGone tells whether something else than the delete r may have removed the
// message before it was answered.
func (c *check) mayBeGone(m *simMessage, r *request) bool {
	return c.mayBePurged(m, r.to) || c.mayBeExpired(m, r.to) || m.mayHaveMoved(c.h) ||
		slices.ContainsFunc(m.deliveries, func(d *simDelivery) bool {
			return slices.ContainsFunc(d.deletes, func(o *request) bool { return o != r && o.verdict != refused && o.from.before(r.to) })
		})
}

// redelivery checks two deliveries of a message that follow each other.
func (c *check) redelivery(first, second *simDelivery) {
	self := []*simMessage{first.message}
	if second.count <= first.count {
		c.violation("I4 receive count", self, "the count went from %d to %d", first.count, second.count)
		return
	}
	if most := 1 + c.unseen(first, second); second.count-first.count > most {
		c.violation("I4 receive count", self, "the count went from %d to %d, at most %d receives may have got it", first.count, second.count, most)
	}
	if until := first.leased(second.call.to); second.call.to.at.Before(until) {
		c.violation("I3 lease", self, "delivered (count %d) %v before the lease with count %d ended", second.count, until.Sub(second.call.to.at), first.count)
	}
}

// unseen counts the receives between two deliveries that may have leased the
// message without handing it out.
func (c *check) unseen(first, second *simDelivery) int {
	n := 0
	for _, r := range c.h.receives {
		if r.queue == first.message.queue && r.from.before(second.call.to) && !r.over(first.call.from) && r.mayHaveGotMore() {
			n++
		}
	}
	return n
}

// mayHaveGotMore tells whether messages may have been leased for a receive that
// were not in its answer: it failed, in all or in one of its partitions, or it was
// a long poll whose time ended just then.
func (r *simReceive) mayHaveGotMore() bool {
	if len(r.got) == 0 {
		return r.long || r.verdict == unknown
	}
	return len(r.got) < r.max
}

// mayHaveCount tells whether the message may have been received n times.
func (m *simMessage) mayHaveCount(h *history, n int) bool {
	if k := len(m.deliveries); k > 0 {
		n -= m.deliveries[k-1].count
	}
	for _, r := range h.receives {
		if n <= 0 {
			break
		}
		if r.queue == m.queue && r.mayHaveGotMore() && m.send.from.before(r.to) {
			n--
		}
	}
	return n <= 0
}

// mayBePurged tells whether a purge that began before m may have removed it.
func (c *check) mayBePurged(msg *simMessage, m moment) bool {
	return slices.ContainsFunc(c.h.purges, func(p *simPurge) bool {
		return p.queue == msg.queue && p.verdict != refused && p.from.before(m) && msg.send.from.before(p.to)
	})
}

// mayBeExpired tells whether the retention of the queue may have removed a
// message before m.
func (c *check) mayBeExpired(msg *simMessage, m moment) bool {
	return slices.ContainsFunc(c.h.retained, func(r simRetention) bool {
		return r.queue == msg.queue && r.before(m) && m.at.Sub(msg.send.from.at) >= r.d-clockStep
	})
}

// surelyExpired tells whether a message had expired when it was delivered, by a
// retention that was in force for a while before.
func (c *check) surelyExpired(msg *simMessage, d *simDelivery) bool {
	var last *simRetention
	for i := range c.h.retained {
		if r := &c.h.retained[i]; r.queue == msg.queue && r.before(d.call.to) {
			last = r
		}
	}
	return last != nil && d.call.from.at.Sub(last.at) > time.Second && d.call.from.at.Sub(msg.written) > last.d+clockStep
}

// commits checks I10: what is below a committed offset is done with, and the
// offset does not go back while the server lives.
func (c *check) commits(ids map[string][]*simMessage) {
	type partition struct {
		queue *simQueue
		id    int64
	}
	last := make(map[partition]simCommit)
	reported := make(map[*simMessage]bool)
	for _, seen := range c.h.commits {
		of := partition{seen.queue, seen.partition}
		if before := last[of]; before.server == seen.server && before.offset > seen.offset {
			c.violation("I10 commit", []*simMessage{{queue: seen.queue}}, "partition %d went from %d back to %d", seen.partition, before.offset, seen.offset)
		}
		last[of] = seen
		for _, m := range c.h.order {
			if m.queue != seen.queue || !m.placed || m.at.partition != seen.partition || m.at.offset >= seen.offset || reported[m] {
				continue
			}
			if !seen.at.After(m.send.from.at) {
				continue // sent while its queue was made again: it lies in the topic that came after
			}
			if m.mayBeDeleted(seen.moment) || c.mayBePurged(m, seen.moment) || c.mayBeExpired(m, seen.moment) ||
				m.mayHaveMoved(c.h) || m.queue.fifo && m.mayBeRepeated(ids) {
				continue
			}
			reported[m] = true
			c.violation("I10 commit", []*simMessage{m}, "offset %d of partition %d is committed", seen.offset, seen.partition)
		}
	}
}

// mayBeDeleted tells whether a delete that began before m may have removed it.
func (m *simMessage) mayBeDeleted(at moment) bool {
	return slices.ContainsFunc(m.deliveries, func(d *simDelivery) bool {
		return slices.ContainsFunc(d.deletes, func(r *request) bool { return r.verdict != refused && r.from.before(at) })
	})
}

// mayBeRepeated tells whether another message with its id may have come before
// it within the window, so that it is never delivered.
func (m *simMessage) mayBeRepeated(ids map[string][]*simMessage) bool {
	return slices.ContainsFunc(ids[m.id()], func(o *simMessage) bool {
		return o != m && !o.duplicate && o.send.verdict != refused && o.send.from.before(m.send.to) &&
			m.send.from.at.Sub(o.send.to.at) < 5*time.Minute
	})
}

// durable checks I1 and that everything is drained in the end.
func (c *check) durable(m *simMessage, ids map[string][]*simMessage) {
	end := moment{c.h.moments + 1, time.Now()}
	if m.queue.deleted.Load() || m.mayHaveMoved(c.h) && c.h.droppedBetween(m.queue, m.send.from, end) {
		return
	}
	if m.duplicate || m.send.verdict != done || len(m.dead) > 0 || m.mayBeDeleted(end) || c.mayBePurged(m, end) || c.mayBeExpired(m, end) {
		return
	}
	if m.queue.fifo && len(m.deliveries) == 0 && m.mayBeRepeated(ids) {
		if !slices.ContainsFunc(ids[m.id()], func(o *simMessage) bool {
			return len(o.deliveries) > 0 || len(o.dead) > 0 || c.mayBePurged(o, end) || c.mayBeExpired(o, end)
		}) {
			c.violation("I1 durability", ids[m.id()], "none of the messages with the id was delivered")
		}
		return
	}
	if len(m.deliveries) == 0 {
		c.violation("I1 durability", []*simMessage{m}, "never delivered")
		return
	}
	c.violation("I1 durability", []*simMessage{m}, "not delivered any more, though nobody deleted it")
}

// deduplication checks I7 for the messages of one id.
func (c *check) deduplication(list []*simMessage) {
	var delivered []*simMessage
	for _, m := range list {
		if len(m.deliveries) > 0 {
			delivered = append(delivered, m)
		}
	}
	slices.SortFunc(delivered, func(a, b *simMessage) int { return a.written.Compare(b.written) })
	for i := 1; i < len(delivered); i++ {
		a, b := delivered[i-1], delivered[i]
		if b.written.Sub(a.written) >= 5*time.Minute-clockStep || c.mayBePurged(a, b.send.to) {
			continue
		}
		c.violation("I7 deduplication", []*simMessage{a, b}, "both were delivered, written %v apart", b.written.Sub(a.written))
	}
}

// earlier compares two messages of a group by their places in the log.
func (c *check) earlier(a, b *simMessage) int {
	depth := a.queue.depth
	if d := depth[a.at.partition] - depth[b.at.partition]; d != 0 {
		return d
	}
	return int(a.at.offset - b.at.offset)
}

// group checks the order of a FIFO group: I5, I6 and I14. A message that is
// leased blocks those behind it; one in front of it may be delivered.
func (c *check) group(list []*simMessage, ids map[string][]*simMessage) {
	list = slices.DeleteFunc(slices.Clone(list), func(m *simMessage) bool {
		return !m.placed || len(m.deliveries) == 0 && m.mayBeRepeated(ids)
	})
	slices.SortFunc(list, c.earlier)
	for i, m := range list {
		for _, d := range m.deliveries {
			for _, before := range list[:i] {
				if c.inFront(before, d) {
					c.violation("I5 order", []*simMessage{before, m}, "%s was delivered (count %d) before %s was done", m.body, d.count, before.body)
				}
			}
		}
	}
}

// inFront tells whether m was surely in front of a later message of its group
// when that was delivered as d.
func (c *check) inFront(m *simMessage, d *simDelivery) bool {
	if m.mayBeDeleted(d.call.to) || c.mayBePurged(m, d.call.to) || c.mayBeExpired(m, d.call.to) || m.mayHaveMoved(c.h) {
		return false
	}
	at := slices.IndexFunc(d.call.got, func(o *simDelivery) bool { return o.message == m })
	return at < 0 || at > slices.Index(d.call.got, d)
}

// mayHaveMoved tells whether the message may have left its group for a
// dead-letter queue, from which it comes back only when that is gone.
func (m *simMessage) mayHaveMoved(h *history) bool {
	most := m.queue.spec.Settings.MaxReceiveCount
	return h.mayBeMovedOut(m) || most > 0 && (len(m.dead) > 0 || m.mayHaveCount(h, most))
}
