package consumer

import (
	"crypto/md5"
	"log/slog"
	"slices"

	"sqsgate/codec"
	"sqsgate/consumer/journal"
	"sqsgate/consumer/lease"
	"sqsgate/internal/logread"
)

// handle takes one event.
func (t *tenure) handle(now int64, e *event) error {
	if e.tenure != 0 && e.tenure != t.id {
		return nil // of an earlier tenure
	}
	switch e.kind {
	case eventCall:
		t.call(now, e.call)
	case eventData:
		t.load(now, e)
	case eventAck:
		return t.acked(now, e.ack)
	case eventConfigure:
		t.machine.Configure(now, t.s.q.config())
	case eventLook:
		t.look(e.look)
	case eventBarrier:
		t.barriers = append(t.barriers, e.barrier)
	case eventFeedLost:
		return e.err
	case eventEnded:
		t.end(now)
	case eventChildAsks:
		t.answerChild(e.child)
	case eventHeld:
		t.held(now, e.elder, e.groups)
	case eventFreed:
		t.freed(now, e.elder, e.groups)
	case eventHeirAsks:
		t.answerHeir(e.heir)
	case eventElderPurged:
		t.input(now, lease.Input{Kind: lease.Forget, Partition: e.elder, Upto: e.offset})
	case eventMoved:
		t.moved(now, e.sequence, e.moves)
	}
	return nil
}

// input steps the machine. It returns the answer to a request, which is valid
// until the next input, and notes the moves that began and the groups that ended.
func (t *tenure) input(now int64, in lease.Input) (answer *lease.Effect) {
	effects := t.machine.Step(now, in)
	for i := range effects {
		switch effects[i].Kind {
		case lease.Answer:
			answer = &effects[i]
		case lease.Move:
			t.moveStarted(&effects[i])
		case lease.Oversize:
			t.oversized(&effects[i])
		case lease.Drained:
			t.pending.drained = append(t.pending.drained, effects[i].Group)
		}
	}
	return answer
}

// call steps the machine through the inputs of a call. What it leased or changed
// is answered when it is durable.
func (t *tenure) call(now int64, c *call) {
	if c.abandoned() {
		return
	}
	for i, in := range c.inputs {
		if answer := t.input(now, in); answer != nil {
			c.take(i, answer)
		}
		if in.Kind == lease.Purge {
			t.bodies.below(in.Upto)
			t.feed.skip(t.machine.Cursor())
		}
	}
	if kind := c.inputs[0].Kind; (kind == lease.Receive || kind == lease.Repeat) && len(c.leased) == 0 {
		t.finish(c, nil) // nothing to make durable
		return
	}
	t.pending.calls = append(t.pending.calls, c)
}

// finish answers a call. Messages that reach nobody are given back: after an
// error as if the receive had not been, unless it can be repeated and an earlier
// answer to it may have been seen.
func (t *tenure) finish(c *call, err error) {
	switch {
	case len(c.leased) == 0:
		c.answer(err)
	case err != nil && c.inputs[0].AttemptID == (lease.Hash{}):
		t.s.giveBack(lease.Return, c.leased) // before the answer: who asks again finds them
		c.answer(err)
	case !c.answer(err) || err != nil:
		t.s.giveBack(lease.Visibility, c.leased)
	}
}

// serveWaits hands ready messages to the receives that wait, first come first
// served.
func (t *tenure) serveWaits(now int64) {
	for t.machine.Ready() {
		c := t.s.q.waits.pop()
		if c == nil {
			return
		}
		if answer := t.input(now, c.inputs[0]); answer != nil {
			c.take(0, answer)
		}
		if len(c.leased) == 0 {
			t.s.q.waits.putBack(c)
			return
		}
		t.pending.calls = append(t.pending.calls, c)
	}
}

// load brings messages of the feed into the machine.
func (t *tenure) load(now int64, e *event) {
	if e.start > t.machine.Cursor() {
		t.input(now, lease.Input{Kind: lease.Gap, Upto: e.start})
	}
	if n := int64(len(e.messages)); n > 0 {
		t.average = max(1, (7*t.average+e.cost/n)/8)
	}
	for i := range e.messages {
		m := &e.messages[i]
		cursor := t.machine.Cursor()
		if m.Offset < cursor && (!t.s.q.spec.FIFO || m.Offset < t.machine.PurgeMark()) {
			continue // finished or purged; only a deduplication id is of interest
		}
		if m.Offset > cursor {
			t.input(now, lease.Input{Kind: lease.Gap, Upto: m.Offset})
		}
		msg := t.message(m)
		t.input(now, lease.Input{Kind: lease.Load, Offset: m.Offset, Message: msg})
		if msg.Deduplication != (lease.Hash{}) {
			t.s.q.dedup.add(msg.Deduplication, m.WriteTime, t.s.partition, m.Offset)
		}
		if m.Offset >= cursor && msg.Size <= t.s.q.c.opts.MaxAnswerBytes {
			t.bodies.put(*m)
		}
	}
}

// message is what the machine needs to know of m.
func (t *tenure) message(m *logread.Message) lease.Message {
	r, h, group := t.peek(m)
	msg := lease.Message{
		Offset: m.Offset, WriteTime: m.WriteTime, SentTime: h.SentMillis, Delay: -1,
		Size:      codec.AnswerBytes(r, lease.Small(t.s.q.c.opts.MaxAnswerBytes)),
		Immovable: h.DeadLetter || len(m.Data) > maxMovedBytes,
	}
	if h.Delay >= 0 {
		msg.Delay = int64(h.Delay) * 1000
	}
	if group != "" {
		msg.Group = md5.Sum([]byte(group))
	}
	if t.s.q.spec.FIFO {
		msg.Deduplication = t.s.q.deduplicationKey(DeduplicationID{ID: h.DeduplicationID, Group: group})
	}
	return msg
}

