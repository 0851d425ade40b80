package catalog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestKeyLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := keyLock{held: map[string]*keyHolder{}}
		unlockA, err := l.lock(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		unlockB, err := l.lock(t.Context(), "b")
		if err != nil {
			t.Fatal("another key waits")
		}
		unlockB()

		ctx, cancel := context.WithCancel(t.Context())
		var got bool
		var gaveUp error
		go func() {
			_, gaveUp = l.lock(ctx, "a")
		}()
		go func() {
			unlock, err := l.lock(t.Context(), "a")
			if err != nil {
				t.Error(err)
				return
			}
			got = true
			unlock()
		}()
		synctest.Wait()
		if got || gaveUp != nil {
			t.Fatal("the lock is held twice")
		}
		cancel()
		synctest.Wait()
		if !errors.Is(gaveUp, context.Canceled) || got {
			t.Errorf("a caller whose context ended: %v", gaveUp)
		}
		unlockA()
		synctest.Wait()
		if !got || len(l.held) != 0 {
			t.Errorf("taken over %v, %d keys are left", got, len(l.held))
		}
	})
}
