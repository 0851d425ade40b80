package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

const (
	// maxTasks is how many tasks of one queue are remembered, the active one
	// included: as many as ListMessageMoveTasks can show.
	maxTasks = 10
	// maxActiveTasks bounds the active tasks of all queues.
	maxActiveTasks = 100
)

var (
	// ErrTaskActive says that the queue has an active move task already.
	ErrTaskActive = errors.New("a move task is active")
	// ErrTooManyTasks says that as many move tasks are active as there can be.
	ErrTooManyTasks = errors.New("too many move tasks are active")
)

// TaskStatus is the state of a move task, by the names SQS has for them.
type TaskStatus string

// The states of a task. The first two are active, the others final.
const (
	TaskRunning    TaskStatus = "RUNNING"
	TaskCancelling TaskStatus = "CANCELLING"
	TaskCompleted  TaskStatus = "COMPLETED"
	TaskCancelled  TaskStatus = "CANCELLED"
	TaskFailed     TaskStatus = "FAILED"
)

// Active tells whether the task still moves messages.
func (s TaskStatus) Active() bool { return s == TaskRunning || s == TaskCancelling }

func (s TaskStatus) known() bool {
	switch s {
	case TaskRunning, TaskCancelling, TaskCompleted, TaskCancelled, TaskFailed:
		return true
	}
	return false
}

// Task moves the messages of a dead-letter queue, its source, to another queue or
// back to where they came from.
type Task struct {
	ID string `json:"id"`
	// Source is the queue whose messages move, Incarnation which one of its name.
	Source      string `json:"source"`
	Incarnation uint64 `json:"incarnation,string"`
	// Destination is a queue; "" = each message's own source.
	Destination string `json:"destination,omitempty"`
	// Rate is in messages a second; 0 = unlimited.
	Rate    int        `json:"rate,omitempty"`
	Started int64      `json:"started"` // epoch milliseconds
	Status  TaskStatus `json:"status"`
	Moved   int64      `json:"moved,omitempty"`
	ToMove  int64      `json:"to_move,omitempty"` // as of the start
	Reason  string     `json:"reason,omitempty"`  // of a failure
	// Owner is who moves the messages; Version, the offset of the task's last
	// record, grows as long as the owner lives.
	Owner   string `json:"owner,omitempty"`
	Version int64  `json:"version"`
}

// Progress is what the owner of a task reports.
type Progress struct {
	Status TaskStatus
	Moved  int64
	Reason string
	Owner  string
	// Was is the owner from whom Owner takes the task over; "" = Owner has it.
	Was string
}

// taskRecord is what a record says of a task.
type taskRecord struct {
	ID          string     `json:"id"`
	Destination string     `json:"destination,omitempty"`
	Rate        int        `json:"rate,omitempty"`
	Started     int64      `json:"started,omitempty"`
	ToMove      int64      `json:"to_move,omitempty"`
	Status      TaskStatus `json:"status,omitempty"`
	Moved       int64      `json:"moved,omitempty"`
	Reason      string     `json:"reason,omitempty"`
	Owner       string     `json:"owner,omitempty"`
	Was         string     `json:"was,omitempty"`
}

// task folds a record about a task of the queue e.
func (s *state) task(offset int64, r *record, e entry) outcome {
	tasks := s.tasks[r.Name]
	if r.Op == opTask {
		switch {
		case len(tasks) > 0 && tasks[0].Status.Active():
			return outcome{verdict: exists, task: tasks[0]}
		case s.activeTasks() >= maxActiveTasks:
			return outcome{verdict: busy}
		}
		t := Task{
			ID: r.Task.ID, Source: r.Name, Incarnation: e.Incarnation, Destination: r.Task.Destination, Rate: r.Task.Rate,
			Started: r.Task.Started, Status: TaskRunning, ToMove: r.Task.ToMove, Owner: r.Task.Owner, Version: offset,
		}
		s.tasks[r.Name] = append([]Task{t}, tasks[:min(len(tasks), maxTasks-1)]...)
		return outcome{verdict: applied, task: t}
	}
	at := slices.IndexFunc(tasks, func(t Task) bool { return t.ID == r.Task.ID })
	if at < 0 || !tasks[at].Status.Active() {
		return outcome{verdict: absent}
	}
	t := tasks[at]
	if r.Op == opCancel {
		if t.Status != TaskRunning {
			return outcome{verdict: absent}
		}
		t.Status = TaskCancelling
	} else {
		if from := r.Task.Was; t.Owner != r.Task.Owner && (from == "" || t.Owner != from) {
			return outcome{verdict: outdated}
		}
		t.Owner, t.Moved, t.Reason = r.Task.Owner, max(t.Moved, r.Task.Moved), r.Task.Reason
		// A report that crossed with a cancellation does not undo it.
		if r.Task.Status != TaskRunning {
			t.Status = r.Task.Status
		}
	}
	t.Version = offset
	tasks = slices.Clone(tasks) // the old list may have been handed out
	tasks[at] = t
	s.tasks[r.Name] = tasks
	return outcome{verdict: applied, task: t}
}

