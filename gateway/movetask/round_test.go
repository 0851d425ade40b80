package movetask

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"sqsgate/gateway/catalog"
)

func TestDecide(t *testing.T) {
	gone, broken := fmt.Errorf("moving: %w", ErrQueueGone), errors.New("unavailable")
	tests := []struct {
		name string
		rate int
		r    round
		want decision
	}{
		{"some moved, no rate", 0, round{moved: 100, took: time.Second}, decision{status: catalog.TaskRunning}},
		{"nothing is left", 0, round{}, decision{status: catalog.TaskCompleted}},
		{"nothing is left, with a rate", 5, round{}, decision{status: catalog.TaskCompleted}},
		{"one a second", 1, round{moved: 1}, decision{status: catalog.TaskRunning, pause: time.Second}},
		{"the round's own time counts", 1, round{moved: 1, took: 300 * time.Millisecond}, decision{status: catalog.TaskRunning, pause: 700 * time.Millisecond}},
		{"slower than the rate", 10, round{moved: 1, took: time.Second}, decision{status: catalog.TaskRunning}},
		{"500 a second in rounds of 50", 500, round{moved: 50}, decision{status: catalog.TaskRunning, pause: 100 * time.Millisecond}},
		{"fewer than asked for", 500, round{moved: 5}, decision{status: catalog.TaskRunning, pause: 10 * time.Millisecond}},
		{"cancelled", 5, round{cancelled: true}, decision{status: catalog.TaskCancelled}},
		{"a queue is gone", 5, round{moved: 2, err: gone}, decision{status: catalog.TaskFailed, reason: "AWS.SimpleQueueService.NonExistentQueue"}},
		{"the first failure", 0, round{err: broken, failures: 1}, decision{status: catalog.TaskRunning, pause: 100 * time.Millisecond}},
		{"the third", 0, round{err: broken, failures: 3}, decision{status: catalog.TaskRunning, pause: 400 * time.Millisecond}},
		{"the hundredth", 0, round{err: broken, failures: 100}, decision{status: catalog.TaskRunning, pause: 5 * time.Second}},
		{"failed after some, within the rate", 1, round{moved: 1, err: broken, failures: 1}, decision{status: catalog.TaskRunning, pause: time.Second}},
		{"too old", 0, round{moved: 1, age: 36*time.Hour + 1}, decision{status: catalog.TaskFailed, reason: reasonAge}},
		{"too old and failing", 0, round{err: broken, failures: 9, age: 37 * time.Hour}, decision{status: catalog.TaskFailed, reason: reasonAge}},
		{"old, but done", 0, round{age: 37 * time.Hour}, decision{status: catalog.TaskCompleted}},
	}
	for _, tt := range tests {
		if got := decide(tt.rate, tt.r); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestBatch(t *testing.T) {
	for rate, want := range map[int]int{0: 100, 1: 1, 9: 1, 10: 1, 25: 2, 500: 50} {
		if got := batch(rate); got != want {
			t.Errorf("batch(%d) = %d, want %d", rate, got, want)
		}
	}
}
