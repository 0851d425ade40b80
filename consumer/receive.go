package consumer

import (
	"context"
	"crypto/md5"
	"errors"
	"slices"
	"time"

	"sqsgate/consumer/lease"
)

// readYourWrites bounds how long a receive is held back until the messages this
// process has seen acknowledged are loaded: one without a wait that would have an
// empty answer, and every one of a FIFO queue.
const readYourWrites = 200 * time.Millisecond

// Receive hands out messages of any partition, or waits for them. An empty slice
// is not an error. When ctx ends early the messages are given back and the error
// is ErrUnavailable. Other errors: ErrQueueGone, ErrOverLimit.
func (q *Queue) Receive(ctx context.Context, r ReceiveRequest) ([]Received, error) {
	got, err := q.receive(ctx, r)
	if errors.Is(err, ErrUnavailable) && q.turnsOutGone(ctx) {
		err = ErrQueueGone
	}
	return got, err
}

// goneWait bounds how long a receive that failed waits to learn why.
const goneWait = time.Second

// turnsOutGone tells whether a queue whose partition has failed is not there any
// more: the server ends sessions one by one when a topic is dropped.
func (q *Queue) turnsOutGone(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, goneWait)
	defer cancel()
	for {
		q.mu.Lock()
		gone := isGone(q.err) || errors.Is(q.final, ErrQueueGone)
		over := q.final != nil || len(q.servingLocked()) > 0
		changed := q.changed
		q.mu.Unlock()
		if gone || over {
			return gone
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func (q *Queue) receive(ctx context.Context, r ReceiveRequest) ([]Received, error) {
	shards, err := q.ready(ctx)
	if err != nil {
		return nil, err
	}
	if r.AttemptID != "" {
		got, err := q.repeat(ctx, shards, r)
		if err != nil || len(got) > 0 {
			return got, err
		}
	}
	if q.spec.FIFO && r.Max > 1 {
		// Whoever gets a part of a group locks the rest: what belongs to the answer
		// must be there before it is made.
		awaitLoad(ctx, shards)
	}
	// Messages may be loaded behind the look of receiveNow and before awaitLoad asks.
	behind := slices.ContainsFunc(shards, (*shard).behind)
	got, err := q.receiveNow(ctx, shards, r)
	if err != nil || len(got) > 0 {
		return got, err
	}
	if r.Wait <= 0 {
		if !awaitLoad(ctx, shards) && !behind {
			return nil, nil
		}
		return q.receiveNow(ctx, shards, r)
	}
	return q.receiveLater(ctx, r)
}

// repeat hands out again what an earlier receive with the same attempt id got,
// from every shard that remembers it.
func (q *Queue) repeat(ctx context.Context, shards []*shard, r ReceiveRequest) ([]Received, error) {
	var got []Received
	for _, s := range shards {
		c := newCall(r.input(lease.Repeat, r.Max))
		if err := s.do(ctx, c); err != nil {
			return nil, err
		}
		got = append(got, c.received...)
	}
	return got, nil
}

// input is the request as one shard sees it.
func (r *ReceiveRequest) input(kind lease.Kind, most int) lease.Input {
	in := lease.Input{Kind: kind, Max: most, Visibility: r.Visibility.Milliseconds()}
	if r.AttemptID != "" {
		in.AttemptID = md5.Sum([]byte(r.AttemptID))
	}
	return in
}

// receiveNow asks one shard after the other until Max messages are there: first
// those known to have some, beginning at another one each time.
func (q *Queue) receiveNow(ctx context.Context, shards []*shard, r ReceiveRequest) ([]Received, error) {
	order := shards
	if len(shards) > 1 {
		order = rotated(shards, int(q.rotate.Add(1)))
		slices.SortStableFunc(order, func(a, b *shard) int {
			return boolToInt(b.hasReady.Load()) - boolToInt(a.hasReady.Load())
		})
	}
	var got []Received
	var overLimit bool
	room := q.c.opts.MaxAnswerBytes
	for _, s := range order {
		if len(got) > 0 && !s.hasReady.Load() {
			break
		}
		in := r.input(lease.Receive, r.Max-len(got))
		in.Room = room
		c := newCall(in)
		if err := s.do(ctx, c); err != nil {
			if len(got) > 0 {
				break // the answer holds what is leased already
			}
			return nil, err
		}
		got = append(got, c.received...)
		overLimit = overLimit || c.outcomes[0] == lease.OverLimit
		room -= c.bytes
		if len(got) >= r.Max || room <= 0 {
			break
		}
	}
	switch {
	case len(got) == 0:
		if overLimit && r.Wait <= 0 {
			return nil, ErrOverLimit
		}
		return nil, nil
	case ctx.Err() != nil:
		q.giveBack(got)
		return nil, ErrUnavailable
	}
	return got, nil
}

// receiveLater waits in the queue's list until a shard has messages.
func (q *Queue) receiveLater(ctx context.Context, r ReceiveRequest) ([]Received, error) {
	c := newCall(r.input(lease.Receive, r.Max))
	q.waits.push(c)
	if q.missing() && q.leave(c) { // setError may have come before the push
		return nil, ErrQueueGone
	}
	// A message may have come since receiveNow looked.
	for _, s := range q.serving() {
		if s.hasReady.Load() {
			s.mailbox.poke()
		}
	}
	var gone <-chan struct{}
	if r.Gone != nil {
		gone = r.Gone()
	}
	timer := time.NewTimer(r.Wait)
	defer timer.Stop()
	for answered, left := false, false; !answered && !left; {
		select {
		case <-timer.C:
			// Of a shard that has leased messages for the poll its client gets them: to
			// give them back would count a receive that nobody made.
			if q.waits.expire(c) {
				return nil, nil
			}
		case <-c.done:
			answered = true
		case <-gone:
			left = true
		case <-ctx.Done():
			left = true
		}
		if left && q.leave(c) {
			return nil, ErrUnavailable
		}
	}
	switch {
	case c.err != nil:
		return nil, c.err
	case ctx.Err() != nil:
		q.giveBack(c.received)
		return nil, ErrUnavailable
	}
	return c.received, nil
}

// leave ends the wait of a call. It returns false when the call was answered
// meanwhile.
func (q *Queue) leave(c *call) bool {
	q.waits.remove(c)
	if c.state.CompareAndSwap(callOpen, callAbandoned) {
		return true
	}
	<-c.done
	return false
}

// giveBack ends the leases of messages that cannot be handed to their client.
func (q *Queue) giveBack(messages []Received) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range messages {
		if s := q.shards[m.Partition]; s != nil {
			s.giveBack(lease.Visibility, []lease.Delivery{{Offset: m.Offset, Receives: uint32(m.ReceiveCount)}})
		}
	}
}

// awaitLoad waits until the shards have loaded what this process saw
// acknowledged. It tells whether there was something to wait for.
func awaitLoad(ctx context.Context, shards []*shard) (waited bool) {
	var timer *time.Timer
	for _, s := range shards {
		passed := s.caughtUp()
		if passed == nil {
			continue
		}
		if !waited {
			waited = true
			timer = time.NewTimer(readYourWrites)
			defer timer.Stop()
		}
		select {
		case <-passed:
		case <-timer.C:
			return true
		case <-ctx.Done():
			return true
		}
	}
	return waited
}

func rotated(shards []*shard, by int) []*shard {
	n := len(shards)
	list := make([]*shard, 0, n)
	for i := range n {
		list = append(list, shards[(i+by)%n])
	}
	return list
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
