package lease

import "slices"

// A partition that came from a split goes on with the groups of those it came
// from, its elders, so their deduplication ids count here too. The ids stand in
// the elders' logs; which of them count only the elders know: a purge forgets
// them, and a message that was itself a duplicate was never the first of its id.
// That is inherited once, when the partition begins, and journaled, since the
// elders' journals end with them. A purge after that is told with Forget.

// Elder is what a partition inherits of one it came from.
type Elder struct {
	Partition int64
	// Purged: the ids of messages below are forgotten.
	Purged int64
	// Last is when its last message was written, ms; 0 = it has none.
	Last int64
	// Duplicates are its messages whose ids do not count, in offset order: at least
	// those of the deduplication window before Last.
	Duplicates []Duplicates
}

// Duplicates are the messages [From, To), all written at ms At.
type Duplicates struct{ From, To, At int64 }

// elders is what was inherited.
type elders struct {
	told bool
	list []elder // by partition, ascending: the oldest first
	// until: no message written from then on repeats one of an elder.
	until int64
}

type elder struct {
	partition int64
	purged    int64
	last      int64
	dups      duplicates
}

// forgotten is the mark of an elder whose ids are all forgotten.
const forgotten = maxOffset

func (s *elders) find(partition int64) *elder {
	i, ok := slices.BinarySearchFunc(s.list, partition, func(e elder, p int64) int { return int(e.partition - p) })
	if !ok {
		return nil
	}
	return &s.list[i]
}

// tell notes the mark of an elder, which never falls.
func (s *elders) tell(partition, purged, last, window int64) {
	s.told = true
	e := s.find(partition)
	if e == nil {
		s.list = append(s.list, elder{partition: partition})
		slices.SortFunc(s.list, func(a, b elder) int { return int(a.partition - b.partition) })
		e = s.find(partition)
	}
	e.purged, e.last = max(e.purged, purged), max(e.last, last)
	s.until = max(s.until, e.last+window)
}

// counts tells whether the id of an elder's message counts.
func (s *elders) counts(partition, offset int64) bool {
	e := s.find(partition)
	return e != nil && offset >= e.purged && !e.dups.has(offset)
}

// expire drops all that cannot matter to messages written from writeTime on.
func (s *elders) expire(writeTime int64) {
	if len(s.list) > 0 && writeTime >= s.until {
		s.list = nil
	}
}

// Inherited tells whether the machine was told of its elders. A partition that
// did not come from a split never is.
func (m *Machine) Inherited() bool { return m.elders.told }

// Elders tells of which partitions the ids can still matter. Of their
// duplicates it tells nothing.
func (m *Machine) Elders() []Elder {
	list := make([]Elder, len(m.elders.list))
	for i, e := range m.elders.list {
		list[i] = Elder{Partition: e.partition, Purged: e.purged, Last: e.last}
	}
	return list
}

// Estate is what the children of this partition inherit, once everything of it
// is loaded. The caller fills in its Last.
func (m *Machine) Estate(partition int64) []Elder {
	list := m.Elders()
	for i := range list {
		list[i].Duplicates = m.elders.list[i].dups.list()
	}
	return append(list, Elder{Partition: partition, Purged: m.purged, Duplicates: m.dups.list()})
}

func (d *duplicates) list() []Duplicates {
	var list []Duplicates
	for _, r := range d.runs[d.head:] {
		list = append(list, Duplicates{From: r.from, To: r.to, At: r.at})
	}
	return list
}

// SeenElder feeds the deduplication id of an elder's message, in the order of
// partitions and offsets, before Seen and Load. After a restart the shell gives it
// the window before the first message to load. It tells whether the id counts.
func (m *Machine) SeenElder(partition int64, h Hash, writeTime, offset int64) bool {
	if h == (Hash{}) || !m.elders.counts(partition, offset) {
		return false
	}
	if !m.seen.Add(h, writeTime, partition+1, offset) {
		m.unchecked++
	}
	return true
}

// inherit takes what the elders say.
func (m *Machine) inherit(list []Elder) {
	for _, e := range list {
		m.tellElder(e.Partition, e.Purged, e.Last)
		for _, d := range e.Duplicates {
			m.emit(Op{Kind: OpElderDuplicate, Target: uint64(e.Partition), Offset: d.From, Count: d.To - d.From, Time: writeTime(d.At)})
			m.elders.find(e.Partition).dups.add(d.From, d.To, writeTime(d.At))
		}
	}
}

func (m *Machine) tellElder(partition, purged, last int64) {
	last = writeTime(last)
	m.emit(Op{Kind: OpInherit, Target: uint64(partition), Offset: purged, Time: last})
	m.elders.tell(partition, purged, last, m.cfg.DeduplicationWindow)
}

// forgetElder notes that an elder was purged.
func (m *Machine) forgetElder(partition, upto int64) {
	if e := m.elders.find(partition); e != nil && e.purged < upto {
		m.tellElder(partition, upto, e.last)
	}
}

// forgetElders: this partition is purged, and all that its elders had came before.
func (m *Machine) forgetElders() {
	for i := range m.elders.list {
		m.forgetElder(m.elders.list[i].partition, forgotten)
	}
}

// idCounts tells whether an entry of the index makes a later message a duplicate.
func (m *Machine) idCounts(partition, offset int64) bool {
	if partition == 0 {
		return offset >= m.purged
	}
	return m.elders.counts(partition-1, offset)
}
