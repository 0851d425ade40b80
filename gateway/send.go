package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"sqsgate/codec"
	"sqsgate/consumer"
	"sqsgate/gateway/api"
	"sqsgate/partition"
)

// outgoing is one message on its way: its result, or err.
type outgoing struct {
	entry   *api.SendEntry
	message codec.Message
	result  api.SendResult
	err     error
}

// newOutgoing makes the message of a valid entry. sender is its SenderId, "" for
// the account, and trace the trace header of the HTTP request.
func newOutgoing(q *queue, e *api.SendEntry, sender, trace string) outgoing {
	m := codec.Message{Body: e.Body, DelaySeconds: -1, GroupID: e.GroupID.Value, SenderID: sender, TraceHeader: trace}
	if len(e.Attributes) > 0 {
		m.Attributes = codecAttributes(e.Attributes)
	}
	o := outgoing{entry: e, result: api.SendResult{ID: e.ID, BodyMD5: codec.BodyMD5(e.Body)}}
	o.result.AttributesMD5 = codec.AttributesMD5(m.Attributes)
	if len(e.SystemAttributes) > 0 { // AWSTraceHeader, the only one
		m.TraceHeader = string(e.SystemAttributes[0].Value)
		o.result.SystemAttributesMD5 = codec.AttributesMD5(codecAttributes(e.SystemAttributes))
	}
	switch {
	case q.FIFO:
		// The queue's delay counts, also for messages that are there already.
		if m.DeduplicationID = e.DeduplicationID.Value; !e.DeduplicationID.Set {
			sum := sha256.Sum256(e.Body)
			m.DeduplicationID = hex.EncodeToString(sum[:])
		}
	default:
		// The delay is fixed at the send, 0 as well: a later change of the queue's
		// does not reach messages that are there.
		m.DelaySeconds = int(e.Delay.Or(int64(q.delay)))
	}
	o.message = m
	return o
}

func codecAttributes(attributes []api.Attribute) []codec.Attribute {
	out := make([]codec.Attribute, len(attributes))
	for i := range attributes {
		out[i] = codec.Attribute{Name: attributes[i].Name, DataType: attributes[i].DataType, Value: attributes[i].Value}
	}
	return out
}

// send stores the messages and fills in their results or errors.
func (s *Server) send(ctx context.Context, q *queue, out []outgoing) {
	if q.FIFO {
		s.sendFIFO(ctx, q, out)
		return
	}
	s.store(ctx, q, out, nil)
}

// store stores those of out that have no error yet, in order. With only, it
// takes the indexes named there, and returns the results by the indexes of out.
func (s *Server) store(ctx context.Context, q *queue, out []outgoing, only []int) []partition.Result {
	messages := make([]partition.Message, 0, len(out))
	var few [api.MaxBatchEntries]int
	index := few[:0]
	add := func(i int) {
		if out[i].err != nil {
			return
		}
		record, err := codec.Encode(&out[i].message)
		if err != nil {
			out[i].err = err
			return
		}
		messages = append(messages, partition.Message{Group: out[i].message.GroupID, Record: record})
		index = append(index, i)
	}
	if only == nil {
		for i := range out {
			add(i)
		}
	} else {
		for _, i := range only {
			add(i)
		}
	}
	var results []partition.Result
	if only != nil {
		results = make([]partition.Result, len(out))
	}
	if len(messages) == 0 {
		return results
	}
	written := s.opts.Pool.Write(ctx, partition.Topic{Path: q.Topic, FIFO: q.FIFO}, messages)
	last := -1 // the highest offset of the partition at hand
	for n, i := range index {
		if results != nil {
			results[i] = written[n]
		}
		if out[i].err = written[n].Err; out[i].err != nil {
			continue
		}
		if last >= 0 && written[n].Partition != written[last].Partition {
			s.opts.Consumer.Wrote(q.Topic, written[last].Partition, written[last].Offset)
			last = -1
		}
		if last < 0 || written[n].Offset > written[last].Offset {
			last = n
		}
		s.stored(q, &out[i], written[n].Partition, written[n].Offset, written[n].Depth)
	}
	if last >= 0 {
		s.opts.Consumer.Wrote(q.Topic, written[last].Partition, written[last].Offset)
	}
	return results
}

