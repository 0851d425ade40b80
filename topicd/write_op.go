package topicd

import (
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/durationpb"

	"sqsgate/topicd/store"
)

// openOp gives a session its partition and, if it has a producer id, the
// ownership of that id. It is answered when all earlier writes are on disk.
type openOp struct {
	s     *writeSession
	done  chan struct{} // closed by Done
	err   error
	seqNo int64 // last sequence number of the producer
}

func (*openOp) Size() int { return 0 }

func (o *openOp) Apply(b *store.Batch) {
	t := o.s.topic
	if t.gone.Load() {
		o.err = t.errDropped()
		return
	}
	p, err := t.choose(b, o.s)
	if err != nil {
		o.err = err
		return
	}
	p.wmu.Lock()
	sealed := p.sealed
	p.wmu.Unlock()
	if sealed {
		o.err = errInactive(p)
		return
	}
	o.s.part = p
	if o.s.producer == "" {
		return
	}
	p.wmu.Lock()
	own := p.owners[o.s.producer]
	p.wmu.Unlock()
	if own == nil {
		seqNo, err := p.lastSeqNo(o.s.producer)
		if err != nil {
			o.err = err
			return
		}
		own = &producerOwner{seqNo: seqNo}
	}
	p.wmu.Lock()
	old := own.session
	own.session = o.s
	p.owners[o.s.producer] = own
	o.seqNo = own.seqNo
	p.wmu.Unlock()
	if old != nil {
		old.end(badRequest("status is not ok: ownership session is killed by another session with id %s partition id %d", o.s.id, p.id))
	}
}

func (o *openOp) Done(err error) {
	if err != nil {
		o.err = err
	}
	t := o.s.topic
	t.mu.Lock()
	delete(t.choosing, o.s.producer)
	t.mu.Unlock()
	close(o.done)
}

// closeOp gives the ownership back. The sequence number stays in memory until
// it is certainly in the store.
type closeOp struct {
	s     *writeSession
	owner *producerOwner
}

func (*closeOp) Size() int { return 0 }

func (o *closeOp) Apply(*store.Batch) {
	p := o.s.part
	p.wmu.Lock()
	defer p.wmu.Unlock()
	if own := p.owners[o.s.producer]; own != nil && own.session == o.s {
		own.session = nil
		o.owner = own
	}
}

func (o *closeOp) Done(error) {
	p := o.s.part
	p.wmu.Lock()
	defer p.wmu.Unlock()
	if o.owner != nil && o.owner.session == nil && p.owners[o.s.producer] == o.owner {
		delete(p.owners, o.s.producer)
	}
}

// writeOp is one WriteRequest.
type writeOp struct {
	s         *writeSession
	msgs      []store.Message // offset and write time are still open
	size      int             // bytes of data and metadata
	received  time.Time
	throttled time.Duration // by the write quota

	err      error
	applied  time.Time
	written  []*store.Message
	memory   int64
	data     int64
	response *Ydb_Topic.StreamWriteMessage_WriteResponse
}

func (o *writeOp) Size() int { return o.size }

