package partition

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sqsgate/codec"
)

// messageOverhead is what a waiting message is counted as beside its bytes.
const messageOverhead = 256

// Message is one message to write.
type Message struct {
	// Group is the MessageGroupId; empty means none.
	Group string
	// Record is what is stored. ProducerID is ignored. The bytes must not change
	// after the call.
	Record codec.Record
}

// Result is the outcome of one message.
type Result struct {
	Partition, Offset int64
	// Depth is the split depth of the partition, see Map.Depth.
	Depth int
	// Err is nil when the message is durable at Offset.
	Err error
}

type messageData = Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData

// States of a pending message. Only the one that moves it away from waiting
// writes its result.
const (
	stateWaiting int32 = iota
	stateFinished
	stateAbandoned // the caller has given up
)

// pending is one message on its way. Its lane owns every field but state.
type pending struct {
	call    *call
	index   int
	state   atomic.Int32
	grouped bool
	codec   int32
	key     position // of the group
	size    int64
	data    *messageData

	seq   int64     // 0 until it was put on the wire
	floor int64     // its offset is not below
	sent  time.Time // when it was first put on the wire
}

// finish gives the message its result, unless the caller has given up.
func (p *pending) finish(r Result) {
	if p.state.CompareAndSwap(stateWaiting, stateFinished) {
		p.call.results[p.index] = r
		p.call.release()
	}
}

func (p *pending) waiting() bool { return p.state.Load() == stateWaiting }

// renew makes the message one that was never sent. What the server may still
// hold is left alone.
func (p *pending) renew() {
	if p.seq == 0 {
		return
	}
	p.data = &messageData{
		CreatedAt:        p.data.CreatedAt,
		Data:             p.data.Data,
		UncompressedSize: p.data.UncompressedSize,
		MetadataItems:    p.data.MetadataItems,
	}
	p.seq, p.floor, p.sent = 0, 0, time.Time{}
}

// call is one Write: the messages, their results and a countdown.
type call struct {
	items   []pending
	results []Result
	left    atomic.Int64
	done    chan struct{}
}

// single holds a call of one message in one allocation.
type single struct {
	call
	item    [1]pending
	result  [1]Result
	data    [1]messageData
	created timestamppb.Timestamp
}

func newCall(msgs []Message, now time.Time) *call {
	var (
		c       *call
		data    []messageData
		created *timestamppb.Timestamp
	)
	if len(msgs) == 1 {
		s := &single{}
		c, data, created = &s.call, s.data[:], &s.created
		c.items, c.results = s.item[:], s.result[:]
	} else {
		c = &call{items: make([]pending, len(msgs)), results: make([]Result, len(msgs))}
		data, created = make([]messageData, len(msgs)), &timestamppb.Timestamp{}
	}
	c.done = make(chan struct{})
	c.left.Store(int64(len(msgs)))
	created.Seconds, created.Nanos = now.Unix(), int32(now.Nanosecond())

	count := 0
	for i := range msgs {
		count += len(msgs[i].Record.Metadata)
	}
	values := make([]Ydb_Topic.MetadataItem, count)
	items := make([]*Ydb_Topic.MetadataItem, count)
	for i := range msgs {
		record := &msgs[i].Record
		n := len(record.Metadata)
		size := int64(len(record.Data)) + messageOverhead
		for k := range n {
			values[k].Key, values[k].Value = record.Metadata[k].Key, record.Metadata[k].Value
			items[k] = &values[k]
			size += int64(len(values[k].Key) + len(values[k].Value))
		}
		d := &data[i]
		d.CreatedAt = created
		d.Data = record.Data
		d.UncompressedSize = int64(len(record.Data))
		d.MetadataItems = items[:n:n]
		values, items = values[n:], items[n:]

		p := &c.items[i]
		p.call, p.index, p.data, p.size, p.codec = c, i, d, size, record.Codec
		if msgs[i].Group != "" {
			p.grouped, p.key = true, positionOf(GroupHash(msgs[i].Group))
		}
	}
	return c
}

func (c *call) release() {
	if c.left.Add(-1) == 0 {
		close(c.done)
	}
}

// fail gives every message without a result this error.
func (c *call) fail(err error) {
	for i := range c.items {
		c.items[i].finish(Result{Err: err})
	}
}

// wait returns when every message has a result. When ctx ends first, messages
// still on their way get ErrUnavailable and are never put on the wire later.
func (c *call) wait(ctx context.Context) {
	select {
	case <-c.done:
		return
	case <-ctx.Done():
	}
	for i := range c.items {
		if c.items[i].state.CompareAndSwap(stateWaiting, stateAbandoned) {
			c.results[i] = Result{Err: ErrUnavailable}
			c.release()
		}
	}
	// What is left is being finished at this moment.
	<-c.done
}

// size returns the bytes of the whole call.
func (c *call) size() int64 {
	total := int64(0)
	for i := range c.items {
		total += c.items[i].size
	}
	return total
}
