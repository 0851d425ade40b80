package lease

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
)

// ErrSnapshot is the cause of every failed Restore of damaged bytes.
var ErrSnapshot = errors.New("damaged snapshot")

// maxStates bounds the messages a snapshot can have states of, far above any
// window, so that a few bytes cannot claim all memory.
const maxStates = 1 << 21

// Restore brings an empty machine to the state a Snapshot tells. After an error
// the machine is empty again.
func (m *Machine) Restore(snapshot []byte) error {
	if m.loaded || m.cursor != 0 || len(m.ahead.states) > 0 {
		return fmt.Errorf("restoring a snapshot: %w", errLoaded)
	}
	if err := m.restore(snapshot); err != nil {
		*m = *New(m.cfg)
		return fmt.Errorf("restoring a snapshot of %d bytes: %w", len(snapshot), err)
	}
	return nil
}

func (m *Machine) restore(snapshot []byte) error {
	body := len(snapshot) - crc32.Size
	if body < 1 {
		return fmt.Errorf("%w: too short", ErrSnapshot)
	}
	if v := snapshot[0]; v != snapshotVersion && v != withoutElders {
		return fmt.Errorf("%w: version %d", ErrSnapshot, snapshot[0])
	}
	if crc32.Checksum(snapshot[:body], crcTable()) != binary.LittleEndian.Uint32(snapshot[body:]) {
		return fmt.Errorf("%w: checksum", ErrSnapshot)
	}
	d := decoder{rest: snapshot[1:body]}
	base := d.uvarint(maxOffset)
	m.cursor = base
	m.purged = d.uvarint(maxOffset)
	m.moves.next = uint64(d.uvarint(maxOffset))
	d.check(m.moves.next > 0)
	m.restoreRuns(&d, base)
	m.restoreStates(&d, base)
	m.restoreAttempts(&d)
	m.restoreDuplicates(&d)
	m.restoreTargets(&d)
	if snapshot[0] != withoutElders {
		m.restoreElders(&d)
		m.restoreLetters(&d)
	}
	d.check(len(d.rest) == 0)
	if d.bad {
		return fmt.Errorf("%w: contents", ErrSnapshot)
	}
	m.skip(m.cursor)
	return nil
}

func (m *Machine) restoreRuns(d *decoder, base int64) {
	end := base
	for n := d.count(); n > 0 && !d.bad; n-- {
		from := end + d.uvarint(maxOffset)
		count := d.uvarint(maxOffset)
		end = from + count
		if d.check(count > 0 && end <= maxOffset) {
			m.ahead.dead.add(from, end)
		}
	}
}

func (m *Machine) restoreStates(d *decoder, base int64) {
	end := base
	var first int64
	for n := d.count(); n > 0 && !d.bad; n-- {
		s := d.state(end, first)
		end, first = s.offset+s.count, s.first
		m.judge(end)
		if d.bad || !d.check(int64(len(m.ahead.states))+s.count <= maxStates) {
			return
		}
		for offset := s.offset; offset < end; offset++ {
			n := m.state(offset)
			if !d.check(n != 0) {
				return
			}
			x := &m.nodes.nodes[n]
			x.receives, x.first, x.last, x.at = s.receives, s.first, s.last, s.at
			if s.forced {
				x.flags |= nodeForced
			}
			switch s.class {
			case classHeld:
				x.status = held
			case classMove:
				x.status = moving
				m.moves.queue = append(m.moves.queue, move{sequence: uint64(s.at), offset: offset})
			}
		}
	}
	queue := m.moves.queue
	slices.SortFunc(queue, func(a, b move) int { return int(int64(a.sequence) - int64(b.sequence)) })
	for i, v := range queue {
		d.check(v.sequence > 0 && v.sequence < m.moves.next && (i == 0 || v.sequence > queue[i-1].sequence))
	}
}

func (m *Machine) restoreAttempts(d *decoder) {
	var end, at int64
	for n := d.count(); n > 0 && !d.bad; n-- {
		h := d.hash()
		at += d.varint()
		if !d.check(h != (Hash{}) && m.attempts.byHash[h] == 0 && at >= 0 && at <= maxTime) {
			return
		}
		id := m.attempts.begin(h, at)
		count := d.uvarint(maxStates)
		for d.check(count > 0); count > 0 && !d.bad; count-- {
			offset := end + d.offsetDelta()
			x := m.ahead.states[offset]
			if !d.check(x != 0 && m.nodes.nodes[x].status == leased && m.nodes.nodes[x].attempt == 0) {
				return
			}
			m.bind(id, offset, x)
			end = offset + 1
		}
	}
}

