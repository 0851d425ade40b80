package catalog

import (
	"maps"
	"slices"
	"sort"
	"strings"
)

// state is the fold of the log. It is pure: the same records at the same offsets
// give the same state in every gateway.
type state struct {
	names  names
	queues map[string]entry
	sorted []string // keys of queues
	// deleting holds queues whose delete record has been read and whose topic may
	// still be there. Until that is over the name cannot be used again.
	deleting map[string]entry
	// tasks holds the move tasks of a queue by its name, newest first, never none.
	tasks map[string][]Task
}

// entry is a queue and what is known of its topic.
type entry struct {
	Queue
	bound bool // the topic has been seen to exist
}

// verdict says what a record came to.
type verdict uint8

const (
	applied  verdict = iota + 1 // it took effect
	exists                      // create: another record has made the queue before; task: one is active
	absent                      // there is no such queue, or another incarnation; no such task
	busy                        // create: the former queue of this name is being deleted; task: too many
	outdated                    // snapshot: other records came between; progress: it has another owner
)

// outcome is the answer to the gateway that wrote the record.
type outcome struct {
	verdict verdict
	entry   entry // the queue after the record; of a delete, before it
	task    Task  // after the record
}

// change is one queue that came, changed or went.
type change struct {
	queue   Queue
	deleted bool
}

func newState(n names) *state {
	return &state{names: n, queues: map[string]entry{}, deleting: map[string]entry{}, tasks: map[string][]Task{}}
}

// apply folds the record at offset. Records are applied in log order, each once.
func (s *state) apply(offset int64, r *record) (outcome, []change) {
	if r.Op == opSnapshot {
		return s.restore(offset, r)
	}
	name, _, _, err := s.names.parse(r.Name)
	if err != nil {
		return outcome{verdict: absent}, nil
	}
	if name != r.Name { // written where another consumer is the default
		canonical := *r
		canonical.Name, r = name, &canonical
	}
	switch r.Op {
	case opCreate:
		return s.create(r)
	case opDeleted:
		if e, ok := s.deleting[r.Name]; ok && e.Incarnation == r.Incarnation {
			delete(s.deleting, r.Name)
			return outcome{verdict: applied, entry: e}, nil
		}
		return outcome{verdict: absent}, nil
	case opBind, opSet, opTag, opDelete, opForget, opTask, opProgress, opCancel, opSnapshot:
	}
	e, ok := s.queues[r.Name]
	if !ok || e.Incarnation != r.Incarnation {
		return outcome{verdict: absent}, nil
	}
	switch r.Op {
	case opBind:
		if e.bound {
			return outcome{verdict: applied, entry: e}, nil
		}
		e.bound, e.TopicCreated = true, r.TopicCreated
	case opSet:
		e.Attributes = merged(e.Attributes, r.Set, r.Remove)
		e.Modified = max(e.Modified, r.Time)
	case opTag:
		e.Tags = merged(e.Tags, r.Set, r.Remove)
	case opDelete:
		s.deleting[r.Name] = e
		s.remove(r.Name)
		return outcome{verdict: applied, entry: e}, []change{{queue: e.Queue, deleted: true}}
	case opForget:
		s.remove(r.Name)
		return outcome{verdict: applied, entry: e}, []change{{queue: e.Queue, deleted: true}}
	case opTask, opProgress, opCancel:
		return s.task(offset, r, e), nil
	case opCreate, opDeleted, opSnapshot: // answered above
	}
	s.queues[r.Name] = e
	return outcome{verdict: applied, entry: e}, []change{{queue: e.Queue}}
}

func (s *state) create(r *record) (outcome, []change) {
	if e, ok := s.queues[r.Name]; ok {
		return outcome{verdict: exists, entry: e}, nil
	}
	if e, ok := s.deleting[r.Name]; ok {
		return outcome{verdict: busy, entry: e}, nil
	}
	e, err := s.entry(&storedQueue{
		Name: r.Name, Incarnation: r.Incarnation, FIFO: r.FIFO, Created: r.Time, Modified: r.Time,
		TopicCreated: r.TopicCreated, Bound: r.Bound, Attributes: r.Set, Tags: r.Tags,
	})
	if err != nil {
		return outcome{verdict: absent}, nil
	}
	s.queues[r.Name] = e
	at, _ := slices.BinarySearch(s.sorted, r.Name)
	s.sorted = slices.Insert(s.sorted, at, r.Name)
	return outcome{verdict: applied, entry: e}, []change{{queue: e.Queue}}
}

