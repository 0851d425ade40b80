package consumer

import (
	"context"
	"sync"

	"sqsgate/consumer/lease"
)

// Delete deletes messages; it returns one error (or nil) per handle. The errors:
// ErrHandle, ErrExpired (FIFO queues), ErrUnavailable, ErrQueueGone.
func (q *Queue) Delete(ctx context.Context, handles []string) []error {
	inputs := make([]lease.Input, len(handles))
	for i := range inputs {
		inputs[i].Kind = lease.Delete
	}
	return q.settle(ctx, handles, inputs)
}

// ChangeVisibility changes when messages become visible again; it returns one
// error (or nil) per change. The errors are those of Delete, ErrGone and
// ErrTooLong.
func (q *Queue) ChangeVisibility(ctx context.Context, changes []VisibilityChange) []error {
	handles := make([]string, len(changes))
	inputs := make([]lease.Input, len(changes))
	for i, c := range changes {
		handles[i] = c.Handle
		inputs[i] = lease.Input{Kind: lease.Visibility, Visibility: c.Timeout.Milliseconds()}
	}
	return q.settle(ctx, handles, inputs)
}

// settle sends each input to the shard of its handle, those of one shard in one
// call.
func (q *Queue) settle(ctx context.Context, handles []string, inputs []lease.Input) []error {
	errs := make([]error, len(handles))
	groups := make(map[int64][]int)
	for i, handle := range handles {
		r, err := parseReceipt(handle)
		if err == nil && r.incarnation != q.spec.Incarnation {
			err = ErrHandle
		}
		if err != nil {
			errs[i] = err
			continue
		}
		inputs[i].Offset, inputs[i].Attempt = r.offset, r.receives
		groups[r.partition] = append(groups[r.partition], i)
	}
	var wg sync.WaitGroup
	for partition, members := range groups {
		if len(groups) == 1 {
			q.settleIn(ctx, partition, members, inputs, errs)
			break
		}
		wg.Go(func() { q.settleIn(ctx, partition, members, inputs, errs) })
	}
	wg.Wait()
	return errs
}

// settleIn sends the inputs at the places members to one partition and sets their
// errors.
func (q *Queue) settleIn(ctx context.Context, partition int64, members []int, inputs []lease.Input, errs []error) {
	s, err := q.shard(ctx, partition)
	var c *call
	if err == nil {
		mine := inputs
		if len(members) < len(inputs) {
			mine = make([]lease.Input, len(members))
			for j, i := range members {
				mine[j] = inputs[i]
			}
		}
		c = newCall(mine...)
		err = s.do(ctx, c)
	}
	for j, i := range members {
		if err != nil {
			errs[i] = err
			continue
		}
		errs[i] = outcomeError(c.inputs[j].Kind, c.outcomes[j])
	}
}

// outcomeError is the caller's view of an outcome of a delete or a visibility
// change.
func outcomeError(kind lease.Kind, outcome lease.Outcome) error {
	switch outcome {
	case lease.Done:
		return nil
	case lease.Expired:
		return ErrExpired
	case lease.TooLong:
		return ErrTooLong
	case lease.Moving:
		return ErrUnavailable // soon it is gone, or can be deleted
	case lease.Gone, lease.OverLimit:
		if kind == lease.Delete {
			return ErrHandle
		}
		return ErrGone
	}
	return ErrUnavailable
}
