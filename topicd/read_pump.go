package topicd

import (
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sqsgate/topicd/store"
)

// A ReadResponse is bounded whatever credit the client gave, except that a
// single message always fits. Every client may stop reading, so what all
// sessions have on the way shares sendBytes; when that is used up, there is only
// the minimum for each.
const (
	minResponseBytes = 16 << 10 // what follows 32 KiB takes a buffer of 1 MiB in grpc
	maxResponseBytes = 4 << 20
	sendBytes        = 64 << 20
)

// responseBytes is the size of the next response: a part of what is free.
func (s *Server) responseBytes() int64 {
	return min(max((sendBytes-s.sending.Load())/16, minResponseBytes), maxResponseBytes)
}

// sendCounted sends a response of n bytes and counts it as on the way until the
// next one of the session has been sent: the transport holds one behind it.
func (s *readSession) sendCounted(m *readFromServer, n int64) error {
	s.srv.sending.Add(n)
	err := s.send(m)
	s.srv.sending.Add(-s.onTheWay)
	s.onTheWay = n
	return err
}

// pump sends data while the client has credit: one partition per response,
// the partitions in turn. It stops when the client or the balancer has
// something to say, to be back soon.
func (s *readSession) pump() error {
	for {
		s.takeCredit()
		if s.budget <= 0 {
			return nil
		}
		ps := s.popReady()
		if ps == nil {
			return nil
		}
		if err := s.readOnce(ps); err != nil {
			return err
		}
		select {
		case <-s.ending:
			return nil
		case m := <-s.requests:
			if err := s.handle(m); err != nil {
				return err
			}
		default:
		}
		if err := s.handleEvents(); err != nil {
			return err
		}
	}
}

// readOnce sends one response from the partition, or has it wait for a write.
func (s *readSession) readOnce(ps *partSession) error {
	if !ps.started || ps.stopping || ps.dead.Load() || ps.paused() {
		return nil // whoever changes this marks it ready again
	}
	from := ps.next.Load()
	msgs, next, err := ps.part.read(s.msgs[:0], from, int(min(s.budget, s.srv.responseBytes())))
	if err != nil {
		return err
	}
	defer func() { clear(msgs); s.msgs = msgs[:0] }()
	if cut := s.cutoff(ps); cut > 0 && len(msgs) > 0 && msgs[0].WrittenMs < cut {
		if next, err = ps.part.seekTime(from, cut); err != nil {
			return err
		}
		ps.next.Store(next)
		s.markReady(ps)
		return s.finishEnded(ps)
	}
	ps.next.Store(next)
	if len(msgs) > 0 {
		if err := s.sendData(ps, msgs); err != nil {
			return err
		}
	}
	if !ps.part.wait(ps, next) {
		s.markReady(ps)
	}
	return s.finishEnded(ps)
}

func (s *readSession) sendData(ps *partSession, msgs []*store.Message) error {
	data := &Ydb_Topic.StreamReadMessage_ReadResponse_PartitionData{
		PartitionSessionId: ps.id, Batches: batches(msgs),
	}
	size := int64(proto.Size(data))
	s.budget -= size
	if ps.group != nil {
		ps.part.countRead(ps.group.consumer, size)
	}
	ps.sent(msgs[len(msgs)-1].Offset+1, size)
	ps.lastRead.Store(time.Now().UnixMilli())
	s.srv.metrics.read.Add(float64(len(msgs)))
	s.srv.metrics.readBytes.Add(float64(size))
	return s.sendCounted(&readFromServer{ServerMessage: &Ydb_Topic.StreamReadMessage_FromServer_ReadResponse{
		ReadResponse: &Ydb_Topic.StreamReadMessage_ReadResponse{
			PartitionData: []*Ydb_Topic.StreamReadMessage_ReadResponse_PartitionData{data},
			BytesSize:     size,
		},
	}}, size)
}

// batches groups neighbours with equal write time, producer, codec and
// session metadata.
func batches(msgs []*store.Message) []*Ydb_Topic.StreamReadMessage_ReadResponse_Batch {
	type messageData = Ydb_Topic.StreamReadMessage_ReadResponse_MessageData
	var out []*Ydb_Topic.StreamReadMessage_ReadResponse_Batch
	// One allocation each instead of one per message; they live and die together.
	bodies := make([]messageData, len(msgs))
	created := make([]timestamppb.Timestamp, len(msgs))
	refs := make([]*messageData, len(msgs))
	var items itemSlab
	for i := 0; i < len(msgs); {
		j := i + 1
		for j < len(msgs) && sameBatch(msgs[i], msgs[j]) {
			j++
		}
		for k := i; k < j; k++ {
			m, d := msgs[k], &bodies[k]
			created[k].Seconds, created[k].Nanos = m.CreatedSec, m.CreatedNano
			d.Offset, d.SeqNo, d.CreatedAt = m.Offset, m.SeqNo, &created[k]
			d.Data, d.UncompressedSize, d.MessageGroupId = m.Data, m.UncompressedSize, m.Producer
			d.MetadataItems = items.take(m.Items)
			refs[k] = d
		}
		first := msgs[i]
		out = append(out, &Ydb_Topic.StreamReadMessage_ReadResponse_Batch{
			MessageData: refs[i:j:j], ProducerId: first.Producer, WriteSessionMeta: sessionMeta(first.SessionMeta),
			Codec: first.Codec, WrittenAt: timestamppb.New(time.UnixMilli(first.WrittenMs)),
		})
		i = j
	}
	return out
}

func sameBatch(a, b *store.Message) bool {
	if a.WrittenMs != b.WrittenMs || a.Codec != b.Codec || a.Producer != b.Producer || len(a.SessionMeta) != len(b.SessionMeta) {
		return false
	}
	for i := range a.SessionMeta {
		if a.SessionMeta[i].Key != b.SessionMeta[i].Key || string(a.SessionMeta[i].Value) != string(b.SessionMeta[i].Value) {
			return false
		}
	}
	return true
}

// itemSlab makes the metadata of a few neighbours at once. Not of more: whoever
// keeps one of the messages keeps the metadata of all of them.
type itemSlab struct {
	bodies []Ydb_Topic.MetadataItem
	refs   []*Ydb_Topic.MetadataItem
	size   int // of the next slab; they grow
}

const slabItems = 32

func (l *itemSlab) take(items []store.Item) []*Ydb_Topic.MetadataItem {
	n := len(items)
	if n == 0 {
		return nil
	}
	if n > len(l.refs) {
		l.size = min(max(2*l.size, n), max(slabItems, n))
		l.bodies = make([]Ydb_Topic.MetadataItem, l.size)
		l.refs = make([]*Ydb_Topic.MetadataItem, l.size)
	}
	out := l.refs[:n:n]
	for i := range items {
		l.bodies[i].Key, l.bodies[i].Value = items[i].Key, items[i].Value
		out[i] = &l.bodies[i]
	}
	l.bodies, l.refs = l.bodies[n:], l.refs[n:]
	return out
}

func sessionMeta(items []store.Item) map[string]string {
	if len(items) == 0 {
		return nil
	}
	out := make(map[string]string, len(items))
	for _, it := range items {
		out[it.Key] = string(it.Value)
	}
	return out
}