func (s *state) activeTasks() (n int) {
	for _, tasks := range s.tasks {
		if tasks[0].Status.Active() {
			n++
		}
	}
	return n
}

// restoreTasks takes the tasks of a snapshot; those of queues that are not there
// are left out.
func (s *state) restoreTasks(tasks []Task) {
	s.tasks = map[string][]Task{}
	for _, t := range tasks {
		if e, ok := s.queues[t.Source]; ok && e.Incarnation == t.Incarnation && len(s.tasks[t.Source]) < maxTasks {
			s.tasks[t.Source] = append(s.tasks[t.Source], t)
		}
	}
}

// storedTasks are the tasks in the order of a snapshot.
func (s *state) storedTasks() (all []Task) {
	for _, name := range slices.Sorted(maps.Keys(s.tasks)) {
		all = append(all, s.tasks[name]...)
	}
	return all
}

// StartTask makes a RUNNING task of the queue t.Source, with t's ID, Destination,
// Rate, Started, ToMove and Owner. Errors: as of Get; ErrTaskActive and
// ErrTooManyTasks.
func (c *Catalog) StartTask(ctx context.Context, t Task) (Task, error) {
	e, err := c.get(ctx, t.Source)
	if err != nil {
		return Task{}, err
	}
	return c.writeTask(ctx, record{Op: opTask, Name: e.Name, Incarnation: e.Incarnation, Task: &taskRecord{
		ID: t.ID, Destination: t.Destination, Rate: t.Rate, Started: t.Started, ToMove: t.ToMove, Owner: t.Owner,
	}})
}

// ReportTask records what the owner of an active task has done. ErrNotFound: the
// task is over, or is not that owner's.
func (c *Catalog) ReportTask(ctx context.Context, t Task, p Progress) (Task, error) {
	return c.writeTask(ctx, record{Op: opProgress, Name: t.Source, Incarnation: t.Incarnation, Task: &taskRecord{
		ID: t.ID, Status: p.Status, Moved: p.Moved, Reason: p.Reason, Owner: p.Owner, Was: p.Was,
	}})
}

// CancelTask asks the owner of a RUNNING task to end it. ErrNotFound: there is no
// such task, or it is not running.
func (c *Catalog) CancelTask(ctx context.Context, source, id string) (Task, error) {
	e, err := c.get(ctx, source)
	if err != nil {
		return Task{}, err
	}
	return c.writeTask(ctx, record{Op: opCancel, Name: e.Name, Incarnation: e.Incarnation, Task: &taskRecord{ID: id}})
}

func (c *Catalog) writeTask(ctx context.Context, r record) (Task, error) {
	o, err := c.write(ctx, r)
	if err == nil {
		switch o.verdict {
		case applied:
			return o.task, nil
		case exists:
			err = ErrTaskActive
		case busy:
			err = ErrTooManyTasks
		case absent, outdated:
			err = ErrNotFound
		}
	}
	return Task{}, fmt.Errorf("writing a move task of queue %s: %w", r.Name, err)
}

// Tasks are the newest tasks of a queue, newest first. The list is shared: never
// change it.
func (c *Catalog) Tasks(source string) []Task {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.state.tasks[source]
}

// ActiveTasks are the active tasks of all queues, by name.
func (c *Catalog) ActiveTasks() (active []Task) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(c.state.tasks)) {
		if t := c.state.tasks[name][0]; t.Status.Active() {
			active = append(active, t)
		}
	}
	return active
}
