package catalog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testNames() names {
	return names{root: "/local/queues", state: "/local/sqsgate", consumer: "ydb-sqs-consumer"}
}

func TestState(t *testing.T) {
	create := func(name string, incarnation uint64) record {
		return record{Op: opCreate, Name: name, Incarnation: incarnation, Time: 100, Set: map[string]string{"VisibilityTimeout": "5"}, Tags: map[string]string{"k": "v"}}
	}
	about := func(o op, name string, incarnation uint64) record {
		return record{Op: o, Name: name, Incarnation: incarnation}
	}
	tests := []struct {
		name     string
		log      []record
		verdicts []verdict
		queues   []string // name/incarnation
		deleting []string
	}{
		{"the first of two creates wins", []record{create("a", 1), create("a", 2)}, []verdict{applied, exists}, []string{"a/1"}, nil},
		{"the default consumer may be named", []record{create("a@ydb-sqs-consumer", 1), create("a", 2)}, []verdict{applied, exists}, []string{"a/1"}, nil},
		{"another consumer is another queue", []record{create("a", 1), create("a@c", 2)}, []verdict{applied, applied}, []string{"a/1", "a@c/2"}, nil},
		{"a delete leaves the name taken", []record{create("a", 1), about(opDelete, "a", 1), create("a", 2)}, []verdict{applied, applied, busy}, nil, []string{"a/1"}},
		{"until the topic is dropped", []record{create("a", 1), about(opDelete, "a", 1), about(opDeleted, "a", 1), create("a", 2)}, []verdict{applied, applied, applied, applied}, []string{"a/2"}, nil},
		{"the second of two deletes finds nothing", []record{create("a", 1), about(opDelete, "a", 1), about(opDelete, "a", 1)}, []verdict{applied, applied, absent}, nil, []string{"a/1"}},
		{"a late delete spares the new queue", []record{create("a", 1), about(opForget, "a", 1), create("a", 2), about(opDelete, "a", 1)}, []verdict{applied, applied, applied, absent}, []string{"a/2"}, nil},
		{"a late end of a delete spares a newer one", []record{create("a", 1), about(opDelete, "a", 1), about(opDeleted, "a", 9)}, []verdict{applied, applied, absent}, nil, []string{"a/1"}},
		{"set of no queue", []record{about(opSet, "a", 1)}, []verdict{absent}, nil, nil},
		{"forget frees the name at once", []record{create("a", 1), about(opForget, "a", 1), create("a", 3)}, []verdict{applied, applied, applied}, []string{"a/3"}, nil},
		{"a name that cannot be one", []record{create("../a", 1), create("a//b", 1), create("a@", 1)}, []verdict{absent, absent, absent}, nil, nil},
		{"a snapshot in its place", []record{create("a", 1), {Op: opSnapshot, Upto: 1, Queues: []storedQueue{{Name: "b", Incarnation: 7}}, Deleting: []storedQueue{{Name: "d", Incarnation: 8}}}}, []verdict{applied, applied}, []string{"b/7"}, []string{"d/8"}},
		{"a snapshot that came too late", []record{create("a", 1), {Op: opSnapshot, Upto: 0}}, []verdict{applied, outdated}, []string{"a/1"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(testNames())
			var verdicts []verdict
			for i := range tt.log {
				o, _ := s.apply(int64(i), &tt.log[i])
				verdicts = append(verdicts, o.verdict)
			}
			if diff := cmp.Diff(tt.verdicts, verdicts); diff != "" {
				t.Errorf("verdicts:\n%s", diff)
			}
			var queues, deleting []string
			for _, name := range s.sorted {
				queues = append(queues, fmt.Sprintf("%s/%d", name, s.queues[name].Incarnation))
			}
			for name, e := range s.deleting {
				deleting = append(deleting, fmt.Sprintf("%s/%d", name, e.Incarnation))
			}
			if diff := cmp.Diff(tt.queues, queues); diff != "" {
				t.Errorf("queues:\n%s", diff)
			}
			if diff := cmp.Diff(tt.deleting, deleting); diff != "" {
				t.Errorf("deleting:\n%s", diff)
			}
		})
	}
}

