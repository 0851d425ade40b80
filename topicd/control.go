package topicd

import (
	"context"
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
)

// Control injects faults into a Server; it is for tests and cannot be reached
// from the wire. Calls are named by their method: "CreateTopic",
// "StreamWrite". A rule for a stream acts when the stream is opened.
type Control struct {
	mu     sync.Mutex
	faults map[string][]*fault
	held   map[string]chan struct{} // by topic path; closed by release
	server *Server
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
	c.mu.Lock()
	s := c.server
	c.mu.Unlock()
	if s == nil {
		return 0
	}
	t, err := s.tree.topic(path)
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

func (c *Control) attach(s *Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = s
}

// heldAcks returns a channel that is closed when acks may go out, nil when
// they may go out now.
func (c *Control) heldAcks(path string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch, ok := c.held[path]; ok {
		return ch
	}
	return nil
}

// check applies the first fault that is left for the method.
func (c *Control) check(ctx context.Context, method string) error {
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
