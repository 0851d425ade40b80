package partition

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// ErrMap says that a list of partitions makes no map: ids repeat, no partition
// is active, or the active ranges overlap or leave a gap.
var ErrMap = errors.New("inconsistent partitions")

// Info describes one partition of a topic as DescribeTopic shows it.
type Info struct {
	ID     int64
	Active bool
	// From is inclusive and To exclusive, both in byte order of MD5 keys. Empty
	// means unbounded.
	From, To []byte
	// Parents and Children are the partitions before and after a split.
	Parents, Children []int64
}

// Map is an immutable picture of a topic's partitions. It is safe for
// concurrent use.
type Map struct {
	infos  []Info // by id
	depths []int  // same index as infos
	active []int64

	// starts[i] is the first key of partition targets[i]; starts[0] is 0.
	starts  []position
	targets []int64
}

// NewMap builds the map of a topic. Topics with key ranges place a key in the
// active partition whose range holds it. Topics without ranges divide the key
// space evenly over the active partitions in the order of their ids. Errors
// wrap ErrMap. The infos are copied.
func NewMap(infos []Info) (*Map, error) {
	m := &Map{infos: make([]Info, 0, len(infos))}
	for _, i := range infos {
		i.From, i.To = bytes.Clone(i.From), bytes.Clone(i.To)
		i.Parents, i.Children = slices.Clone(i.Parents), slices.Clone(i.Children)
		m.infos = append(m.infos, i)
	}
	slices.SortFunc(m.infos, func(a, b Info) int {
		switch {
		case a.ID < b.ID:
			return -1
		case a.ID > b.ID:
			return 1
		}
		return 0
	})
	for k, i := range m.infos {
		if i.ID < 0 {
			return nil, fmt.Errorf("%w: negative id %d", ErrMap, i.ID)
		}
		if k > 0 && m.infos[k-1].ID == i.ID {
			return nil, fmt.Errorf("%w: id %d twice", ErrMap, i.ID)
		}
		if i.Active {
			m.active = append(m.active, i.ID)
		}
	}
	if len(m.active) == 0 {
		return nil, fmt.Errorf("%w: none of %d is active", ErrMap, len(m.infos))
	}
	if err := m.cut(); err != nil {
		return nil, err
	}
	if err := m.measure(); err != nil {
		return nil, err
	}
	return m, nil
}

// cut fills starts and targets.
func (m *Map) cut() error {
	active := make([]Info, 0, len(m.active))
	bounded := false
	for _, i := range m.infos {
		if i.Active {
			active = append(active, i)
			bounded = bounded || len(i.From) > 0 || len(i.To) > 0
		}
	}
	m.starts = make([]position, 0, len(active))
	m.targets = make([]int64, 0, len(active))
	if !bounded {
		slice := lastPosition().div(uint64(len(active)))
		for k, i := range active {
			m.starts = append(m.starts, slice.mul(uint64(k)))
			m.targets = append(m.targets, i.ID)
		}
		return nil
	}
	slices.SortStableFunc(active, func(a, b Info) int { return bytes.Compare(a.From, b.From) })
	for k, i := range active {
		start, ok := boundPosition(i.From)
		switch {
		case k == 0 && len(i.From) > 0:
			return fmt.Errorf("%w: no range below that of partition %d", ErrMap, i.ID)
		case k > 0 && len(active[k-1].To) == 0:
			return fmt.Errorf("%w: partitions %d and %d overlap", ErrMap, active[k-1].ID, i.ID)
		case k > 0 && !bytes.Equal(active[k-1].To, i.From):
			return fmt.Errorf("%w: partitions %d and %d overlap or leave a gap", ErrMap, active[k-1].ID, i.ID)
		case len(i.To) > 0 && bytes.Compare(i.From, i.To) >= 0:
			return fmt.Errorf("%w: partition %d has an empty range", ErrMap, i.ID)
		case k == len(active)-1 && len(i.To) > 0:
			return fmt.Errorf("%w: no range above that of partition %d", ErrMap, i.ID)
		}
		if !ok {
			continue // no 16-byte key is that large
		}
		m.starts = append(m.starts, start)
		m.targets = append(m.targets, i.ID)
	}
	return nil
}

// measure fills depths. Parents that are no longer listed count as one
// generation without parents.
func (m *Map) measure() error {
	const unknown, running = -1, -2
	m.depths = make([]int, len(m.infos))
	for k := range m.depths {
		m.depths[k] = unknown
	}
	var visit func(k int) error
	visit = func(k int) error {
		if m.depths[k] == running {
			return fmt.Errorf("%w: partition %d is its own ancestor", ErrMap, m.infos[k].ID)
		}
		if m.depths[k] != unknown {
			return nil
		}
		m.depths[k] = running
		depth := 0
		for _, parent := range m.infos[k].Parents {
			above := 0
			if j, ok := m.index(parent); ok {
				if err := visit(j); err != nil {
					return err
				}
				above = m.depths[j]
			}
			depth = max(depth, above+1)
		}
		m.depths[k] = depth
		return nil
	}
	for k := range m.infos {
		if err := visit(k); err != nil {
			return err
		}
	}
	return nil
}

func (m *Map) index(id int64) (int, bool) {
	k := sort.Search(len(m.infos), func(k int) bool { return m.infos[k].ID >= id })
	return k, k < len(m.infos) && m.infos[k].ID == id
}

// ForGroup returns the active partition of a message group. It is false only
// on the zero Map.
func (m *Map) ForGroup(group string) (int64, bool) { return m.ForHash(GroupHash(group)) }

// ForHash returns the active partition of a key.
func (m *Map) ForHash(h [16]byte) (int64, bool) { return m.at(positionOf(h)) }

func (m *Map) at(p position) (int64, bool) {
	k := sort.Search(len(m.starts), func(k int) bool { return p.less(m.starts[k]) })
	if k == 0 {
		return 0, false
	}
	return m.targets[k-1], true
}

// span returns the keys of an active partition.
func (m *Map) span(id int64) (span, bool) {
	for k, target := range m.targets {
		if target != id {
			continue
		}
		s := span{m.starts[k], lastPosition()}
		if k+1 < len(m.starts) {
			s.last = m.starts[k+1].sub(position{lo: 1})
		}
		return s, true
	}
	return span{}, false
}

// Active returns the ids of the active partitions in ascending order. The
// slice must not be changed.
func (m *Map) Active() []int64 { return m.active }

// All returns every partition by ascending id. The slice and what it holds must
// not be changed.
func (m *Map) All() []Info { return m.infos }

// Info returns one partition.
func (m *Map) Info(id int64) (Info, bool) {
	k, ok := m.index(id)
	if !ok {
		return Info{}, false
	}
	return m.infos[k], true
}

// Depth returns the number of generations above a partition: 0 for one that no
// split made, and for an unknown id. It never changes while the topic lives.
func (m *Map) Depth(id int64) int {
	k, ok := m.index(id)
	if !ok {
		return 0
	}
	return m.depths[k]
}
