package movetask_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sqsgate/gateway/catalog"
	"sqsgate/gateway/movetask"
	"sqsgate/internal/ydbtopic"
	"sqsgate/topicd"
)

// heap is a queue that is nothing but a number of messages.
type heap struct {
	mu       sync.Mutex
	left     int
	failures int   // calls that fail before the next that does not
	err      error // of every call
	calls    []call
}

type call struct {
	at                  time.Duration
	source, destination string
	moved               int
}

func (h *heap) Move(_ context.Context, source, destination string, most int) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return 0, h.err
	}
	if h.failures > 0 {
		h.failures--
		return 0, errors.New("out of order")
	}
	moved := min(most, h.left)
	h.left -= moved
	h.calls = append(h.calls, call{time.Since(epoch()), source, destination, moved})
	return moved, nil
}

// remaining and made may be asked for while a runner is at work.
func (h *heap) remaining() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.left
}

func (h *heap) made() []call {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

// epoch is when a bubble begins.
func epoch() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// world is a catalogue with a queue dlq, over a topic server in memory.
type world struct {
	t       *testing.T
	catalog *catalog.Catalog
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server, err := topicd.New(topicd.Options{FS: vfs.NewMem()})
	must(t, err)
	conn := ydbtopic.InProcess("/local", server.Register)
	queues, err := catalog.New(catalog.Options{Topics: conn.Topics(), Scheme: conn.Scheme()})
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- queues.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-done, conn.Close(context.Background()), server.Close()); err != nil {
			t.Error(err)
		}
	})
	_, _, err = queues.Create(t.Context(), catalog.CreateRequest{Name: "dlq"})
	must(t, err)
	return &world{t, queues}
}

// runner starts a Runner; stop is also called by the cleanup.
func (w *world) runner(m movetask.Mover) (r *movetask.Runner, stop func()) {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	r, err := movetask.New(movetask.Options{Catalog: w.catalog, Mover: m, Logger: log})
	must(w.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		must(w.t, <-done)
	})
	w.t.Cleanup(stop)
	return r, stop
}

func (w *world) start(r *movetask.Runner, id string, rate int) catalog.Task {
	w.t.Helper()
	task, err := r.Start(w.t.Context(), catalog.Task{ID: id, Source: "dlq", Destination: "q", Rate: rate, ToMove: 7})
	must(w.t, err)
	return task
}

// newest is the newest task of dlq.
func (w *world) newest() catalog.Task {
	w.t.Helper()
	tasks := w.catalog.Tasks("dlq")
	if len(tasks) == 0 {
		w.t.Fatal("there is no task")
	}
	return tasks[0]
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inBubble runs a test in virtual time. pass lets time pass, and what is under
// way come to rest.
func inBubble(t *testing.T, f func(t *testing.T, pass func(time.Duration))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t, func(d time.Duration) {
			t.Helper()
			timer := time.NewTimer(d)
			<-timer.C
			synctest.Wait()
		})
	})
}

func TestRunnerCompletes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, pass func(time.Duration)) {
		w := newWorld(t)
		messages := &heap{left: 250}
		r, _ := w.runner(messages)
		if task := w.start(r, "t", 0); task.Status != catalog.TaskRunning || task.Started == 0 || task.ToMove != 7 {
			t.Errorf("started %+v", task)
		}
		pass(time.Second)
		if task := w.newest(); task.Status != catalog.TaskCompleted || task.Moved != 250 {
			t.Errorf("ended %+v", task)
		}
		if first := messages.made()[0]; len(messages.made()) != 4 || first.moved != 100 || first.source != "dlq" || first.destination != "q" {
			t.Errorf("moved in %+v", messages.made())
		}
	})
}

func TestRunnerKeepsTheRate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, pass func(time.Duration)) {
		w := newWorld(t)
		messages := &heap{left: 60}
		r, _ := w.runner(messages)
		w.start(r, "t", 20)
		pass(1550 * time.Millisecond)
		running := w.newest()
		if done := 60 - messages.remaining(); done < 30 || done > 34 {
			t.Errorf("%d messages in 1.55 s at 20 a second", done)
		}
		if running.Status != catalog.TaskRunning || running.Moved < 15 || running.Moved > 34 {
			t.Errorf("reported after 1.55 s: %+v", running)
		}
		if _, err := r.Start(t.Context(), catalog.Task{ID: "u", Source: "dlq"}); !errors.Is(err, catalog.ErrTaskActive) {
			t.Errorf("a second task: %v", err)
		}
		pass(2 * time.Second)
		if task := w.newest(); task.Status != catalog.TaskCompleted || task.Moved != 60 {
			t.Errorf("ended %+v", task)
		}
		w.start(r, "u", 0) // the next one may
	})
}

