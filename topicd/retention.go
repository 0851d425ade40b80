package topicd

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"sqsgate/topicd/store"
)

// markEvery is the distance of size marks, bytes, and so the precision of
// retention by size.
const markEvery = 1 << 20

// retain removes old messages now and then, until the server closes.
func (s *Server) retain() {
	ticker := time.NewTicker(s.opts.RetentionEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.closed:
			return
		}
		for _, t := range s.tree.topics() {
			for _, p := range t.partitions() {
				if s.closing() {
					return
				}
				if err := errors.Join(p.removeOld(time.Now()), p.forgetIDs(time.Now())); err != nil {
					s.log.Warn("retention failed", slog.String("topic", t.entry.path), slog.Int64("partition", int64(p.id)), slog.Any("error", err))
				}
			}
		}
	}
}

// removeOld removes what is older than the retention period or, with a storage
// limit, more than that, except what consumers have a right to.
func (p *partition) removeOld(now time.Time) error {
	cut, err := p.cut(now)
	if err != nil || cut == 0 {
		return err
	}
	dropped, err := p.bytesBefore(cut)
	if err != nil {
		return err
	}
	s := p.topic.srv
	op := &retainOp{p: p, start: cut, dropped: dropped, done: make(chan error, 1)}
	op.firstMs, err = p.writtenAt(cut)
	if err != nil {
		return err
	}
	if err := s.store.Submit(context.Background(), op); err != nil {
		return err
	}
	return s.await(op.done)
}

// cut is the offset below which everything goes, 0 when nothing does.
func (p *partition) cut(now time.Time) (int64, error) {
	cfg := p.topic.config.Load()
	start, end := p.bounds()
	last := end - 1 // stays, as the blob that is written to does on a cluster
	if start >= last {
		return 0, nil
	}
	first, err := p.firstWritten(start)
	if err != nil {
		return 0, err
	}
	cut := start
	if limit := now.UnixMilli() - cfg.RetentionMs; first < limit {
		if cut, err = p.seek(start, last, limit); err != nil {
			return 0, err
		}
	}
	if cfg.RetentionMB > 0 {
		bySize, err := p.cutBySize(start, last, cfg.RetentionMB<<20)
		if err != nil {
			return 0, err
		}
		cut = max(cut, bySize)
	}
	for i := range cfg.Consumers {
		c := &cfg.Consumers[i]
		if cut <= start {
			return 0, nil
		}
		committed := p.committed(c.Name)
		switch {
		case committed >= cut:
		case c.Important:
			cut = committed
		case c.AvailabilityMs > 0:
			available, err := p.seek(start, cut, now.UnixMilli()-c.AvailabilityMs)
			if err != nil {
				return 0, err
			}
			cut = min(cut, max(committed, available))
		}
	}
	if cut <= start {
		return 0, nil
	}
	return cut, nil
}

// cutBySize is the last mark that leaves at least limit bytes.
func (p *partition) cutBySize(start, last, limit int64) (int64, error) {
	p.mu.Lock()
	total, dropped := p.bytes, p.dropped
	p.mu.Unlock()
	cut := start
	if total-dropped <= limit {
		return cut, nil
	}
	err := p.topic.srv.store.Marks(p.topic.id, p.id, start, last+1, func(m store.Mark) bool {
		if total-m.Bytes < limit {
			return false
		}
		cut = min(m.Offset, last)
		return true
	})
	return cut, err
}

func (p *partition) seek(from, to, ms int64) (int64, error) {
	return p.topic.srv.store.Seek(p.topic.id, p.id, from, to, ms)
}

// firstWritten is the write time of the message at start.
func (p *partition) firstWritten(start int64) (int64, error) {
	p.mu.Lock()
	ms := p.firstMs
	p.mu.Unlock()
	if ms != 0 {
		return ms, nil
	}
	ms, err := p.writtenAt(start)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.start == start {
		p.firstMs = ms
	}
	return ms, nil
}

// writtenAt is the write time of the first message at or after an offset.
func (p *partition) writtenAt(offset int64) (int64, error) {
	_, end := p.bounds()
	msgs, err := p.topic.srv.store.Read(nil, p.topic.id, p.id, offset, end, 1)
	if err != nil || len(msgs) == 0 {
		return 0, err
	}
	return msgs[0].WrittenMs, nil
}

// bytesBefore is how many bytes of data the partition ever had before the
// offset: a mark tells most of it, the messages behind that the rest.
func (p *partition) bytesBefore(offset int64) (int64, error) {
	p.mu.Lock()
	from, bytes := p.start, p.dropped
	p.mu.Unlock()
	mark, ok, err := p.topic.srv.store.LastMark(p.topic.id, p.id, offset)
	if err != nil {
		return 0, err
	}
	if ok && mark.Offset > from {
		from, bytes = mark.Offset, mark.Bytes
	}
	var msgs []*store.Message
	for from < offset {
		msgs, err = p.topic.srv.store.Read(msgs[:0], p.topic.id, p.id, from, offset, markEvery)
		if err != nil {
			return 0, err
		}
		if len(msgs) == 0 {
			break
		}
		for _, m := range msgs {
			bytes += int64(len(m.Data))
		}
		from = msgs[len(msgs)-1].Offset + 1
	}
	return bytes, nil
}

// retainOp moves the start of a partition and deletes what is before it.
type retainOp struct {
	p       *partition
	start   int64
	dropped int64
	firstMs int64
	removed int64
	done    chan error
}

func (*retainOp) Size() int { return 0 }

func (o *retainOp) Apply(b *store.Batch) {
	p := o.p
	if p.topic.gone.Load() || p.needed(o.start) {
		return
	}
	p.wmu.Lock()
	defer p.wmu.Unlock()
	from := p.next.Start
	if o.start <= from {
		return
	}
	o.removed = o.start - from
	b.DeleteMessages(p.topic.id, p.id, from, o.start, o.dropped-p.next.Dropped)
	p.next.Start, p.next.Dropped = o.start, o.dropped
	b.PutState(p.topic.id, p.id, p.next)
}

// needed tells whether an important consumer has gone back below the offset
// since that was chosen.
func (p *partition) needed(offset int64) bool {
	return slices.ContainsFunc(p.topic.config.Load().Consumers, func(c consumerConfig) bool {
		return c.Important && p.committed(c.Name) < offset
	})
}

func (o *retainOp) Done(err error) {
	if err == nil && o.removed > 0 {
		p := o.p
		p.mu.Lock()
		p.start, p.dropped, p.firstMs = o.start, o.dropped, o.firstMs
		p.mu.Unlock()
		p.topic.srv.metrics.removed.Add(float64(o.removed))
	}
	o.done <- err
}