func (o *writeOp) Apply(b *store.Batch) {
	t, p, s := o.s.topic, o.s.part, o.s
	if t.gone.Load() {
		o.err = t.errDropped()
		return
	}
	p.wmu.Lock()
	defer p.wmu.Unlock()
	if p.sealed {
		o.err = errInactive(p)
		return
	}
	var own *producerOwner
	if s.producer != "" {
		if own = p.owners[s.producer]; own == nil || own.session != s {
			o.err = statusf(Ydb.StatusIds_SESSION_EXPIRED, "incorrect ownerCookie: the ownership session is dead")
			return
		}
	}
	o.applied = time.Now()
	ms := p.clock(o.applied)
	acks := make([]*Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck, len(o.msgs))
	places := make([]written, len(o.msgs))
	o.written = make([]*store.Message, 0, len(o.msgs))
	moved := false // the producer's sequence number, by a duplicate
	for i := range o.msgs {
		m := &o.msgs[i]
		if own != nil && m.SeqNo <= own.seqNo {
			acks[i] = skippedAck(m.SeqNo)
			continue
		}
		if item := contentID(m); len(item) > 0 {
			seen, err := p.duplicate(b, item, ms)
			if err != nil {
				o.err = err
				return
			}
			if seen {
				if own != nil {
					own.seqNo = m.SeqNo
					moved = true
				}
				acks[i] = skippedAck(m.SeqNo)
				continue
			}
		}
		m.Offset, m.WrittenMs = p.next.End, ms
		p.next.End++
		b.PutMessage(t.id, p.id, m)
		if own != nil {
			own.seqNo = m.SeqNo
		}
		o.data += int64(len(m.Data))
		o.memory += int64(m.MemorySize())
		o.written = append(o.written, m)
		acks[i] = places[i].fill(m.SeqNo, m.Offset)
	}
	if len(o.written) > 0 {
		p.next.WrittenMs = ms
		p.next.Bytes += o.data
		if p.next.Bytes-p.marked >= markEvery {
			p.marked = p.next.Bytes
			b.PutMark(t.id, p.id, p.next.End, p.next.Bytes)
		}
		b.PutState(t.id, p.id, p.next)
	}
	if own != nil && (moved || len(o.written) > 0) {
		b.PutProducer(t.id, p.id, s.producer, store.Producer{SeqNo: own.seqNo, WriteMs: ms})
	}
	if cfg := t.config.Load(); cfg.autoPartitioned() && o.data > 0 && p.load.add(o.applied, cfg, s.producer, o.data) {
		p.askSplit()
	}
	o.response = &Ydb_Topic.StreamWriteMessage_WriteResponse{Acks: acks, PartitionId: int64(p.id)}
}

func (o *writeOp) Done(err error) {
	s := o.s
	s.part.inflight.release(int64(o.size))
	if o.err != nil {
		err = o.err
	}
	if err != nil {
		s.end(err)
		return
	}
	if len(o.written) > 0 {
		s.part.publish(o.written, o.memory, o.data)
		m := s.topic.srv.metrics
		m.written.Add(float64(len(o.written)))
		m.writtenBytes.Add(float64(o.data))
	}
	if n := len(o.msgs) - len(o.written); n > 0 {
		s.topic.srv.metrics.skipped.Add(float64(n))
	}
	queued := durationpb.New(o.applied.Sub(o.received) - o.throttled)
	o.response.WriteStatistics = &Ydb_Topic.StreamWriteMessage_WriteResponse_WriteStatistics{
		PersistingTime:         durationpb.New(time.Since(o.applied)),
		MinQueueWaitTime:       queued,
		MaxQueueWaitTime:       queued,
		PartitionQuotaWaitTime: durationpb.New(o.throttled),
		TopicQuotaWaitTime:     &durationpb.Duration{},
	}
	s.answer(&Ydb_Topic.StreamWriteMessage_FromServer{
		Status:        Ydb.StatusIds_SUCCESS,
		ServerMessage: &Ydb_Topic.StreamWriteMessage_FromServer_WriteResponse{WriteResponse: o.response},
	}, int64(o.size))
}

func errInactive(p *partition) error {
	return statusf(Ydb.StatusIds_OVERLOADED, "Write to inactive partition %d", p.id)
}

// written holds an acknowledgement in one object; those of a request are made
// together.
type written struct {
	ack    Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck
	status Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck_Written_
	at     Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck_Written
}

func (w *written) fill(seqNo, offset int64) *Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck {
	w.at.Offset, w.status.Written = offset, &w.at
	w.ack.SeqNo, w.ack.MessageWriteStatus = seqNo, &w.status
	return &w.ack
}

func skippedAck(seqNo int64) *Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck {
	return &Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck{
		SeqNo: seqNo,
		MessageWriteStatus: &Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck_Skipped_{
			Skipped: &Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck_Skipped{
				Reason: Ydb_Topic.StreamWriteMessage_WriteResponse_WriteAck_Skipped_REASON_ALREADY_WRITTEN,
			},
		},
	}
}
