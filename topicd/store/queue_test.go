package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

type sized int

func (s sized) Size() int  { return int(s) }
func (sized) Apply(*Batch) {}
func (sized) Done(error)   {}

// The queue takes ops up to its bounds, lets an oversize op into an empty
// queue, and wakes those who wait when ops are taken, on close and on failure.
func TestQueueBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(3, 100)
		stop := make(chan struct{})
		put := func(n int) chan error {
			done := make(chan error, 1)
			go func() { done <- q.put(t.Context(), stop, sized(n)) }()
			synctest.Wait()
			return done
		}
		state := func(done chan error) string {
			select {
			case err := <-done:
				if err == nil {
					return "in"
				}
				return err.Error()
			default:
				return "waits"
			}
		}
		want := func(done chan error, s string) {
			t.Helper()
			if got := state(done); got != s {
				t.Errorf("%s, want %s", got, s)
			}
		}
		want(put(1000), "in") // larger than the bound, but the queue is empty
		waiting := put(1)
		want(waiting, "waits")
		if ops, _ := q.take(nil, 1<<20); len(ops) != 1 {
			t.Errorf("took %d ops", len(ops))
		}
		synctest.Wait()
		want(waiting, "in")
		want(put(50), "in")
		want(put(49), "in")
		fourth := put(0)
		want(fourth, "waits") // three ops are in
		if ops, _ := q.take(nil, 60); len(ops) != 3 {
			t.Errorf("a round of 60 bytes took %d ops", len(ops))
		}
		synctest.Wait()
		want(fourth, "in")
		q.close()
		if err := q.put(t.Context(), stop, sized(1)); !errors.Is(err, ErrClosed) {
			t.Errorf("put after close: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		full := newQueue(1, 1)
		if err := full.put(ctx, stop, sized(1)); err != nil {
			t.Error(err)
		}
		if err := full.put(ctx, stop, sized(1)); !errors.Is(err, context.Canceled) {
			t.Errorf("put into a full queue with a cancelled context: %v", err)
		}
		close(stop)
		if err := full.put(t.Context(), stop, sized(1)); !errors.Is(err, ErrFailed) {
			t.Errorf("put into a full queue of a failed store: %v", err)
		}
	})
}
