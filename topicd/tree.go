package topicd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"

	"sqsgate/topicd/store"
)

const owner = "root@builtin"

// entry is a directory or a topic of the scheme tree. It is immutable.
type entry struct {
	path      string
	id        uint64 // unique per creation, never used again
	createdMs int64
	topic     *topic // nil for a directory
}

// entryRecord is the stored form of an entry.
type entryRecord struct {
	Version   int          `json:"v"`
	ID        uint64       `json:"id"`
	CreatedMs int64        `json:"created_ms"`
	Topic     *topicConfig `json:"topic,omitempty"`
}

const entryVersion = 1

func (e *entry) encode(cfg *topicConfig) ([]byte, error) {
	data, err := json.Marshal(entryRecord{Version: entryVersion, ID: e.id, CreatedMs: e.createdMs, Topic: cfg})
	if err != nil {
		return nil, fmt.Errorf("encoding entry %s: %w", e.path, err)
	}
	return data, nil
}

// scheme is what Scheme and Describe calls tell of the entry. The pair in
// created_at tells a topic from one that had its name before.
func (e *entry) scheme() *Ydb_Scheme.Entry {
	kind := Ydb_Scheme.Entry_DIRECTORY
	if e.topic != nil {
		kind = Ydb_Scheme.Entry_TOPIC
	}
	return &Ydb_Scheme.Entry{
		Name: leafOf(e.path), Owner: owner, Type: kind,
		CreatedAt: &Ydb.VirtualTimestamp{PlanStep: uint64(e.createdMs), TxId: e.id},
	}
}

// tree holds the scheme entries below the database root. Changes are made one
// at a time by the holder of gate; mu guards the maps for a moment only.
type tree struct {
	root string
	gate chan struct{} // one token: the right to change the tree

	mu      sync.RWMutex
	entries map[string]*entry
	lastID  uint64
}

func newTree(root string) *tree {
	t := &tree{root: root, gate: make(chan struct{}, 1), entries: make(map[string]*entry)}
	t.gate <- struct{}{}
	return t
}

func (t *tree) lock(ctx context.Context) error {
	select {
	case <-t.gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *tree) unlock() { t.gate <- struct{}{} }

// nextEntry makes an entry with a fresh id; the caller holds the gate.
func (t *tree) nextEntry(path string) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastID++
	return &entry{path: path, id: t.lastID, createdMs: time.Now().UnixMilli()}
}

func (t *tree) put(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries[e.path] = e
}

func (t *tree) remove(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.entries, path)
}

// get returns the entry, or nil. The root of the database always exists.
func (t *tree) get(path string) *entry {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if e, ok := t.entries[path]; ok {
		return e
	}
	if path == t.root {
		return &entry{path: path, id: 1, createdMs: 1}
	}
	return nil
}

func (t *tree) topic(path string) (*topic, error) {
	e := t.get(path)
	if e == nil {
		return nil, schemeError("path %q does not exist or you do not have access to it", path)
	}
	if e.topic == nil {
		return nil, schemeError("path %q is not a topic", path)
	}
	return e.topic, nil
}

// directory checks that path is a directory that exists.
func (t *tree) directory(path string) error {
	switch e := t.get(path); {
	case e == nil:
		return schemeError("path %q does not exist", path)
	case e.topic != nil:
		return schemeError("path %q is not a directory", path)
	default:
		return nil
	}
}

// children returns the entries directly below path, sorted by name.
func (t *tree) children(path string) []*entry {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var out []*entry
	for p, e := range t.entries {
		if len(p) > len(path) && p[len(path)] == '/' && strings.HasPrefix(p, path) && strings.IndexByte(p[len(path)+1:], '/') < 0 {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *entry) int { return strings.Compare(a.path, b.path) })
	return out
}

func (t *tree) topics() []*topic {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var out []*topic
	for _, path := range slices.Sorted(maps.Keys(t.entries)) {
		if e := t.entries[path]; e.topic != nil {
			out = append(out, e.topic)
		}
	}
	return out
}

// load reads the tree and the state of every partition from the store.
func (s *Server) load() error {
	last, err := s.store.Counter()
	if err != nil {
		return fmt.Errorf("reading the entry counter: %w", err)
	}
	s.tree.lastID = max(last, 1) // the root has number 1
	err = s.store.Entries(func(path string, value []byte) error {
		var rec entryRecord
		if err := json.Unmarshal(value, &rec); err != nil {
			return fmt.Errorf("entry %s: %w", path, err)
		}
		if rec.Version != entryVersion {
			return fmt.Errorf("entry %s: %w: %d", path, store.ErrVersion, rec.Version)
		}
		e := &entry{path: path, id: rec.ID, createdMs: rec.CreatedMs}
		if rec.Topic != nil {
			e.topic = newTopic(s, e, rec.Topic)
			if err := e.topic.load(); err != nil {
				return err
			}
		}
		s.tree.put(e)
		s.tree.lastID = max(s.tree.lastID, e.id)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the scheme: %w", err)
	}
	return nil
}
