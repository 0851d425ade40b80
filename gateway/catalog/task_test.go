package catalog

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func taskState() *state {
	s := newState(testNames())
	for i, name := range []string{"dlq", "other"} {
		r := record{Op: opCreate, Name: name, Incarnation: uint64(i + 1)}
		s.apply(int64(i), &r)
	}
	return s
}

// The records of one task, and what becomes of it.
func TestTaskRecords(t *testing.T) {
	start := record{Op: opTask, Name: "dlq", Incarnation: 1, Task: &taskRecord{ID: "t", Destination: "q", Rate: 5, Started: 7, ToMove: 9, Owner: "a"}}
	cancel := record{Op: opCancel, Name: "dlq", Incarnation: 1, Task: &taskRecord{ID: "t"}}
	report := func(owner, was string, status TaskStatus, moved int64) record {
		return record{Op: opProgress, Name: "dlq", Incarnation: 1, Task: &taskRecord{ID: "t", Owner: owner, Was: was, Status: status, Moved: moved}}
	}
	other := func(r record, change func(*record)) record {
		task := *r.Task
		r.Task = &task
		change(&r)
		return r
	}
	tests := []struct {
		name    string
		records []record
		last    verdict
		status  TaskStatus
		moved   int64
		owner   string
	}{
		{"it starts running", []record{start}, applied, TaskRunning, 0, "a"},
		{"its owner reports", []record{start, report("a", "", TaskRunning, 3)}, applied, TaskRunning, 3, "a"},
		{"moved never falls", []record{start, report("a", "", TaskRunning, 3), report("a", "", TaskRunning, 2)}, applied, TaskRunning, 3, "a"},
		{"it completes", []record{start, report("a", "", TaskCompleted, 9)}, applied, TaskCompleted, 9, "a"},
		{"it fails", []record{start, report("a", "", TaskFailed, 1)}, applied, TaskFailed, 1, "a"},
		{"nothing follows the end", []record{start, report("a", "", TaskCompleted, 9), report("a", "", TaskRunning, 10)}, absent, TaskCompleted, 9, "a"},
		{"a cancellation", []record{start, cancel}, applied, TaskCancelling, 0, "a"},
		{"a second cancellation", []record{start, cancel, cancel}, absent, TaskCancelling, 0, "a"},
		{"a report does not undo it", []record{start, cancel, report("a", "", TaskRunning, 4)}, applied, TaskCancelling, 4, "a"},
		{"its end", []record{start, cancel, report("a", "", TaskCancelled, 4)}, applied, TaskCancelled, 4, "a"},
		{"it was done before it could be cancelled", []record{start, cancel, report("a", "", TaskCompleted, 9)}, applied, TaskCompleted, 9, "a"},
		{"cancelling what is over", []record{start, report("a", "", TaskCompleted, 9), cancel}, absent, TaskCompleted, 9, "a"},
		{"a stranger reports", []record{start, report("b", "", TaskCompleted, 9)}, outdated, TaskRunning, 0, "a"},
		{"a takeover", []record{start, report("b", "a", TaskRunning, 2)}, applied, TaskRunning, 2, "b"},
		{"the former owner reports", []record{start, report("b", "a", TaskRunning, 2), report("a", "", TaskCompleted, 9)}, outdated, TaskRunning, 2, "b"},
		{"two take over, the first wins", []record{start, report("b", "a", TaskRunning, 2), report("c", "a", TaskRunning, 3)}, outdated, TaskRunning, 2, "b"},
		{"a second task beside it", []record{start, other(start, func(r *record) { r.Task.ID = "u" })}, exists, TaskRunning, 0, "a"},
		{"another task's report", []record{start, other(report("a", "", TaskFailed, 1), func(r *record) { r.Task.ID = "u" })}, absent, TaskRunning, 0, "a"},
		{"another incarnation's report", []record{start, other(report("a", "", TaskFailed, 1), func(r *record) { r.Incarnation = 8 })}, absent, TaskRunning, 0, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := taskState()
			var o outcome
			for i := range tt.records {
				o, _ = s.apply(int64(10+i), &tt.records[i])
			}
			got := s.tasks["dlq"]
			if o.verdict != tt.last || len(got) != 1 {
				t.Fatalf("verdict %d, tasks %+v; want verdict %d and one task", o.verdict, got, tt.last)
			}
			want := Task{
				ID: "t", Source: "dlq", Incarnation: 1, Destination: "q", Rate: 5, Started: 7, ToMove: 9,
				Status: tt.status, Moved: tt.moved, Owner: tt.owner, Version: got[0].Version,
			}
			if diff := cmp.Diff(want, got[0]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTaskLimits(t *testing.T) {
	s := taskState()
	offset := int64(10)
	apply := func(r record) verdict {
		offset++
		o, _ := s.apply(offset, &r)
		return o.verdict
	}
	for i := range maxTasks + 5 {
		id := fmt.Sprint("t", i)
		if v := apply(record{Op: opTask, Name: "dlq", Incarnation: 1, Task: &taskRecord{ID: id, Owner: "a"}}); v != applied {
			t.Fatalf("task %d: verdict %d", i, v)
		}
		apply(record{Op: opProgress, Name: "dlq", Incarnation: 1, Task: &taskRecord{ID: id, Owner: "a", Status: TaskCompleted}})
	}
	if got := s.tasks["dlq"]; len(got) != maxTasks || got[0].ID != "t14" || got[maxTasks-1].ID != "t5" {
		t.Errorf("kept %d tasks: %+v", len(got), got)
	}
	for i := range maxActiveTasks + 1 {
		name := fmt.Sprint("q", i)
		apply(record{Op: opCreate, Name: name, Incarnation: 1})
		want := applied
		if i == maxActiveTasks {
			want = busy
		}
		if v := apply(record{Op: opTask, Name: name, Incarnation: 1, Task: &taskRecord{ID: "t", Owner: "a"}}); v != want {
			t.Fatalf("active task %d: verdict %d", i, v)
		}
	}
	// A queue takes its tasks along.
	apply(record{Op: opDelete, Name: "q0", Incarnation: 1})
	apply(record{Op: opForget, Name: "q1", Incarnation: 1})
	if s.tasks["q0"] != nil || s.tasks["q1"] != nil || s.activeTasks() != maxActiveTasks-2 {
		t.Errorf("%d active tasks after two queues went", s.activeTasks())
	}
}
