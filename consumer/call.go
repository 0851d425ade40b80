package consumer

import (
	"container/list"
	"context"
	"sync/atomic"

	"sqsgate/consumer/lease"
)

// call is one request to a shard: one or more inputs that are answered together.
// The shard sets outcomes, received and err before it closes done.
type call struct {
	inputs   []lease.Input
	outcomes []lease.Outcome
	received []Received
	err      error
	done     chan struct{}
	state    atomic.Int32

	// place is where a long poll stands in the queue's waitList, which guards it.
	place *list.Element
	// expired: the poll's time ran out while a shard had it. Guarded like place.
	expired bool
	// leased are the deliveries of a receive; the shard makes received of them
	// once they are durable.
	leased []lease.Delivery
	bytes  int64 // of the answer's messages, at most
	// moves is how many moves a MoveOut began, the last one numbered lastMove;
	// refused how many of them the targets did not take.
	moves, refused int
	lastMove       uint64
}

// The states of a call. A caller that leaves and the shard that answers race;
// whoever comes second cleans up.
const (
	callOpen int32 = iota
	callAnswered
	callAbandoned
)

// single holds a call of one input in one allocation.
type single struct {
	call
	input   [1]lease.Input
	outcome [1]lease.Outcome
}

// newCall may keep the slice of inputs.
func newCall(inputs ...lease.Input) *call {
	if len(inputs) == 1 {
		s := &single{input: [1]lease.Input{inputs[0]}}
		s.inputs, s.outcomes, s.done = s.input[:], s.outcome[:], make(chan struct{})
		return &s.call
	}
	return &call{inputs: inputs, outcomes: make([]lease.Outcome, len(inputs)), done: make(chan struct{})}
}

// abandoned tells whether the caller has left.
func (c *call) abandoned() bool { return c.state.Load() == callAbandoned }

// answer ends the call. It returns false when the caller has left before.
func (c *call) answer(err error) bool {
	c.err = err
	if !c.state.CompareAndSwap(callOpen, callAnswered) {
		return false
	}
	close(c.done)
	return true
}

// wait waits for the answer. When ctx ends first the call counts as abandoned,
// and what it leased is given back by the shard; the error is then ErrUnavailable.
func (c *call) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
	}
	if c.state.CompareAndSwap(callOpen, callAbandoned) {
		return ErrUnavailable
	}
	<-c.done
	return c.err
}

// take notes the machine's answer to the i-th input. The answer is not kept.
func (c *call) take(i int, answer *lease.Effect) {
	c.outcomes[i] = answer.Outcome
	c.moves, c.lastMove, c.bytes = answer.Moves, answer.Sequence, answer.Size
	c.leased = append(c.leased, answer.Deliveries...)
}
