package gateway

import (
	"sync"
	"time"
)

// maxCooling bounds the names a cooldown remembers. Beyond it they may be
// forgotten early.
const maxCooling = 10000

// cooldown refuses what was done a moment ago.
type cooldown struct {
	every time.Duration
	now   func() time.Time

	mu   sync.Mutex
	last map[string]time.Time
}

func newCooldown(every time.Duration, now func() time.Time) *cooldown {
	return &cooldown{every: every, now: now, last: map[string]time.Time{}}
}

// cooling tells whether name was marked within the period.
func (c *cooldown) cooling(name string) bool {
	if c.every == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.last[name]
	return ok && c.now().Sub(at) < c.every
}

// mark notes that it was done; false = it was done within the period.
func (c *cooldown) mark(name string) bool {
	if c.every == 0 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if at, ok := c.last[name]; ok && now.Sub(at) < c.every {
		return false
	}
	if len(c.last) >= maxCooling {
		c.evict(now)
	}
	c.last[name] = now
	return true
}

// evict makes room: what is over goes, and if that is little, everything, so
// that the scan is paid for by many marks. c.mu is held.
func (c *cooldown) evict(now time.Time) {
	for name, at := range c.last {
		if now.Sub(at) >= c.every {
			delete(c.last, name)
		}
	}
	if len(c.last) > maxCooling/2 {
		clear(c.last)
	}
}

// clear takes a mark back.
func (c *cooldown) clear(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, name)
}
