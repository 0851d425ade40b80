package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
)

// formatVersion is the version of the records this code writes. FORMAT.md
// describes them.
const formatVersion = 1

// op is the kind of a record.
type op string

const (
	opCreate   op = "create"   // a queue comes into being
	opBind     op = "bind"     // its topic exists
	opSet      op = "set"      // attributes change
	opTag      op = "tag"      // tags change
	opDelete   op = "delete"   // the queue is gone, its topic is to follow
	opDeleted  op = "deleted"  // the topic has followed
	opForget   op = "forget"   // the topic was taken away by others
	opTask     op = "task"     // a move task starts
	opProgress op = "progress" // its owner reports
	opCancel   op = "cancel"   // it is to end
	opSnapshot op = "snapshot" // the whole state
)

// record is one entry of the log. Every record but a snapshot is about the queue
// Name in the incarnation it names.
type record struct {
	Version     int    `json:"v"`
	Op          op     `json:"op"`
	Name        string `json:"name,omitempty"`
	Incarnation uint64 `json:"incarnation,omitempty,string"`
	// Time of the change, epoch seconds: create and set.
	Time int64 `json:"time,omitempty"`
	FIFO bool  `json:"fifo,omitempty"`
	// TopicCreated tells which topic the queue has, see topicid.Of: bind, and
	// create for a topic that is there already.
	TopicCreated string `json:"topic_created,omitempty"`
	Bound        bool   `json:"bound,omitempty"`
	// Set and Remove: attributes of create and set, tags of tag.
	Set    map[string]string `json:"set,omitempty"`
	Remove []string          `json:"remove,omitempty"`
	// Tags of create.
	Tags map[string]string `json:"tags,omitempty"`

	// Task of task, progress and cancel.
	Task *taskRecord `json:"task,omitempty"`

	// Upto, Queues, Deleting and Tasks make a snapshot.
	Upto     int64         `json:"upto,omitempty"`
	Queues   []storedQueue `json:"queues,omitempty"`
	Deleting []storedQueue `json:"deleting,omitempty"`
	Tasks    []Task        `json:"tasks,omitempty"`
}

// storedQueue is a queue in a snapshot.
type storedQueue struct {
	Name         string            `json:"name"`
	Incarnation  uint64            `json:"incarnation,string"`
	FIFO         bool              `json:"fifo,omitempty"`
	Scope        string            `json:"scope,omitempty"` // DeduplicationScope at creation
	Created      int64             `json:"created,omitempty"`
	Modified     int64             `json:"modified,omitempty"`
	TopicCreated string            `json:"topic_created,omitempty"`
	Bound        bool              `json:"bound,omitempty"`
	Attributes   map[string]string `json:"attributes,omitempty"`
	Tags         map[string]string `json:"tags,omitempty"`
}

var errUnknownRecord = errors.New("record is of an unknown kind or version")

func (r *record) encode() ([]byte, error) {
	r.Version = formatVersion
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding a %s record: %w", r.Op, err)
	}
	return b, nil
}

func decodeRecord(b []byte) (record, error) {
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return record{}, fmt.Errorf("decoding a record: %w", err)
	}
	if r.Version != formatVersion {
		return record{}, fmt.Errorf("%w: version %d", errUnknownRecord, r.Version)
	}
	switch r.Op {
	case opSnapshot:
	case opCreate, opBind, opSet, opTag, opDelete, opDeleted, opForget:
		if r.Name == "" || r.Incarnation == 0 {
			return record{}, fmt.Errorf("%w: %s of no queue", errUnknownRecord, r.Op)
		}
	case opTask, opProgress, opCancel:
		if r.Name == "" || r.Incarnation == 0 || r.Task == nil || r.Task.ID == "" {
			return record{}, fmt.Errorf("%w: %s of no task", errUnknownRecord, r.Op)
		}
		if r.Op == opProgress && !r.Task.Status.known() {
			return record{}, fmt.Errorf("%w: task status %q", errUnknownRecord, r.Task.Status)
		}
	default:
		return record{}, fmt.Errorf("%w: %q", errUnknownRecord, r.Op)
	}
	return r, nil
}
