package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
)

const (
	logTopic    = "catalog" // below the state root
	logConsumer = "catalog" // holds the offset of the snapshot to start from
)

// Catalog is one gateway's view of the queues. It is safe for concurrent use.
type Catalog struct {
	opts     Options
	names    names
	server   server
	log      string // absolute path of the log's topic
	producer string
	appender *appender
	logger   *slog.Logger
	metrics  *metrics
	keys     keyLock
	caughtUp chan struct{} // closed when the log has been read to its end once
	trySnap  chan struct{}

	mu       sync.RWMutex
	state    *state
	position int64 // offset of the next record
	down     error // why the log is not being followed, nil while it is
	behind   int   // records since the last snapshot
}

var errStarting = errors.New("catalogue is not read yet")

// New returns a Catalog that knows nothing until Run has read the log.
func New(o Options) (*Catalog, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("catalog: registering metrics: %w", err)
	}
	n := o.names()
	log := path.Join(n.state, logTopic)
	producer := "catalog/" + strconv.FormatUint(rand.Uint64(), 36) + strconv.FormatUint(rand.Uint64(), 36)
	return &Catalog{
		opts: o, names: n, log: log, producer: producer,
		server:   server{topics: o.Topics, scheme: o.Scheme},
		appender: newAppender(o.Topics, log, producer, o.Logger),
		logger:   o.Logger, metrics: m,
		keys:     keyLock{held: map[string]*keyHolder{}},
		caughtUp: make(chan struct{}), trySnap: make(chan struct{}, 1),
		state: newState(n), down: errStarting,
	}, nil
}

// Run follows the log until ctx ends. It never fails for good: whatever breaks is
// tried again, and Ready says what it is.
func (c *Catalog) Run(ctx context.Context) error {
	var g errgroup.Group
	g.Go(func() error { c.tail(ctx); return nil })
	g.Go(func() error { c.appender.run(ctx); return nil })
	g.Go(func() error { c.refresh(ctx); return nil })
	g.Go(func() error { c.snapshots(ctx); return nil })
	return g.Wait()
}

// Ready returns nil while the log is followed and has been read to its end, else
// why not.
func (c *Catalog) Ready() error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.down
}

// Get returns the queue. A name the catalogue does not know is looked up on the
// server at once: a topic that has the consumer becomes a queue. Errors:
// ErrNotFound, ErrInvalidName, *SharedConsumerError, ErrUnavailable when the catalogue has not been
// read before ctx ended, or the server's own.
func (c *Catalog) Get(ctx context.Context, name string) (Queue, error) {
	e, err := c.get(ctx, name)
	return e.Queue, err
}

func (c *Catalog) get(ctx context.Context, name string) (entry, error) {
	// Every request comes through here; most ask for a queue by its canonical name.
	if c.readOnce() {
		if e, ok := c.known(name); ok && e.bound {
			return e, nil
		}
	}
	name, topic, consumer, err := c.names.parse(name)
	if err != nil {
		return entry{}, err
	}
	if err := c.await(ctx); err != nil {
		return entry{}, err
	}
	if e, ok := c.known(name); ok && e.bound {
		return e, nil
	}
	unlock, err := c.keys.lock(ctx, name)
	if err != nil {
		return entry{}, unavailable(err)
	}
	defer unlock()
	e, ok := c.known(name)
	if ok && e.bound {
		return e, nil
	}
	if ok {
		// Whoever created it has not finished.
		e, err = c.materialize(ctx, e)
	} else if err = c.supply(ctx, name, topic, consumer); err == nil {
		e, _, err = c.adopt(ctx, name, topic, consumer)
	}
	if err != nil {
		return entry{}, fmt.Errorf("getting queue %s: %w", name, err)
	}
	return e, nil
}

// List returns up to most names that begin with prefix and come behind after, in
// order.
func (c *Catalog) List(prefix, after string, most int) []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.state.list(prefix, after, most)
}

// Select returns, in order, the names behind after that keep accepts, at most
// most of them. keep must be quick and must not call the Catalog.
func (c *Catalog) Select(after string, most int, keep func(Queue) bool) []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.state.selected(after, most, keep)
}

// Has tells whether the catalogue holds a queue of this canonical name.
func (c *Catalog) Has(name string) bool {
	_, ok := c.known(name)
	return ok
}

// Await waits until the log has been read to its end once: from then on List
// and Select are complete as of some moment, though the server may have gone away
// since. Error: ErrUnavailable when ctx ends first.
func (c *Catalog) Await(ctx context.Context) error { return c.await(ctx) }

func (c *Catalog) known(name string) (entry, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.state.queues[name]
	return e, ok
}

func (c *Catalog) leaving(name string) (entry, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.state.deleting[name]
	return e, ok
}

// readOnce reports whether the log has been read to its end once.
func (c *Catalog) readOnce() bool {
	select {
	case <-c.caughtUp:
		return true
	default:
		return false
	}
}

// await waits until the log has been read to its end once.
func (c *Catalog) await(ctx context.Context) error {
	if c.readOnce() {
		return nil
	}
	select {
	case <-c.caughtUp:
		return nil
	case <-ctx.Done():
		cause := c.Ready()
		if cause == nil {
			cause = ctx.Err()
		}
		return unavailable(cause)
	}
}

// write appends the record and waits until it has come back.
func (c *Catalog) write(ctx context.Context, r record) (outcome, error) {
	data, err := r.encode()
	if err != nil {
		return outcome{}, err
	}
	return c.writeEncoded(ctx, data)
}

func (c *Catalog) writeEncoded(ctx context.Context, data []byte) (outcome, error) {
	seq, answer, err := c.appender.add(data)
	if err != nil {
		return outcome{}, err
	}
	select {
	case o := <-answer:
		return o, nil
	case <-ctx.Done():
		c.appender.forget(seq)
		return outcome{}, unavailable(ctx.Err())
	}
}
