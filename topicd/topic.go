package topicd

import (
	"sync"
	"sync/atomic"

	"sqsgate/topicd/store"
)

// topic is one topic of the tree. A topic created again under the same path
// is another topic.
type topic struct {
	srv   *Server
	entry *entry
	id    uint64

	config atomic.Pointer[topicConfig] // replaced as a whole by AlterTopic and by splits
	gone   atomic.Bool                 // set by the committer when the drop is applied

	mu       sync.Mutex
	groups   map[string]*group    // by consumer
	sessions map[session]struct{} // read and write sessions
	choosing map[string]uint32    // partitions chosen for producers, not yet synced
}

// session is a stream that ends when its topic does.
type session interface {
	end(err error)
}

func newTopic(s *Server, e *entry, cfg *topicConfig) *topic {
	t := &topic{
		srv: s, entry: e, id: e.id,
		groups:   make(map[string]*group),
		sessions: make(map[session]struct{}),
		choosing: make(map[string]uint32),
	}
	t.setConfig(cfg)
	return t
}

// setConfig takes a new configuration and makes partitions that it adds. Who
// calls it holds the tree's gate, or acts for its holder.
func (t *topic) setConfig(cfg *topicConfig) {
	var old []*partition
	if c := t.config.Load(); c != nil {
		old = c.parts
	}
	cfg.parts, cfg.active = make([]*partition, len(cfg.Partitions)), 0
	copy(cfg.parts, old) // ids are dense and partitions are never removed
	for i := range cfg.Partitions {
		if cfg.parts[i] == nil {
			cfg.parts[i] = newPartition(t, &cfg.Partitions[i])
		}
		if cfg.Partitions[i].Active {
			cfg.active++
		}
	}
	t.config.Store(cfg)
}

func (t *topic) partitions() []*partition { return t.config.Load().parts }

// load restores what the store knows of the partitions.
func (t *topic) load() error {
	states, err := t.srv.store.States(t.id)
	if err != nil {
		return err
	}
	for _, p := range t.partitions() {
		p.restore(states[p.id])
	}
	return t.srv.store.Commits(t.id, func(part uint32, consumer string, offset int64) {
		if p := t.partition(int64(part)); p != nil {
			p.commits[consumer] = offset
		}
	})
}

// partition returns the partition with the id, or nil.
func (t *topic) partition(id int64) *partition {
	parts := t.partitions()
	// Ids are given densely from 0 and partitions are never removed.
	if id < 0 || id >= int64(len(parts)) {
		return nil
	}
	return parts[id]
}

// join registers a session; false when the topic is dropped already.
func (t *topic) join(s session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone.Load() {
		return false
	}
	t.sessions[s] = struct{}{}
	return true
}

func (t *topic) leave(s session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sessions, s)
}

// endSessions ends every session of the topic and returns how many.
func (t *topic) endSessions(err error) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := range t.sessions {
		s.end(err)
	}
	return len(t.sessions)
}

// group returns the consumer's group, making it when needed.
func (t *topic) group(consumer string) *group {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.groups[consumer]
	if g == nil {
		g = newGroup(t, consumer)
		t.groups[consumer] = g
	}
	return g
}

func (t *topic) allGroups() []*group {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]*group, 0, len(t.groups))
	for _, g := range t.groups {
		out = append(out, g)
	}
	return out
}

func (t *topic) errDropped() error {
	return schemeError("topic %q is dropped: one of topics is deleted", t.entry.path)
}

// dropOp removes the topic: after its Apply no write or commit gets through.
type dropOp struct {
	t    *topic
	done chan error
}

func (*dropOp) Size() int { return 0 }

func (o *dropOp) Apply(b *store.Batch) {
	o.t.gone.Store(true)
	b.DeleteEntry(o.t.entry.path)
	b.DropTopic(o.t.id)
}

func (o *dropOp) Done(err error) { o.done <- err }
