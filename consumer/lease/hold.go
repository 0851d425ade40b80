package lease

import (
	"bytes"
	"cmp"
	"slices"
)

// After a split the messages of a group go on in a child partition, and must
// wait there until the parent has none of the group left. The child's shell
// tells the machine which groups the parent still has; the parent's machine
// tells when it has no more of one. None of this is journaled: the shells ask
// again after a restart.

// holds are the groups that wait for a parent partition.
type holds struct {
	all bool
	of  map[Hash]struct{} // while not all are held
}

func (s *holds) has(h Hash) bool {
	_, ok := s.of[h]
	return ok || s.all
}

// hold replaces what is held.
func (m *Machine) hold(all bool, groups []Hash) {
	if !m.cfg.FIFO {
		return
	}
	s := &m.groups
	s.holds = holds{all: all, of: make(map[Hash]struct{}, len(groups))}
	for _, h := range groups {
		s.holds.of[h] = struct{}{}
	}
	var changed []uint32
	for g := range s.all {
		if x := &s.all[g]; x.head != 0 || x.moves > 0 {
			x.held = s.holds.has(x.hash)
			changed = append(changed, uint32(g))
		}
	}
	m.settleAll(changed)
}

// free ends the wait of some groups. While all are held it has no effect.
func (m *Machine) free(groups []Hash) {
	s := &m.groups
	if s.holds.all {
		return
	}
	var changed []uint32
	for _, h := range groups {
		delete(s.holds.of, h)
		if g := s.byHash[h]; g != 0 && s.all[g].held {
			s.all[g].held = false
			changed = append(changed, g)
		}
	}
	m.settleAll(changed)
}

// settleAll settles groups that have messages or moves, the one with the oldest
// message first.
func (m *Machine) settleAll(groups []uint32) {
	first := func(g uint32) int64 {
		if ref := m.groups.all[g].head; ref != 0 {
			return m.window.offset(ref)
		}
		return -1
	}
	slices.SortFunc(groups, func(a, b uint32) int { return cmp.Compare(first(a), first(b)) })
	for _, g := range groups {
		m.settle(g)
	}
}

// Groups appends to dst the groups that have messages which are not gone, those
// on the move to the dead-letter queue included, sorted. It knows of loaded
// messages only, so it is complete once the log is Ended.
func (m *Machine) Groups(dst []Hash) []Hash {
	start := len(dst)
	for g := range m.groups.all {
		if x := &m.groups.all[g]; x.head != 0 || x.moves > 0 {
			dst = append(dst, x.hash)
		}
	}
	slices.SortFunc(dst[start:], func(a, b Hash) int { return bytes.Compare(a[:], b[:]) })
	return dst
}

// Finished says that the log has ended and no message of it is left.
func (m *Machine) Finished() bool {
	return m.ended && m.window.live == 0 && len(m.ahead.states) == 0
}