func (m *Machine) restoreDuplicates(d *decoder) {
	m.judge(d.uvarint(maxOffset))
	m.dups.restore(d)
}

func (m *Machine) restoreElders(d *decoder) {
	n := d.uvarint(uint64(len(d.rest)) + 1)
	if n == 0 {
		return
	}
	m.elders.told = true
	before := int64(-1)
	for n--; n > 0 && !d.bad; n-- {
		partition, purged, last := d.uvarint(maxOffset), d.uvarint(maxOffset), d.uvarint(maxTime)
		if !d.check(partition > before) {
			return
		}
		m.elders.tell(partition, purged, last, m.cfg.DeduplicationWindow)
		m.elders.find(partition).dups.restore(d)
		before = partition
	}
}

func (s *duplicates) restore(d *decoder) {
	var end, at int64
	for n := d.count(); n > 0 && !d.bad; n-- {
		from := end + d.uvarint(maxOffset)
		count := d.uvarint(maxOffset)
		end = from + count
		at += d.varint()
		if d.check(count > 0 && end <= maxOffset && at >= 0 && at <= maxTime) {
			s.add(from, end, at)
		}
	}
}

func (m *Machine) restoreTargets(d *decoder) {
	var sequence uint64
	for n := d.count(); n > 0 && !d.bad; n-- {
		step := uint64(d.uvarint(maxOffset))
		target := uint64(d.uvarint(math.MaxUint64))
		sequence += step
		i, found := m.moves.find(sequence)
		if !d.check(found && step > 0 && target != 0) {
			return
		}
		m.moves.queue[i].target = target
	}
}

func (m *Machine) restoreLetters(d *decoder) {
	var sequence uint64
	for n := d.uvarint(uint64(len(d.rest))); n > 0 && !d.bad; n-- {
		step := uint64(d.uvarint(maxOffset))
		sequence += step
		i, found := m.moves.find(sequence)
		if !d.check(found && step > 0 && m.moves.queue[i].target != 0) {
			return
		}
		m.moves.queue[i].letter = true
	}
}

// decoder reads a snapshot. After damage every value is 0.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) check(ok bool) bool {
	d.bad = d.bad || !ok
	return ok
}

func (d *decoder) uvarint(limit uint64) int64 {
	v, n := binary.Uvarint(d.rest)
	if d.bad || !d.check(n > 0 && v <= limit) {
		return 0
	}
	d.rest = d.rest[n:]
	return int64(v)
}

func (d *decoder) varint() int64 {
	return unzigzag(uint64(d.uvarint(4 * maxTime)))
}

// offsetDelta reads the difference of two offsets.
func (d *decoder) offsetDelta() int64 { return unzigzag(uint64(d.uvarint(4 * maxOffset))) }

func (d *decoder) hash() (h Hash) {
	if d.check(len(d.rest) >= len(h)) {
		d.rest = d.rest[copy(h[:], d.rest):]
	}
	return h
}

// count reads how many entries follow, each of at least two bytes.
func (d *decoder) count() int64 { return d.uvarint(uint64(len(d.rest)) / 2) }

func (d *decoder) state(end, first int64) state {
	s := state{offset: end + d.uvarint(maxOffset)}
	head := d.uvarint(maxOffset)
	s.count, s.class, s.forced = head>>classBits, uint64(head&classMask), head&forcedFlag != 0
	s.receives = uint16(d.uvarint(maxReceives))
	s.first = first + d.varint()
	s.last = s.first + d.varint()
	if s.class == classMove {
		s.at = d.uvarint(maxOffset)
	} else if at := d.uvarint(4*maxTime + 1); at > 0 {
		s.at = s.last + unzigzag(uint64(at-1))
		d.check(s.at >= 0 && s.at <= maxTime)
	}
	d.check(s.count > 0 && s.offset <= maxOffset && s.count <= maxStates && s.class <= classMove)
	d.check(s.class != classMove || s.count == 1)
	d.check(s.class != classLease || s.receives > 0)
	d.check(s.first >= 0 && s.first <= maxTime && s.last >= 0 && s.last <= maxTime)
	return s
}