func TestStateFields(t *testing.T) {
	s := newState(testNames())
	apply := func(offset int64, r record) outcome {
		t.Helper()
		o, changes := s.apply(offset, &r)
		if o.verdict != applied || len(changes) != 1 || changes[0].deleted {
			t.Fatalf("%s: verdict %d, changes %v", r.Op, o.verdict, changes)
		}
		return o
	}
	made := apply(0, record{Op: opCreate, Name: "dir/a.fifo@c", Incarnation: 5, Time: 100, FIFO: true, Set: map[string]string{"DelaySeconds": "1", "VisibilityTimeout": "2"}})
	want := Queue{
		Name: "dir/a.fifo@c", Topic: "/local/queues/dir/a.fifo", Consumer: "c", FIFO: true, Incarnation: 5, Created: 100, Modified: 100,
		DeduplicationScope: "queue",
		Attributes:         map[string]string{"DelaySeconds": "1", "VisibilityTimeout": "2"},
	}
	if diff := cmp.Diff(want, made.entry.Queue); diff != "" {
		t.Error(diff)
	}
	bound := apply(1, record{Op: opBind, Name: "dir/a.fifo@c", Incarnation: 5, TopicCreated: "1/2"})
	if !bound.entry.bound || bound.entry.TopicCreated != "1/2" {
		t.Errorf("bind: %+v", bound.entry)
	}
	want.TopicCreated = "1/2"
	second := record{Op: opBind, Name: "dir/a.fifo@c", Incarnation: 5, TopicCreated: "3/4"}
	if o, changes := s.apply(2, &second); o.entry.TopicCreated != "1/2" || changes != nil {
		t.Error("a second bind changes the topic")
	}
	set := apply(3, record{Op: opSet, Name: "dir/a.fifo@c", Incarnation: 5, Time: 90, Set: map[string]string{"DelaySeconds": "9"}, Remove: []string{"VisibilityTimeout"}})
	want.Attributes = map[string]string{"DelaySeconds": "9"} // and Modified never goes back
	if diff := cmp.Diff(want, set.entry.Queue); diff != "" {
		t.Error(diff)
	}
	tagged := apply(4, record{Op: opTag, Name: "dir/a.fifo@c", Incarnation: 5, Set: map[string]string{"x": "y"}})
	want.Tags = map[string]string{"x": "y"}
	if diff := cmp.Diff(want, tagged.entry.Queue); diff != "" {
		t.Error(diff)
	}
	if made.entry.Attributes["VisibilityTimeout"] != "2" {
		t.Error("a map that was handed out has changed")
	}
}

// A FIFO queue deduplicates for ever as it was created to, whatever is set later,
// and also after a snapshot, one without the field included.
func TestDeduplicationScopeIsFixed(t *testing.T) {
	s := newState(testNames())
	for i, r := range []record{
		{Op: opCreate, Name: "group.fifo", Incarnation: 1, FIFO: true, Set: map[string]string{attrScope: "messageGroup"}},
		{Op: opSet, Name: "group.fifo", Incarnation: 1, Set: map[string]string{attrScope: "queue"}},
		{Op: opCreate, Name: "queue.fifo", Incarnation: 2, FIFO: true},
		{Op: opSet, Name: "queue.fifo", Incarnation: 2, Set: map[string]string{attrScope: "messageGroup"}},
		{Op: opCreate, Name: "standard", Incarnation: 3},
	} {
		s.apply(int64(i), &r)
	}
	snapshot := s.snapshot(5)
	snapshot.Queues = append(snapshot.Queues, storedQueue{
		Name: "older.fifo", Incarnation: 4, FIFO: true, Attributes: map[string]string{attrScope: "messageGroup"},
	})
	s.apply(5, &snapshot)
	for name, want := range map[string]string{
		"group.fifo": "messageGroup", "queue.fifo": "queue", "standard": "", "older.fifo": "messageGroup",
	} {
		if got := s.queues[name].DeduplicationScope; got != want {
			t.Errorf("%s: scope %q, want %q", name, got, want)
		}
	}
	if shown := s.queues["queue.fifo"].Attributes[attrScope]; shown != "messageGroup" {
		t.Errorf("the attribute shows %q", shown)
	}
}

