package partition

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

// Whatever breaks, every message is stored at most once, an acknowledged one
// exactly once where the result says, and those of a group in order from parent
// to child.
func TestFaultsKeepOrderAndLoseNothing(t *testing.T) {
	for seed := range uint64(30) {
		for _, patient := range []bool{true, false} {
			t.Run(fmt.Sprintf("seed=%d/patient=%v", seed, patient), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { chaos(t, seed, patient) })
			})
		}
	}
}

func chaos(t *testing.T, seed uint64, patient bool) {
	const writers, rounds = 6, 30
	s := newScripted(Info{ID: 0, Active: true})
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 1))
	roll := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return rng.IntN(n)
	}
	s.onOpen = func(int64) error {
		if roll(8) == 0 {
			return errRestart
		}
		return nil
	}
	s.onWrite = func(string, *Ydb_Topic.StreamWriteMessage_WriteRequest) fate {
		<-time.After(time.Duration(roll(3000)) * time.Microsecond)
		loss := []error{errNetworkLoss, errRestart, errBusy, errKilled, errNetworkLoss}[roll(5)]
		switch roll(12) {
		case 0:
			return fate{before: loss}
		case 1:
			return fate{after: loss}
		}
		return fate{}
	}
	p := newPool(t, s, Options{Lanes: 3})

	splitting, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for next := int64(1); next < 15 && splitting.Err() == nil; next += 2 {
			<-time.After(time.Duration(roll(60)) * time.Millisecond)
			s.splitMiddle(roll(1000), next)
		}
	})
	placed := map[string]Result{}
	var work sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			count := 0
			for range rounds {
				var batch []Message
				for range 1 + roll(4) {
					count++
					group := ""
					if g := roll(4); g > 0 {
						group = fmt.Sprintf("%d-%d", w, g)
					}
					batch = append(batch, message(group, fmt.Sprintf("%s/%d/%d", group, w, count)))
				}
				ctx, cancel := t.Context(), func() {}
				if !patient {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(roll(8000))*time.Microsecond)
				}
				for i, r := range p.Write(ctx, standard, batch) {
					switch {
					case r.Err == nil:
						mu.Lock()
						placed[string(batch[i].Record.Data)] = r
						mu.Unlock()
					case patient || !errors.Is(r.Err, ErrUnavailable):
						t.Errorf("%s: %v", batch[i].Record.Data, r.Err)
					}
				}
				cancel()
			}
		})
	}
	work.Wait()
	stop()
	wg.Wait()
	if patient { // what callers gave up may still be under way
		known := p.topic(standard.Path)
		known.mu.RLock()
		for _, w := range known.writers {
			if n := w.queued.Load(); n != 0 {
				t.Errorf("partition %d still counts %d bytes", w.id, n)
			}
		}
		known.mu.RUnlock()
	}
	closePool(t, p)

	seen := map[string]bool{}
	newest := map[string]int{}
	// Children have higher ids than their parents.
	for id := range int64(len(s.parts)) {
		for offset, body := range s.bodies(id) {
			if seen[body] {
				t.Errorf("%s is stored twice", body)
			}
			seen[body] = true
			if r, ok := placed[body]; ok && (r.Partition != id || r.Offset != int64(offset)) {
				t.Errorf("%s is at %d/%d, its result says %+v", body, id, offset, r)
			}
			delete(placed, body)
			parts := strings.Split(body, "/")
			var n int
			if _, err := fmt.Sscan(parts[2], &n); err != nil {
				t.Fatal(err)
			}
			if group := parts[0]; group != "" {
				if n < newest[group] {
					t.Errorf("%s comes after message %d of its group", body, newest[group])
				}
				newest[group] = n
			}
		}
	}
	for body, r := range placed {
		t.Errorf("%s is acknowledged with %+v and not stored", body, r)
	}
}

// splitMiddle splits one of the active partitions in the middle.
func (s *scripted) splitMiddle(pick int, next int64) {
	s.mu.Lock()
	var active []Info
	for id := range int64(len(s.parts)) {
		if p := s.parts[id]; p.info.Active {
			active = append(active, p.info)
		}
	}
	s.mu.Unlock()
	i := active[pick%len(active)]
	low, high := 0, 0x10000
	if len(i.From) > 0 {
		low = int(i.From[0])<<8 + int(i.From[1])
	}
	if len(i.To) > 0 {
		high = int(i.To[0])<<8 + int(i.To[1])
	}
	mid := (low + high) / 2
	s.split(i.ID, []byte{byte(mid >> 8), byte(mid)}, next, next+1)
}