func (s *state) remove(name string) {
	delete(s.queues, name)
	delete(s.tasks, name)
	if at, ok := slices.BinarySearch(s.sorted, name); ok {
		s.sorted = slices.Delete(s.sorted, at, at+1)
	}
}

// restore replaces the state by a snapshot. A snapshot says for which offset it
// was made; it counts only when it got exactly that one, so that no record can
// lie between what it contains and its own place.
func (s *state) restore(offset int64, r *record) (outcome, []change) {
	if r.Upto != offset {
		return outcome{verdict: outdated}, nil
	}
	old := s.queues
	s.queues = make(map[string]entry, len(r.Queues))
	s.deleting = make(map[string]entry, len(r.Deleting))
	s.sorted = make([]string, 0, len(r.Queues))
	var changes []change
	for i := range r.Queues {
		e, err := s.entry(&r.Queues[i])
		if err != nil {
			continue
		}
		s.queues[e.Name] = e
		s.sorted = append(s.sorted, e.Name)
		before, ok := old[e.Name]
		if !ok || before.Incarnation != e.Incarnation || !maps.Equal(before.Attributes, e.Attributes) || !maps.Equal(before.Tags, e.Tags) {
			changes = append(changes, change{queue: e.Queue})
		}
	}
	sort.Strings(s.sorted)
	s.sorted = slices.Compact(s.sorted)
	for i := range r.Deleting {
		if e, err := s.entry(&r.Deleting[i]); err == nil {
			s.deleting[e.Name] = e
		}
	}
	s.restoreTasks(r.Tasks)
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, ok := s.queues[name]; !ok {
			changes = append(changes, change{queue: old[name].Queue, deleted: true})
		}
	}
	return outcome{verdict: applied}, changes
}

// snapshot returns the record that makes this state again at offset upto.
func (s *state) snapshot(upto int64) record {
	r := record{Op: opSnapshot, Upto: upto, Queues: make([]storedQueue, 0, len(s.sorted)), Tasks: s.storedTasks()}
	for _, name := range s.sorted {
		r.Queues = append(r.Queues, stored(s.queues[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(s.deleting)) {
		r.Deleting = append(r.Deleting, stored(s.deleting[name]))
	}
	return r
}

// list returns up to most names with the prefix behind after, in order.
func (s *state) list(prefix, after string, most int) []string {
	from := max(prefix, after)
	at, found := slices.BinarySearch(s.sorted, from)
	if found && from == after {
		at++
	}
	var list []string
	for ; at < len(s.sorted) && len(list) < most; at++ {
		if !strings.HasPrefix(s.sorted[at], prefix) {
			break
		}
		list = append(list, s.sorted[at])
	}
	return list
}

// selected returns up to most names behind after that keep accepts, in order.
func (s *state) selected(after string, most int, keep func(Queue) bool) []string {
	at, found := slices.BinarySearch(s.sorted, after)
	if found {
		at++
	}
	var names []string
	for ; at < len(s.sorted) && len(names) < most; at++ {
		if name := s.sorted[at]; keep(s.queues[name].Queue) {
			names = append(names, name)
		}
	}
	return names
}

func (s *state) entry(q *storedQueue) (entry, error) {
	name, topic, consumer, err := s.names.parse(q.Name)
	if err != nil {
		return entry{}, err
	}
	scope := q.Scope
	if q.FIFO && scope == "" { // a new queue, or a snapshot of before there was this field
		if scope = q.Attributes[attrScope]; scope == "" {
			scope = "queue"
		}
	}
	return entry{
		Queue: Queue{
			Name: name, Topic: topic, Consumer: consumer, FIFO: q.FIFO, Incarnation: q.Incarnation,
			DeduplicationScope: scope,
			Created:            q.Created, Modified: q.Modified, Attributes: q.Attributes, Tags: q.Tags,
			TopicCreated: q.TopicCreated,
		},
		bound: q.Bound,
	}, nil
}

func stored(e entry) storedQueue {
	return storedQueue{
		Name: e.Name, Incarnation: e.Incarnation, FIFO: e.FIFO, Scope: e.DeduplicationScope, Created: e.Created, Modified: e.Modified,
		TopicCreated: e.TopicCreated, Bound: e.bound, Attributes: e.Attributes, Tags: e.Tags,
	}
}

// merged returns a new map; maps that were handed out never change.
func merged(old, set map[string]string, remove []string) map[string]string {
	m := make(map[string]string, len(old)+len(set))
	maps.Copy(m, old)
	for _, key := range remove {
		delete(m, key)
	}
	maps.Copy(m, set)
	return m
}
