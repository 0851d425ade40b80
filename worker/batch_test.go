package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// While a call hangs, entries gather. Those that somebody still waits for are sent
// in full batches, the others are not.
func TestBatcherLeavesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent [][]string
		hang := make(chan struct{})
		b := newBatcher(func(_ context.Context, batch []*entry) (map[string]*entryError, error) {
			<-hang
			var handles []string
			for _, e := range batch {
				handles = append(handles, e.handle)
			}
			sent = append(sent, handles)
			return map[string]*entryError{fmt.Sprint(slices.Index(handles, "kept 4")): {code: "InternalError"}}, nil
		})
		ctx, end := context.WithCancel(t.Context())
		var all, waiting sync.WaitGroup
		all.Go(func() { b.run(ctx) })
		do := func(ctx context.Context, handle string, want error) {
			waiting.Go(func() {
				err := b.do(ctx, handle, 0)
				var failed *entryError
				if !errors.Is(err, want) && (handle != "kept 4" || !errors.As(err, &failed)) {
					t.Errorf("%s: %v", handle, err)
				}
			})
			synctest.Wait()
		}
		short, leave := context.WithCancel(ctx)
		do(ctx, "first", nil)
		for i := range 12 {
			do(short, fmt.Sprint("left ", i), context.Canceled)
			do(ctx, fmt.Sprint("kept ", i), nil)
		}
		leave()
		synctest.Wait()
		close(hang)
		waiting.Wait()
		end()
		all.Wait()
		var sizes []int
		for _, batch := range sent {
			sizes = append(sizes, len(batch))
			for _, handle := range batch {
				if handle[:4] == "left" {
					t.Errorf("sent %s", handle)
				}
			}
		}
		if !slices.Equal(sizes, []int{1, 10, 2}) {
			t.Errorf("batches of %v", sizes)
		}
	})
}
