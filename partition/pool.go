package partition

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
)

// Topic names what is written to.
type Topic struct {
	// Path is the topic's path as the topic service takes it.
	Path string
	// FIFO puts the partition's rate limit on the messages.
	FIFO bool
}

// Pool writes to topics. It is safe for concurrent use.
type Pool struct {
	opts    Options
	topics  Ydb_Topic_V1.TopicServiceClient
	metrics *metrics
	// process makes producer ids differ between gateways.
	process string

	closing chan struct{} // closed when Close begins: finish what is queued
	abort   chan struct{} // closed when its time is over: give up
	stopped chan struct{} // closed when every goroutine has ended
	wg      sync.WaitGroup

	mu           sync.RWMutex
	closed       bool
	byPath       map[string]*topic
	incarnations uint64
}

// New returns a pool. It opens nothing before the first write.
func New(opts Options) (*Pool, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	m, err := newMetrics(opts.Registerer)
	if err != nil {
		return nil, fmt.Errorf("partition: registering metrics: %w", err)
	}
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, fmt.Errorf("partition: making a process id: %w", err)
	}
	p := &Pool{
		opts:    opts,
		topics:  opts.Topics,
		metrics: m,
		process: hex.EncodeToString(id[:]),
		closing: make(chan struct{}),
		abort:   make(chan struct{}),
		stopped: make(chan struct{}),
		byPath:  make(map[string]*topic),
	}
	p.wg.Add(1)
	go p.sweep()
	return p, nil
}

// Write stores the messages and returns one result for each, in order. It
// blocks until each is durable or has failed; ctx bounds the wait. Messages of
// one group are stored in the order given, and those of a later call after
// those of an earlier one that has returned.
func (p *Pool) Write(ctx context.Context, target Topic, msgs []Message) []Result {
	if len(msgs) == 0 {
		return nil
	}
	c := newCall(msgs, time.Now())
	if !p.enter() {
		c.fail(fmt.Errorf("pool is closed: %w", ErrUnavailable))
		return c.results
	}
	defer p.wg.Done()
	if ctx.Err() != nil {
		c.fail(ErrUnavailable)
	} else if err := p.submit(ctx, target, c); err != nil {
		c.fail(err)
	}
	c.wait(ctx)
	p.count(c.results)
	return c.results
}

// submit puts the messages on their lanes.
func (p *Pool) submit(ctx context.Context, target Topic, c *call) error {
	for {
		t := p.topic(target.Path)
		m, err := t.fetch(ctx)
		if err == nil {
			t.renew(m)
			if target.FIFO {
				t.throttle(ctx, c)
			}
			err = t.place(c)
		}
		if !errors.Is(err, errEvicted) {
			return err
		}
	}
}

// Map returns the partitions of a topic, from memory when they are known.
// Errors: ErrTopicGone, ErrUnavailable when ctx ended first, others from the
// topic service.
func (p *Pool) Map(ctx context.Context, path string) (*Map, error) {
	if !p.enter() {
		return nil, fmt.Errorf("pool is closed: %w", ErrUnavailable)
	}
	defer p.wg.Done()
	for {
		t := p.topic(path)
		m, err := t.fetch(ctx)
		if errors.Is(err, errEvicted) {
			continue
		}
		if err == nil {
			t.renew(m)
		}
		return m, err
	}
}

// Forget drops what is known of a topic and ends its write sessions. Messages
// on their way get ErrTopicGone.
func (p *Pool) Forget(path string) {
	p.mu.RLock()
	t := p.byPath[path]
	p.mu.RUnlock()
	if t != nil {
		t.end(ErrTopicGone)
	}
}

// Close refuses new messages, waits until those on their way are durable, and
// ends every session. When ctx ends first, messages still on their way get
// ErrUnavailable and Close returns the error of ctx. Repeated calls wait too.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.closing)
		go func() {
			p.wg.Wait()
			close(p.stopped)
		}()
	}
	p.mu.Unlock()
	select {
	case <-p.stopped:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	select {
	case <-p.abort:
	default:
		close(p.abort)
	}
	topics := make([]*topic, 0, len(p.byPath))
	for _, t := range p.byPath {
		topics = append(topics, t)
	}
	p.mu.Unlock()
	for _, t := range topics {
		t.end(ErrUnavailable)
	}
	<-p.stopped
	return ctx.Err()
}

// enter counts a caller among what Close waits for.
func (p *Pool) enter() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return false
	}
	p.wg.Add(1)
	return true
}

func (p *Pool) topic(path string) *topic {
	p.mu.RLock()
	t := p.byPath[path]
	p.mu.RUnlock()
	if t != nil {
		return t
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.byPath[path]; t != nil {
		return t
	}
	p.incarnations++
	t = newTopic(p, path, p.incarnations)
	p.byPath[path] = t
	return t
}

func (p *Pool) drop(t *topic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byPath[t.path] == t {
		delete(p.byPath, t.path)
	}
}

func (p *Pool) aborted() bool {
	select {
	case <-p.abort:
		return true
	default:
		return false
	}
}

// sweep drops writers and topics that have not been used for IdleTimeout.
func (p *Pool) sweep() {
	defer p.wg.Done()
	ticker := time.NewTicker(p.opts.IdleTimeout)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-p.closing:
			return
		}
		before := time.Now().Add(-p.opts.IdleTimeout)
		p.mu.RLock()
		topics := make([]*topic, 0, len(p.byPath))
		for _, t := range p.byPath {
			topics = append(topics, t)
		}
		p.mu.RUnlock()
		for _, t := range topics {
			if t.sweep(before) {
				p.drop(t)
			}
		}
	}
}

func (p *Pool) count(results []Result) {
	for i := range results {
		err := results[i].Err
		if err == nil {
			continue
		}
		reason := "other"
		switch {
		case errors.Is(err, ErrThrottled):
			reason = "throttled"
		case errors.Is(err, ErrOverloaded):
			reason = "overloaded"
		case errors.Is(err, ErrUnavailable):
			reason = "unavailable"
		case errors.Is(err, ErrTopicGone):
			reason = "topic_gone"
		}
		p.metrics.failed.WithLabelValues(reason).Inc()
	}
}