// deduplicationKey is that of a message of a FIFO queue.
func (t *tenure) deduplicationKey(m *logread.Message) lease.Hash {
	_, h, group := t.peek(m)
	return t.s.q.deduplicationKey(DeduplicationID{ID: h.DeduplicationID, Group: group})
}

// peek reads what is known of a message without its body. The record is valid
// until the next peek.
func (t *tenure) peek(m *logread.Message) (r codec.Record, h codec.Header, group string) {
	t.items = t.items[:0]
	for _, item := range m.Metadata {
		t.items = append(t.items, codec.Item{Key: item.GetKey(), Value: item.GetValue()})
	}
	r = codec.Record{Codec: m.Codec, Data: m.Data, Metadata: t.items, ProducerID: m.ProducerID}
	h = codec.Peek(r)
	return r, h, h.Group(&r, t.s.q.spec.FIFO)
}

// flush sends what changed to the journal, one append at a time, and answers
// what does not depend on one.
func (t *tenure) flush(now int64) error {
	if t.appending {
		return nil
	}
	t.ops = t.machine.TakeOps(t.ops[:0])
	t.snapshots.lag(t.s.lag.Swap(0))
	var snapshot []byte
	if t.snapshots.take(now, len(t.ops)) {
		snapshot = t.machine.Snapshot(nil)
		t.snapshots.taken(int64(len(snapshot)), now)
		t.bodies.sweep(t.machine.CommitOffset())
	}
	if len(t.ops) == 0 && snapshot == nil {
		t.publishBatch(&t.pending)
		return nil
	}
	if err := t.journal.Append(now, t.ops, snapshot); err != nil {
		return err
	}
	t.s.q.c.metrics.appends.Inc()
	t.s.q.c.metrics.ops.Add(float64(len(t.ops)))
	t.appending, t.appendedAt = true, now
	t.pending, t.sealed = t.sealed, t.pending
	t.commits.sealed = t.machine.CommitOffset()
	return nil
}

// acked answers the calls whose append is durable.
func (t *tenure) acked(now int64, ack journal.Ack) error {
	if ack.Err != nil {
		return ack.Err
	}
	t.appending = false
	t.commits.acked(now)
	if t.unborn {
		t.unborn = false
		t.s.q.trims.set(t.s.partition, t.begin)
	}
	if ack.SnapshotOffset >= 0 {
		t.s.q.trims.set(t.s.partition, ack.SnapshotOffset)
		t.s.q.hasten(t.s.partition, ack.SnapshotOffset)
		t.trim()
	}
	t.publishBatch(&t.sealed)
	return nil
}

// publishBatch lets what is durable now take its effect.
func (t *tenure) publishBatch(b *batch) {
	for _, c := range b.calls {
		if in := &c.inputs[0]; in.Kind == lease.Purge {
			t.tellPurge(in.Upto) // before the answer: what is sent after it is loaded later
		}
		switch {
		case len(c.leased) > 0:
			t.deliver(c)
		case c.moves > 0:
			t.moving = append(t.moving, c)
		default:
			t.finish(c, nil)
		}
	}
	t.moving = slices.DeleteFunc(t.moving, func(c *call) bool {
		over := c.lastMove <= b.moved
		if over {
			t.finish(c, nil)
		}
		return over
	})
	t.mover.add(b.moves)
	t.tellFamily(b)
	b.reset()
}

// trim lets the journal forget what no partition needs any more.
func (t *tenure) trim() {
	s := t.s
	offset, ok := s.q.trims.due(s.partition, s.q.journalPartitions)
	if !ok {
		return
	}
	t.tasks.Go(func() {
		if err := s.q.trimJournal(t.ctx, s.partition%s.q.journalPartitions, offset); err != nil && t.ctx.Err() == nil {
			s.log.Warn("trimming the journal failed", slog.Any("error", err))
		}
	})
}

// hasten asks partitions that hold the trim back for new snapshots. A journal has one
// partition for all of a topic's, so one in which nothing happens would keep
// everything that the others write.
func (q *Queue) hasten(partition, offset int64) {
	for p, lag := range q.trims.lags(partition, q.journalPartitions, offset) {
		q.mu.Lock()
		sh := q.shards[p]
		placed, known := q.partitions[p]
		q.mu.Unlock()
		switch {
		case sh != nil:
			sh.lag.Store(lag)
			sh.mailbox.poke()
		case known && placed.finished():
			q.trims.forget(p)
		}
	}
}

// commit tells the server how far the partition is finished, when that is due.
func (t *tenure) commit(now int64, force bool) {
	id := t.s.partitionSession.Load()
	if id == noSession {
		return // the server commits no child before its parent
	}
	if t.commits.session != id {
		t.commits.session, t.commits.sent = id, t.s.committed.Load()
	}
	if from, to, ok := t.commits.take(now, force); ok {
		t.s.session.commit(id, from, to)
	}
}

func (t *tenure) received(d lease.Delivery, m *logread.Message) Received {
	return Received{
		Handle: receipt{
			incarnation: t.s.q.spec.Incarnation, partition: t.s.partition, offset: d.Offset,
			receives: d.Receives, epoch: t.journal.Epoch(),
		}.handle(),
		Partition: t.s.partition, Offset: d.Offset,
		Written: millis(m.WriteTime), FirstReceived: millis(d.FirstReceived),
		ReceiveCount: int(d.Receives), Record: record(m),
	}
}