func TestStateSelected(t *testing.T) {
	s := newState(testNames())
	for i, name := range []string{"b", "a", "d", "c"} {
		r := record{Op: opCreate, Name: name, Incarnation: uint64(i + 1), Set: map[string]string{"odd": name}}
		s.apply(int64(i), &r)
	}
	notC := func(q Queue) bool { return q.Attributes["odd"] != "c" }
	for _, tt := range []struct {
		after string
		most  int
		want  []string
	}{{"", 9, []string{"a", "b", "d"}}, {"a", 1, []string{"b"}}, {"bb", 9, []string{"d"}}, {"d", 9, nil}} {
		if got := s.selected(tt.after, tt.most, notC); !slices.Equal(got, tt.want) {
			t.Errorf("selected(%q, %d) = %v, want %v", tt.after, tt.most, got, tt.want)
		}
	}
}

// Whatever the log, a gateway that starts from a snapshot anywhere in it has the
// same state as one that read everything.
func TestSnapshotEqualsLog(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ops := []op{opCreate, opCreate, opCreate, opBind, opSet, opTag, opDelete, opDeleted, opForget, opTask, opTask, opProgress, opCancel}
	status := []TaskStatus{TaskRunning, TaskRunning, TaskCompleted, TaskCancelled, TaskFailed}
	for range 200 {
		whole, cut := newState(testNames()), (*state)(nil)
		for offset := range int64(60) {
			if offset == 30 {
				snapshot := whole.snapshot(offset)
				data, err := snapshot.encode()
				if err != nil {
					t.Fatal(err)
				}
				again, err := decodeRecord(data)
				if err != nil {
					t.Fatal(err)
				}
				cut = newState(testNames())
				cut.apply(offset, &again)
				if _, changes := whole.apply(offset, &again); len(changes) != 0 {
					t.Fatalf("a snapshot of the state changes it: %v", changes)
				}
				continue
			}
			r := record{
				Op: ops[rng.IntN(len(ops))], Name: string(rune('a' + rng.IntN(3))), Incarnation: 1 + rng.Uint64N(2), Time: offset,
				Set: map[string]string{string(rune('k' + rng.IntN(3))): "v"}, Remove: []string{string(rune('k' + rng.IntN(3)))}, TopicCreated: "1/1",
				Task: &taskRecord{ID: string(rune('t' + rng.IntN(2))), Status: status[rng.IntN(len(status))], Owner: string(rune('o' + rng.IntN(2))), Moved: offset},
			}
			a, _ := whole.apply(offset, &r)
			if cut == nil {
				continue
			}
			if b, _ := cut.apply(offset, &r); a.verdict != b.verdict {
				t.Fatalf("%s at %d: verdict %d and %d", r.Op, offset, a.verdict, b.verdict)
			}
		}
		same := cmp.AllowUnexported(entry{})
		if diff := cmp.Diff(whole.queues, cut.queues, same, emptyMaps()); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(whole.deleting, cut.deleting, same, emptyMaps()); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(whole.tasks, cut.tasks); diff != "" {
			t.Fatal(diff)
		}
		if !slices.Equal(whole.sorted, cut.sorted) {
			t.Fatalf("names %v and %v", whole.sorted, cut.sorted)
		}
	}
}

