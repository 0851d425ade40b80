package consumer

import (
	"container/list"
	"sync"
)

// waitList holds the long polls of a queue in arrival order. The shards take
// them from it when they have messages.
type waitList struct {
	mu    sync.Mutex
	calls list.List
	// closed: nobody waits any more; final is the answer to those who would, nil
	// for "no messages".
	closed bool
	final  error
}

// push adds a poll at the end. After close the poll is answered at once.
func (w *waitList) push(c *call) {
	w.mu.Lock()
	closed, final := w.closed, w.final
	if !closed {
		c.place = w.calls.PushBack(c)
	}
	w.mu.Unlock()
	if closed {
		c.answer(final)
	}
}

// putBack returns a poll that was popped to the front: it got nothing. One whose
// time ran out meanwhile is answered.
func (w *waitList) putBack(c *call) {
	w.mu.Lock()
	over, final := w.closed || c.expired, w.final
	if !over {
		c.place = w.calls.PushFront(c)
	}
	w.mu.Unlock()
	if over {
		c.answer(final)
	}
}

// pop takes the poll that has waited longest; nil when nobody waits.
func (w *waitList) pop() *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := w.calls.Front(); e != nil; e = w.calls.Front() {
		c, _ := w.calls.Remove(e).(*call) // the list holds calls only
		c.place = nil
		if !c.abandoned() {
			return c
		}
	}
	return nil
}

// expire ends the wait of a poll. False means that the poll is not in the list: a
// shard has taken it and answers it, or putBack does.
func (w *waitList) expire(c *call) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.place == nil {
		c.expired = true
		return false
	}
	w.calls.Remove(c.place)
	c.place = nil
	return true
}

// remove takes a poll out that waits no longer.
func (w *waitList) remove(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.place != nil {
		w.calls.Remove(c.place)
		c.place = nil
	}
}

// close answers every poll with final (nil = no messages), and those that come
// later.
func (w *waitList) close(final error) {
	w.mu.Lock()
	w.closed, w.final = true, final
	w.mu.Unlock()
	w.answerAll(final)
}

// answerAll answers the polls that wait now.
func (w *waitList) answerAll(err error) {
	w.mu.Lock()
	var waiting []*call
	for e := w.calls.Front(); e != nil; e = w.calls.Front() {
		c, _ := w.calls.Remove(e).(*call) // the list holds calls only
		c.place = nil
		waiting = append(waiting, c)
	}
	w.mu.Unlock()
	for _, c := range waiting {
		c.answer(err)
	}
}