// stored fills in the ids of a message that lies at a place of the log.
func (s *Server) stored(q *queue, o *outgoing, partition, offset int64, depth int) {
	o.result.MessageID = codec.MessageID(s.opts.Database, q.Topic, partition, offset)
	if q.FIFO {
		o.result.SequenceNumber = codec.SequenceNumber(depth, offset)
	}
}

// sendFIFO stores what the deduplication window does not know. A duplicate
// answers the ids of the first message and the digests of its own request.
func (s *Server) sendFIFO(ctx context.Context, q *queue, out []outgoing) {
	shared := s.opts.Consumer.Queue(q.spec)
	firsts, sameAs := distinct(out, q.spec.Settings.DeduplicationPerGroup)
	if len(firsts) == 0 {
		return
	}
	ids := make([]consumer.DeduplicationID, len(firsts))
	for n, i := range firsts {
		ids[n] = consumer.DeduplicationID{ID: out[i].message.DeduplicationID, Group: out[i].message.GroupID}
	}
	claims, err := shared.Claim(ctx, ids)
	if err != nil {
		for _, i := range firsts {
			out[i].err = err
		}
	} else {
		s.writeClaimed(ctx, q, shared, out, firsts, claims)
	}
	for i, first := range sameAs {
		if first < 0 {
			continue
		}
		out[i].err = out[first].err
		out[i].result.MessageID, out[i].result.SequenceNumber = out[first].result.MessageID, out[first].result.SequenceNumber
	}
}

// writeClaimed stores the claimed messages; firsts[n] is the index of claims[n].
// Every claim is settled, whatever happens on the way.
func (s *Server) writeClaimed(ctx context.Context, q *queue, shared *consumer.Queue, out []outgoing, firsts []int, claims []consumer.Claim) {
	written := make([]consumer.Written, len(claims))
	for n := range written {
		written[n].Err = partition.ErrUnavailable
	}
	defer func() { shared.Settle(claims, written) }()
	private := shared.PrivateDeduplication()
	fresh := make([]int, 0, len(firsts))
	for n, i := range firsts {
		if claims[n].Duplicate {
			s.repeat(ctx, q, &out[i], claims[n])
			continue
		}
		out[i].message.PrivateDeduplication = private
		fresh = append(fresh, i)
	}
	results := s.store(ctx, q, out, fresh)
	for n, i := range firsts {
		if !claims[n].Duplicate {
			written[n] = consumer.Written{Partition: results[i].Partition, Offset: results[i].Offset, Err: out[i].err}
		}
	}
}

// repeat answers a duplicate with the ids of the first.
func (s *Server) repeat(ctx context.Context, q *queue, o *outgoing, first consumer.Claim) {
	m, err := s.opts.Pool.Map(ctx, q.Topic)
	if err != nil {
		o.err = err
		return
	}
	s.stored(q, o, first.Partition, first.Offset, m.Depth(first.Partition))
}

// distinct separates the messages without an error by deduplication id: firsts
// are the indexes of the first of each id, sameAs[i] is the index of the first
// that message i repeats, or -1.
func distinct(out []outgoing, perGroup bool) (firsts, sameAs []int) {
	firsts, sameAs = make([]int, 0, len(out)), make([]int, len(out))
	for i := range out {
		sameAs[i] = -1
		if out[i].err != nil {
			continue
		}
		for _, j := range firsts {
			a, b := &out[i].message, &out[j].message
			if a.DeduplicationID == b.DeduplicationID && (!perGroup || a.GroupID == b.GroupID) {
				sameAs[i] = j
				break
			}
		}
		if sameAs[i] < 0 {
			firsts = append(firsts, i)
		}
	}
	return firsts, sameAs
}