// emptyMaps takes a missing map for an empty one, as JSON does.
func emptyMaps() cmp.Option {
	return cmp.FilterValues(func(a, b map[string]string) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
}

func TestStateList(t *testing.T) {
	s := newState(testNames())
	for i, name := range []string{"b", "a2", "a1", "a10", "c", "a"} {
		r := record{Op: opCreate, Name: name, Incarnation: uint64(i + 1)}
		s.apply(int64(i), &r)
	}
	tests := []struct {
		prefix, after string
		most          int
		want          []string
	}{
		{"", "", 10, []string{"a", "a1", "a10", "a2", "b", "c"}},
		{"", "", 2, []string{"a", "a1"}},
		{"", "a1", 2, []string{"a10", "a2"}},
		{"a1", "", 10, []string{"a1", "a10"}},
		{"a1", "a1", 10, []string{"a10"}},
		{"", "a11", 1, []string{"a2"}}, // a page may end at a queue that is gone by now
		{"a", "b", 10, nil},
		{"z", "", 10, nil},
		{"", "", 0, nil},
	}
	for _, tt := range tests {
		if got := s.list(tt.prefix, tt.after, tt.most); !slices.Equal(got, tt.want) {
			t.Errorf("list(%q, %q, %d) = %v, want %v", tt.prefix, tt.after, tt.most, got, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	n := names{root: "/local", state: "/local/sqsgate", consumer: "def"}
	tests := []struct{ in, name, topic, consumer string }{
		{"orders", "orders", "/local/orders", "def"},
		{"orders@def", "orders", "/local/orders", "def"},
		{"orders@c", "orders@c", "/local/orders", "c"},
		{"dir/sub/a.fifo@c", "dir/sub/a.fifo@c", "/local/dir/sub/a.fifo", "c"},
		{"sqsgate2", "sqsgate2", "/local/sqsgate2", "def"},
	}
	for _, tt := range tests {
		name, topic, consumer, err := n.parse(tt.in)
		if err != nil || name != tt.name || topic != tt.topic || consumer != tt.consumer {
			t.Errorf("parse(%q) = %q, %q, %q, %v", tt.in, name, topic, consumer, err)
		}
	}
	for _, bad := range []string{"", "/a", "a/", "a//b", ".", "..", "a/../b", ".sys", "a b", "a@", "@c", "a@b/c", "sqsgate", "sqsgate/catalog", "a\x00", "é"} {
		if _, _, _, err := n.parse(bad); err == nil {
			t.Errorf("parse(%q) succeeded", bad)
		}
	}
}

// FuzzRecord: no record, however made, breaks the fold or its snapshot.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"v":1,"op":"create","name":"a","incarnation":"1","set":{"k":"v"}}`))
	f.Add([]byte(`{"v":1,"op":"snapshot","upto":1,"queues":[{"name":"a","incarnation":"1"},{"name":"a@ydb-sqs-consumer","incarnation":"2"}]}`))
	f.Add([]byte(`{"v":2,"op":"create"}`))
	f.Add([]byte(`{"v":1,"op":"task","name":"a","incarnation":"1","task":{"id":"t","owner":"o"}}`))
	f.Add([]byte(`{"v":1,"op":"snapshot","upto":1,"queues":[{"name":"a","incarnation":"1"}],"tasks":[{"id":"t","source":"a","incarnation":"1","status":"RUNNING"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRecord(data)
		if err != nil {
			return
		}
		s := newState(testNames())
		first := record{Op: opCreate, Name: "a", Incarnation: 1}
		s.apply(0, &first)
		s.apply(1, &r)
		if len(s.sorted) != len(s.queues) || !slices.IsSorted(s.sorted) {
			t.Fatalf("%d names, %d queues", len(s.sorted), len(s.queues))
		}
		for name, tasks := range s.tasks {
			if _, ok := s.queues[name]; !ok || len(tasks) == 0 || len(tasks) > maxTasks {
				t.Fatalf("%d tasks of %q", len(tasks), name)
			}
		}
		snapshot := s.snapshot(2)
		if o, changes := s.apply(2, &snapshot); o.verdict != applied || len(changes) != 0 {
			t.Fatalf("verdict %d, changes %v", o.verdict, changes)
		}
	})
}
