package partition

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

func TestMapIsDescribedOnceAndRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{MapAge: time.Minute})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := p.Map(t.Context(), standard.Path); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s.check(t, one(t.Context(), p, standard, "", "a"), "a")
		if s.describes != 1 {
			t.Errorf("%d describe calls", s.describes)
		}
		// A partition added by hand shows after MapAge, one use later.
		s.mu.Lock()
		s.addPart(Info{ID: 1, Active: true})
		s.mu.Unlock()
		<-time.After(61 * time.Second)
		for _, want := range []int{1, 2, 2} {
			m, err := p.Map(t.Context(), standard.Path)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(m.Active()); got != want {
				t.Errorf("%d active partitions, want %d", got, want)
			}
			synctest.Wait()
		}
		if s.describes != 2 {
			t.Errorf("%d describe calls", s.describes)
		}
		closePool(t, p)
	})
}

// A list of partitions that makes no map, as one taken in the middle of a
// split, is fetched again until it does.
func TestBrokenMapIsFetchedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true, To: []byte{0x80}})
		p := newPool(t, s, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r := one(ctx, p, standard, "g", "a"); !errors.Is(r.Err, ErrUnavailable) {
			t.Errorf("got %v", r.Err)
		}
		go func() {
			<-time.After(time.Second)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.addPart(Info{ID: 1, Active: true, From: []byte{0x80}})
		}()
		s.check(t, one(t.Context(), p, standard, "g", "b"), "b")
		closePool(t, p)
	})
}

// A session that wrote and is then denied has aged, as its token did: a new one
// is opened. One that is denied from the start is not.
func TestAgedSessionIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{})
		s.check(t, one(t.Context(), p, standard, "g", "a"), "a")
		denied := 0
		s.mu.Lock()
		s.onWrite = func(string, *Ydb_Topic.StreamWriteMessage_WriteRequest) fate {
			if denied++; denied == 1 {
				return fate{before: errDenied}
			}
			return fate{}
		}
		s.mu.Unlock()
		s.check(t, one(t.Context(), p, standard, "g", "b"), "b")
		s.mu.Lock()
		s.onWrite = func(string, *Ydb_Topic.StreamWriteMessage_WriteRequest) fate { return fate{before: errDenied} }
		s.mu.Unlock()
		if r := one(t.Context(), p, standard, "g", "c"); r.Err == nil || errors.Is(r.Err, ErrUnavailable) {
			t.Errorf("got %v", r.Err)
		}
		closePool(t, p)
	})
}

// A topic that was dropped and made again with fewer partitions: what was on the
// wire to a partition that is gone fails, the next messages find their way.
func TestVanishedPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mid := []byte{0x80}
		s := newScripted(Info{ID: 0, Active: true, To: mid}, Info{ID: 1, Active: true, From: mid})
		p := newPool(t, s, Options{})
		const group = "message_group_id_2" // of partition 1
		s.check(t, one(t.Context(), p, standard, group, "a"), "a")
		s.mu.Lock()
		s.onWrite = func(string, *Ydb_Topic.StreamWriteMessage_WriteRequest) fate {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.onWrite = nil
			delete(s.parts, 1)
			delete(s.parts, 0)
			s.addPart(Info{ID: 0, Active: true})
			return fate{before: errNoTopic}
		}
		s.mu.Unlock()
		if r := one(t.Context(), p, standard, group, "b"); !errors.Is(r.Err, ErrTopicGone) {
			t.Errorf("got %v", r.Err)
		}
		s.check(t, one(t.Context(), p, standard, group, "c"), "c")
		closePool(t, p)
	})
}
