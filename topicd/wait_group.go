package topicd

import (
	"sync"
	"time"
)

// waitGroup counts calls and their goroutines. Unlike sync.WaitGroup it can be
// shut: after wait nobody new gets in.
type waitGroup struct {
	mu   sync.Mutex
	n    int
	shut bool
	idle chan struct{} // closed when shut and n is 0
}

func (w *waitGroup) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut {
		return false
	}
	w.n++
	return true
}

func (w *waitGroup) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n--
	if w.n == 0 && w.idle != nil {
		close(w.idle)
	}
}

// Go runs f in a goroutine that is counted. The caller is counted itself, so
// it cannot come too late.
func (w *waitGroup) Go(f func()) {
	w.mu.Lock()
	w.n++
	w.mu.Unlock()
	go func() {
		defer w.leave()
		f()
	}()
}

// wait lets nobody in any more and waits for those inside; false when the
// time was over first.
func (w *waitGroup) wait(limit time.Duration) bool {
	w.mu.Lock()
	w.shut = true
	if w.n == 0 {
		w.mu.Unlock()
		return true
	}
	w.idle = make(chan struct{})
	w.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-w.idle:
		return true
	case <-timer.C:
		return false
	}
}
