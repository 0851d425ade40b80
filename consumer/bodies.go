package consumer

import (
	"context"
	"log/slog"
	"slices"

	"sqsgate/codec"
	"sqsgate/consumer/lease"
	"sqsgate/internal/logread"
)

// bodies keeps the messages of one partition that are likely to be handed out
// next. What does not fit into the process's budget is read again when needed.
// It belongs to its shard's goroutine.
type bodies struct {
	budget   *budget
	messages map[int64]logread.Message
	bytes    int64
	swept    int64 // those below it were forgotten
}

func newBodies(b *budget) bodies {
	return bodies{budget: b, messages: make(map[int64]logread.Message)}
}

// messageOverhead is what a kept message costs beside its data, bytes.
const messageOverhead = 256

func bodySize(m *logread.Message) int64 {
	n := int64(len(m.Data)) + messageOverhead
	for _, item := range m.Metadata {
		n += int64(len(item.GetKey()) + len(item.GetValue()))
	}
	return n
}

func (b *bodies) put(m logread.Message) {
	n := bodySize(&m)
	if !b.budget.take(n) {
		return
	}
	b.bytes += n
	b.messages[m.Offset] = m
}

// take returns a message and keeps it no longer.
func (b *bodies) take(offset int64) (logread.Message, bool) {
	m, ok := b.messages[offset]
	if ok {
		b.drop(offset, &m)
	}
	return m, ok
}

func (b *bodies) drop(offset int64, m *logread.Message) {
	n := bodySize(m)
	b.bytes -= n
	b.budget.give(n)
	delete(b.messages, offset)
}

// sweep does the work of below once it is worth it: each message is looked at
// for a few that were finished.
func (b *bodies) sweep(offset int64) {
	if (offset-b.swept)*4 >= int64(len(b.messages)) {
		b.below(offset)
	}
}

// below forgets the messages below offset: they are finished.
func (b *bodies) below(offset int64) {
	b.swept = offset
	for o, m := range b.messages {
		if o < offset {
			b.drop(o, &m)
		}
	}
}

func (b *bodies) clear() {
	b.budget.give(b.bytes)
	b.bytes = 0
	clear(b.messages)
}

// record is the topic record of a message.
func record(m *logread.Message) codec.Record {
	items := make([]codec.Item, len(m.Metadata))
	for i, item := range m.Metadata {
		items[i] = codec.Item{Key: item.GetKey(), Value: item.GetValue()}
	}
	return codec.Record{Codec: m.Codec, Data: m.Data, Metadata: items, ProducerID: m.ProducerID}
}

// deliver answers a receive whose lease is durable, with the bodies at hand, or
// hands it to the rereader when some must be read again.
func (t *tenure) deliver(c *call) {
	c.received = make([]Received, len(c.leased))
	var missing []int64
	for i, d := range c.leased {
		m, ok := t.bodies.take(d.Offset)
		if !ok {
			missing = append(missing, d.Offset)
		} else {
			c.received[i] = t.received(d, &m)
		}
	}
	if len(missing) == 0 {
		t.finish(c, nil)
		return
	}
	t.s.q.c.metrics.rereads.Add(float64(len(missing)))
	slices.Sort(missing)
	t.tasks.Go(func() {
		select {
		case t.rereads <- struct{}{}:
			defer func() { <-t.rereads }()
		case <-t.ctx.Done():
			t.finish(c, ErrUnavailable)
			return
		}
		t.finish(c, t.reread(t.ctx, c, missing))
	})
}

// reread fills in the bodies of the offsets. Messages that retention removed
// meanwhile leave the answer.
func (t *tenure) reread(ctx context.Context, c *call, offsets []int64) error {
	err := t.source.each(ctx, offsets, func(m *logread.Message) {
		i := slices.IndexFunc(c.leased, func(d lease.Delivery) bool { return d.Offset == m.Offset })
		c.received[i] = t.received(c.leased[i], m)
	})
	if err != nil {
		t.s.log.Warn("reading bodies again failed", slog.Any("error", err))
		return ErrUnavailable
	}
	c.received = slices.DeleteFunc(c.received, func(r Received) bool { return r.Handle == "" })
	return nil
}
