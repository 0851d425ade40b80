package movetask

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sqsgate/gateway/catalog"
)

const (
	// reportEvery is how often the owner of a task reports, at least.
	reportEvery = time.Second
	// lookEvery is how often tasks are looked for that another gateway started.
	lookEvery = time.Second
	// silence is how long an owner may not report before its task is taken over.
	silence = 10 * time.Second
)

// Mover moves messages.
type Mover interface {
	// Move moves up to most visible messages of source to destination, or each
	// to the queue it came from when destination is "". When it returns, those
	// moved are in their new place and gone from source, also after a crash; 0
	// without an error says that none is visible. It may have moved some when it
	// fails. ErrQueueGone: the source or a destination does not exist.
	Move(ctx context.Context, source, destination string, most int) (moved int, err error)
}

// Options of a Runner. Catalog and Mover are required.
type Options struct {
	Catalog *catalog.Catalog
	Mover   Mover

	Logger     *slog.Logger          // nil = discard
	Registerer prometheus.Registerer // nil = no metrics are exported
}

// Runner moves the messages of the tasks in the catalogue. It is safe for
// concurrent use.
type Runner struct {
	catalog *catalog.Catalog
	mover   Mover
	logger  *slog.Logger
	metrics *metrics
	owner   string
	wake    chan struct{}

	mu     sync.Mutex
	atWork map[string]chan struct{} // by task id; a send ends the pause
}

// New makes a Runner.
func New(o Options) (*Runner, error) {
	if o.Catalog == nil || o.Mover == nil {
		return nil, errors.New("movetask: catalog and mover are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("movetask: registering metrics: %w", err)
	}
	return &Runner{
		catalog: o.Catalog, mover: o.Mover, logger: o.Logger, metrics: m,
		owner: rand.Text(), wake: make(chan struct{}, 1), atWork: map[string]chan struct{}{},
	}, nil
}

// Start records a task that this Runner works on. Owner and Started are set here;
// see catalog.StartTask for the other members of t that count, and for the errors.
func (r *Runner) Start(ctx context.Context, t catalog.Task) (catalog.Task, error) {
	t.Owner, t.Started = r.owner, time.Now().UnixMilli()
	t, err := r.catalog.StartTask(ctx, t)
	if err == nil {
		poke(r.wake)
	}
	return t, err
}

// Cancel ends a task after the round it is at. Errors are those of
// catalog.CancelTask.
func (r *Runner) Cancel(ctx context.Context, source, id string) (catalog.Task, error) {
	t, err := r.catalog.CancelTask(ctx, source, id)
	if err == nil {
		r.mu.Lock()
		pausing := r.atWork[id]
		r.mu.Unlock()
		poke(pausing)
	}
	return t, err
}

// poke never blocks; one poke is as good as many. A nil channel hears nothing.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run works on tasks until ctx ends; it then leaves them to whoever finds them.
func (r *Runner) Run(ctx context.Context) error {
	if r.catalog.Await(ctx) != nil {
		return nil // it ended
	}
	var workers sync.WaitGroup
	defer workers.Wait()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	strangers := map[string]sighting{}
	for {
		active := r.catalog.ActiveTasks()
		r.metrics.active.Set(float64(len(active)))
		for _, t := range active {
			if t.Owner != r.owner && !silent(strangers, t, time.Now()) {
				continue
			}
			pausing := r.take(t.ID)
			if pausing == nil {
				continue
			}
			workers.Go(func() {
				defer r.leave(t.ID)
				r.work(ctx, t, pausing)
			})
		}
		forget(strangers, active)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-r.wake:
		}
	}
}

// sighting is a version of a task of somebody else, and when it was first seen.
type sighting struct {
	version int64
	at      time.Time
}

// silent tells whether the owner of a task has not reported for too long.
func silent(seen map[string]sighting, t catalog.Task, now time.Time) bool {
	before, ok := seen[t.ID]
	if !ok || before.version != t.Version {
		seen[t.ID] = sighting{t.Version, now}
		return false
	}
	return now.Sub(before.at) >= silence
}

// forget drops the sightings of tasks that are over.
func forget(seen map[string]sighting, active []catalog.Task) {
	for id := range seen {
		found := false
		for i := range active {
			found = found || active[i].ID == id
		}
		if !found {
			delete(seen, id)
		}
	}
}

// take notes that a task is worked on; nil = it is already.
func (r *Runner) take(id string) chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.atWork[id] != nil {
		return nil
	}
	pausing := make(chan struct{}, 1)
	r.atWork[id] = pausing
	return pausing
}

func (r *Runner) leave(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.atWork, id)
}