func TestRunnerCancels(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, pass func(time.Duration)) {
		w := newWorld(t)
		messages := &heap{left: 100}
		r, _ := w.runner(messages)
		w.start(r, "t", 1)
		pass(2500 * time.Millisecond)
		cancelled, err := r.Cancel(t.Context(), "dlq", "t")
		if err != nil || cancelled.Status != catalog.TaskCancelling || cancelled.Moved < 2 {
			t.Errorf("cancelling: %+v, %v", cancelled, err)
		}
		pass(10 * time.Millisecond) // does not wait for the pause to end
		if task := w.newest(); task.Status != catalog.TaskCancelled || task.Moved != 3 || messages.remaining() != 97 {
			t.Errorf("cancelled %+v with %d left", task, messages.remaining())
		}
		for _, id := range []string{"t", "unknown"} {
			if _, err := r.Cancel(t.Context(), "dlq", id); !errors.Is(err, catalog.ErrNotFound) {
				t.Errorf("cancelling %s afterwards: %v", id, err)
			}
		}
	})
}

func TestRunnerFails(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, pass func(time.Duration)) {
		w := newWorld(t)
		r, _ := w.runner(&heap{err: fmt.Errorf("moving: %w", movetask.ErrQueueGone)})
		w.start(r, "t", 0)
		pass(time.Second)
		if task := w.newest(); task.Status != catalog.TaskFailed || task.Reason != "AWS.SimpleQueueService.NonExistentQueue" {
			t.Errorf("ended %+v", task)
		}
	})
}

func TestRunnerTriesAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, pass func(time.Duration)) {
		w := newWorld(t)
		r, _ := w.runner(&heap{left: 5, failures: 4})
		w.start(r, "t", 0)
		pass(time.Second)
		if task := w.newest(); task.Status != catalog.TaskRunning {
			t.Errorf("while it fails: %+v", task)
		}
		pass(time.Minute)
		if task := w.newest(); task.Status != catalog.TaskCompleted || task.Moved != 5 {
			t.Errorf("ended %+v", task)
		}
	})
}

// A task whose gateway stopped goes on in the next one, and in no other while the
// first one lives.
func TestRunnerTakesOver(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, pass func(time.Duration)) {
		w := newWorld(t)
		messages, others := &heap{left: 60}, &heap{}
		r, stop := w.runner(messages)
		w.start(r, "t", 1)
		_, stopOther := w.runner(others)
		pass(30 * time.Second)
		if len(others.made()) > 0 {
			t.Errorf("two move messages: %+v", others.made())
		}
		stopOther()
		stop()
		left := messages.remaining()
		w.runner(messages)
		pass(5 * time.Second)
		if messages.remaining() != left {
			t.Error("taken over while its owner may live")
		}
		pass(10 * time.Second)
		if messages.remaining() == left {
			t.Error("nobody takes the task over")
		}
		pass(time.Minute)
		if task := w.newest(); task.Status != catalog.TaskCompleted || task.Moved < 58 || task.Moved > 60 {
			t.Errorf("ended %+v", task)
		}
	})
}

// The task of a queue that is deleted ends with it.
func TestRunnerOfDeletedQueue(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, pass func(time.Duration)) {
		w := newWorld(t)
		messages := &heap{left: 100}
		r, _ := w.runner(messages)
		w.start(r, "t", 1)
		pass(time.Second)
		_, err := w.catalog.Delete(t.Context(), "dlq")
		must(t, err)
		pass(2 * time.Second)
		left := messages.remaining()
		pass(10 * time.Second)
		if messages.remaining() != left || len(w.catalog.ActiveTasks()) != 0 {
			t.Errorf("%d messages left, then %d; active %+v", left, messages.remaining(), w.catalog.ActiveTasks())
		}
	})
}
