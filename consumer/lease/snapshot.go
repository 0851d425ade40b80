package lease

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// snapshotVersion is the first byte of a snapshot. FORMAT.md draws the rest.
const snapshotVersion = 3

// withoutElders is the version before elders and letters came in.
const withoutElders = 2

// The classes of a state in a snapshot, its lowest two bits.
const (
	classLease = 0 // received; leased until its deadline or not at all
	classHeld  = 1
	classMove  = 2

	classBits  = 3
	classMask  = 3
	forcedFlag = 4
)

// state is one entry of a snapshot: the messages [offset, offset+count).
type state struct {
	offset   int64
	count    int64
	class    uint64
	forced   bool
	receives uint16
	first    int64
	last     int64
	at       int64 // deadline, 0 = given back; for a move its sequence
}

// Snapshot appends to dst what a later Restore needs: all that Step and Apply
// brought about and the log does not determine. It holds for the ops taken
// and not yet taken alike.
func (m *Machine) Snapshot(dst []byte) []byte {
	start := len(dst)
	base := m.CommitOffset()
	dst = append(dst, snapshotVersion)
	dst = binary.AppendUvarint(dst, uint64(base))
	dst = binary.AppendUvarint(dst, uint64(m.purged))
	dst = binary.AppendUvarint(dst, m.moves.next)

	runs := m.deadRuns()
	dst = binary.AppendUvarint(dst, uint64(len(runs)))
	end := base
	for _, r := range runs {
		dst = binary.AppendUvarint(dst, uint64(r.from-end))
		dst = binary.AppendUvarint(dst, uint64(r.to-r.from))
		end = r.to
	}

	states := m.states()
	dst = binary.AppendUvarint(dst, uint64(len(states)))
	end = base
	var first int64
	for _, s := range states {
		dst = s.append(dst, end, first)
		end, first = s.offset+s.count, s.first
	}
	dst = m.appendAttempts(dst)
	dst = m.appendDuplicates(dst)
	dst = m.appendTargets(dst)
	dst = m.appendElders(dst)
	dst = m.appendLetters(dst)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], crcTable()))
}

func (m *Machine) appendAttempts(dst []byte) []byte {
	list := m.attempts.sorted()
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	var end, at int64
	for _, a := range list {
		dst = append(dst, a.hash[:]...)
		dst = binary.AppendVarint(dst, a.at-at)
		at = a.at
		dst = binary.AppendUvarint(dst, uint64(len(a.offsets)))
		for _, offset := range a.offsets {
			dst = binary.AppendVarint(dst, offset-end)
			end = offset + 1
		}
	}
	return dst
}

func (m *Machine) appendDuplicates(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(m.judged))
	return m.dups.append(dst)
}

// appendElders tells what was inherited: nothing, or one more than there is.
func (m *Machine) appendElders(dst []byte) []byte {
	if !m.elders.told {
		return binary.AppendUvarint(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(m.elders.list))+1)
	for i := range m.elders.list {
		e := &m.elders.list[i]
		dst = binary.AppendUvarint(dst, uint64(e.partition))
		dst = binary.AppendUvarint(dst, uint64(e.purged))
		dst = binary.AppendUvarint(dst, uint64(e.last))
		dst = e.dups.append(dst)
	}
	return dst
}

func (d *duplicates) append(dst []byte) []byte {
	runs := d.runs[d.head:]
	dst = binary.AppendUvarint(dst, uint64(len(runs)))
	var end, at int64
	for _, r := range runs {
		dst = binary.AppendUvarint(dst, uint64(r.from-end))
		dst = binary.AppendUvarint(dst, uint64(r.to-r.from))
		dst = binary.AppendVarint(dst, r.at-at)
		end, at = r.to, r.at
	}
	return dst
}

// appendLetters tells which moves with a target are of dead letters.
func (m *Machine) appendLetters(dst []byte) []byte {
	var list []uint64
	for _, v := range m.moves.queue {
		if v.offset >= 0 && v.letter {
			list = append(list, v.sequence)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	var last uint64
	for _, sequence := range list {
		dst = binary.AppendUvarint(dst, sequence-last)
		last = sequence
	}
	return dst
}

// appendTargets tells which moves have a target.
func (m *Machine) appendTargets(dst []byte) []byte {
	var list []move
	for _, v := range m.moves.queue {
		if v.offset >= 0 && v.target != 0 {
			list = append(list, v)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	var last uint64
	for _, v := range list {
		dst = binary.AppendUvarint(dst, v.sequence-last)
		dst = binary.AppendUvarint(dst, v.target)
		last = v.sequence
	}
	return dst
}

func crcTable() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func (s *state) append(dst []byte, end, first int64) []byte {
	head := uint64(s.count)<<classBits | s.class
	if s.forced {
		head |= forcedFlag
	}
	dst = binary.AppendUvarint(dst, uint64(s.offset-end))
	dst = binary.AppendUvarint(dst, head)
	dst = binary.AppendUvarint(dst, uint64(s.receives))
	dst = binary.AppendVarint(dst, s.first-first)
	dst = binary.AppendVarint(dst, s.last-s.first)
	switch {
	case s.class == classMove:
		return binary.AppendUvarint(dst, uint64(s.at))
	case s.at == 0:
		return binary.AppendUvarint(dst, 0)
	}
	return binary.AppendUvarint(dst, zigzag(s.at-s.last)+1)
}

func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// deadRuns gives the runs of gone messages from the commit offset on.
func (m *Machine) deadRuns() []span {
	var runs []span
	end := m.CommitOffset()
	for id := m.window.first; id != 0; id = m.window.chunks[id].next {
		c := m.window.chunks[id]
		for live := c.live; live != 0; {
			from := bits.TrailingZeros64(live)
			to := from + bits.TrailingZeros64(^(live >> from))
			if offset := c.number<<chunkBits + int64(from); offset > end {
				runs = append(runs, span{end, offset})
			}
			end = c.number<<chunkBits + int64(to)
			live = live >> to << to
		}
	}
	if m.cursor > end {
		runs = append(runs, span{end, m.cursor})
	}
	m.ahead.dead.each(m.cursor, func(from, to int64) { runs = append(runs, span{from, to}) })
	return runs
}

// states gives the journaled states in offset order, equal neighbours as one.
func (m *Machine) states() []state {
	var states []state
	put := func(offset int64, s status, x *node) {
		next := state{offset: offset, count: 1, receives: x.receives, first: x.first, last: x.last, at: x.at}
		next.forced = x.flags&nodeForced != 0
		if x.receives == 0 {
			next.first, next.last = 0, 0 // of a moved message first is its write time, which the log knows
		}
		switch {
		case s == moving:
			next.class = classMove
		case s == held, x.receives == 0: // of the latter only a given-up move is journaled
			next.class = classHeld
		}
		if n := len(states); n > 0 && states[n-1].continues(next) {
			states[n-1].count++
			return
		}
		states = append(states, next)
	}
	m.window.eachOld(func(offset int64, ref uint32) {
		r := m.window.at(ref)
		if r.node == 0 {
			return
		}
		if x := &m.nodes.nodes[r.node]; x.receives > 0 || x.flags&nodeForced != 0 || r.status() == moving {
			put(offset, r.status(), x)
		}
	})
	for _, offset := range sortedKeys(m.ahead.states) {
		x := &m.nodes.nodes[m.ahead.states[offset]]
		put(offset, x.status, x)
	}
	return states
}

// continues says that next extends the run s.
func (s *state) continues(next state) bool {
	next.offset, next.count = s.offset, s.count+(next.offset-s.offset-s.count)
	return s.class != classMove && *s == next
}
