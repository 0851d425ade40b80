package consumer_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sqsgate/consumer"
)

// ledger is what the clients of the crash test were told. An answer counts only
// if it was written down before the power failed.
type ledger struct {
	t    *testing.T
	fifo bool

	mu      sync.Mutex
	failed  bool // the power has failed: what is answered now is worth nothing
	entries map[string]*entry
}

type entry struct {
	until    time.Time // the lease holds until then
	count    int
	asked    bool // somebody wanted it deleted
	deleted  bool // and was answered
	received bool
	story    []string
}

func (l *ledger) tell(e *entry, format string, args ...any) {
	e.story = append(e.story, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// violation reports what must not be. l.mu is held.
func (l *ledger) violation(body string, format string, args ...any) {
	l.t.Errorf("%s: %s\n  %s", body, fmt.Sprintf(format, args...), strings.Join(l.entries[body].story, "\n  "))
}

// received holds an answer to a receive against the ledger. It returns the
// messages the client has got for sure.
func (l *ledger) received(got []consumer.Received, visibility time.Duration) []consumer.Received {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed {
		return nil
	}
	now := time.Now()
	for _, m := range got {
		body := string(m.Record.Data)
		e := l.entries[body]
		l.tell(e, "received, count %d, for %v, by the owner of handle %s", m.ReceiveCount, visibility, m.Handle)
		switch {
		case e.deleted:
			l.violation(body, "came back after its delete was answered")
		case now.Before(e.until):
			l.violation(body, "came %v before its lease ended", e.until.Sub(now))
		case m.ReceiveCount <= e.count:
			l.violation(body, "the count was %d before", e.count)
		}
		e.until, e.count, e.received = now.Add(visibility), m.ReceiveCount, true
		if !l.fifo {
			continue
		}
		group, n := splitBody(body)
		for i := range n {
			before := fmt.Sprintf("%s/%d", group, i)
			if o := l.entries[before]; o != nil && !o.asked && !slices.ContainsFunc(got, func(m consumer.Received) bool { return string(m.Record.Data) == before }) {
				l.violation(body, "came before %s", before)
			}
		}
	}
	return got
}

func splitBody(body string) (group string, n int) {
	group, number, _ := strings.Cut(body, "/")
	if _, err := fmt.Sscan(number, &n); err != nil {
		panic(err)
	}
	return group, n
}

// ask notes a request about a message before it is made; the returned function
// takes its outcome.
func (l *ledger) ask(body, what string, change func(e *entry, answered bool)) func(error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[body]
	l.tell(e, "%s asked", what)
	change(e, false)
	return func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if err != nil || l.failed {
			l.tell(e, "%s: %v, after the power failure: %v", what, err, l.failed)
			return
		}
		l.tell(e, "%s answered", what)
		change(e, true)
	}
}

// work is one client: it receives and settles until the server is gone.
func (l *ledger) work(q *consumer.Queue, rnd *rand.Rand) {
	for range 3 {
		visibility := time.Duration(5+rnd.IntN(20)) * time.Second
		got, err := q.Receive(l.t.Context(), consumer.ReceiveRequest{Max: 1 + rnd.IntN(4), Visibility: visibility})
		if err != nil {
			return
		}
		for _, m := range l.received(got, visibility) {
			body := string(m.Record.Data)
			switch rnd.IntN(6) {
			case 0:
				continue
			case 1:
				extended := time.Duration(rnd.IntN(3)) * 15 * time.Second // 0 gives it back
				until := time.Now().Add(extended)
				done := l.ask(body, "visibility "+extended.String(), func(e *entry, answered bool) {
					if answered || until.Before(e.until) {
						e.until = until
					}
				})
				done(q.ChangeVisibility(l.t.Context(), []consumer.VisibilityChange{{Handle: m.Handle, Timeout: extended}})[0])
			default:
				done := l.ask(body, "delete", func(e *entry, answered bool) {
					e.asked, e.deleted = true, e.deleted || answered
				})
				done(q.Delete(l.t.Context(), []string{m.Handle})[0])
			}
		}
	}
}

// The power fails again and again while clients receive, delete, extend and give
// back. What was answered before holds after it, however much of what was not
// synced the disk has kept.
func TestPowerFailures(t *testing.T) {
	const rounds, clients = 40, 4
	for _, fifo := range []bool{false, true} {
		t.Run(fmt.Sprintf("fifo=%v", fifo), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			bubble(t, 2, func(t *testing.T, s *stack) {
				rnd := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // not for security
				l := &ledger{t: t, fifo: fifo, entries: map[string]*entry{}}
				next := map[string]int{}
				for round := range rounds {
					for p := range int64(2) {
						var batch []message
						for g := range 2 {
							group := fmt.Sprintf("g%d-%d", p, g)
							for range rnd.IntN(4) {
								body := fmt.Sprintf("%s/%d", group, next[group])
								next[group]++
								batch = append(batch, message{body: body, group: group, deduplication: body})
								l.entries[body] = &entry{}
							}
						}
						if len(batch) > 0 {
							s.write(p, batch...)
						}
					}
					q := s.c.Queue(spec(fifo))
					if round%3 == 0 {
						s.receiveNothing(q) // so that this round begins with open partitions
					}
					var running sync.WaitGroup
					for c := range clients {
						own := rand.New(rand.NewPCG(seed, uint64(round*clients+c+1))) //nolint:gosec // not for security
						running.Go(func() { l.work(q, own) })
					}
					for range rnd.IntN(2000) {
						runtime.Gosched()
					}
					l.mu.Lock()
					l.failed = true
					disk := s.powerFailure(vfs.CrashCloneCfg{UnsyncedDataPercent: rnd.IntN(101), RNG: rnd})
					l.mu.Unlock()
					running.Wait()
					s.goOn(disk)
					l.failed = false
					after(t, time.Duration(rnd.IntN(8000))*time.Millisecond)
				}
				drain(s, l, s.c.Queue(spec(fifo)))
			})
		})
	}
}

// receiveNothing opens the queue.
func (s *stack) receiveNothing(q *consumer.Queue) {
	s.t.Helper()
	if _, err := q.Counts(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// drain deletes all that comes within the longest lease, and looks for what did
// not.
func drain(s *stack, l *ledger, q *consumer.Queue) {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		got := l.received(s.receive(q, 5*time.Second), time.Minute)
		for _, m := range got {
			l.ask(string(m.Record.Data), "delete", func(e *entry, answered bool) { e.asked, e.deleted = true, e.deleted || answered })(nil)
		}
		s.delete(q, got...)
	}
	total := 0
	for body, e := range l.entries {
		total++
		if !e.received && !e.asked {
			l.violation(body, "was lost")
		}
	}
	s.wantCounts(q, 0, 0, 0)
	s.t.Logf("%d messages", total)
}
