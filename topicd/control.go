package topicd

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
)

// Control injects faults into a Server; it is for tests and cannot be reached
// from the wire. Calls are named by their method: "CreateTopic",
// "StreamWrite". A rule of Fail or Delay for a stream acts when the stream is
// opened; Intercept (intercept.go) acts on every message.
type Control struct {
	mu     sync.Mutex
	faults map[string][]*fault
	held   map[string]chan struct{} // by topic path; closed by release
	server *Server
	hooks  []*func(Passing) Fault
}

type fault struct {
	left  int
	code  Ydb.StatusIds_StatusCode // unspecified = let the call go on
	delay time.Duration
}

// NewControl returns a Control without faults. It serves one Server.
func NewControl() *Control {
	return &Control{faults: make(map[string][]*fault), held: make(map[string]chan struct{})}
}

// Fail answers the next n calls of the method with the status.
func (c *Control) Fail(method string, n int, code Ydb.StatusIds_StatusCode) {
	c.add(method, &fault{left: n, code: code})
}

// Delay holds the next n calls of the method for d before they are served.
func (c *Control) Delay(method string, n int, d time.Duration) {
	c.add(method, &fault{left: n, delay: d})
}

func (c *Control) add(method string, f *fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[method] = append(c.faults[method], f)
}

// KillSessions ends every read and write session of the topic with
// UNAVAILABLE, as a restart of the partitions' node would, and returns how many.
func (c *Control) KillSessions(path string) int {
	_, t, err := c.topic(path)
	if err != nil {
		return 0
	}
	return t.endSessions(statusf(Ydb.StatusIds_UNAVAILABLE, "the session was killed"))
}

// HoldAcks keeps back the write responses of the topic, whose messages are
// stored all the same, until release is called.
func (c *Control) HoldAcks(path string) (release func()) {
	held := make(chan struct{})
	c.mu.Lock()
	c.held[path] = held
	c.mu.Unlock()
	return sync.OnceFunc(func() {
		c.mu.Lock()
		if c.held[path] == held {
			delete(c.held, path)
		}
		c.mu.Unlock()
		close(held)
	})
}

// Split splits a partition of an auto partitioned topic where its load says,
// else in the middle. It returns when the children are durable and visible.
func (c *Control) Split(path string, partition int64) error {
	s, t, err := c.topic(path)
	if err != nil {
		return err
	}
	p := t.partition(partition)
	if p == nil {
		return schemeError("no partition %d in topic %q", partition, path)
	}
	return s.splitPartition(context.Background(), p, nil)
}

// Rebalance takes all partitions from the consumer's readers gracefully and
// gives them out anew.
func (c *Control) Rebalance(path, consumer string) error {
	_, t, err := c.topic(path)
	if err != nil {
		return err
	}
	if t.config.Load().consumer(consumer) == nil {
		return schemeError("no consumer '%s' in topic", consumer)
	}
	t.group(consumer).shake()
	return nil
}

// topic finds a topic by its path, absolute or below the database.
func (c *Control) topic(path string) (*Server, *topic, error) {
	c.mu.Lock()
	s := c.server
	c.mu.Unlock()
	if s == nil {
		return nil, nil, errors.New("topicd: the control belongs to no server")
	}
	full, err := s.resolve(context.Background(), path)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.tree.topic(full)
	return s, t, err
}

func (c *Control) attach(s *Server) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = s
}

// heldAcks returns a channel that is closed when acks may go out, nil when
// they may go out now.
func (c *Control) heldAcks(path string) <-chan struct{} {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch, ok := c.held[path]; ok {
		return ch
	}
	return nil
}

// check applies the first fault that is left for the method.
func (c *Control) check(ctx context.Context, method string) error {
	if c == nil {
		return nil
	}
	f := c.next(method)
	if f == nil {
		return nil
	}
	if f.delay > 0 {
		timer := time.NewTimer(f.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if f.code == Ydb.StatusIds_STATUS_CODE_UNSPECIFIED {
		return nil
	}
	return statusf(f.code, "injected fault")
}

func (c *Control) next(method string) *fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.faults[method] {
		if f.left > 0 {
			f.left--
			return f
		}
	}
	delete(c.faults, method)
	return nil
}
