package lease

import "math/bits"

const (
	wheelBits   = 6
	wheelSlots  = 1 << wheelBits
	wheelLevels = 8
	// maxTime is the last ms the wheel and the records can hold, about the year
	// 10895. Later times are taken as this one.
	maxTime = 1<<(wheelBits*wheelLevels) - 1
	// requeueList is the list id of the requeue ring; 1..512 are wheel slots.
	requeueList = wheelSlots*wheelLevels + 1
	// exactSlot is up to how many timers of one slot are looked at to tell the
	// earliest of them.
	exactSlot = 64
)

// wheel is a hierarchical timing wheel with slots of 1 ms on its lowest level
// and 64 times longer ones on each level above. A timer sits on the level of
// the highest base-64 digit in which it differs from now, so all timers of a
// level are earlier than those of the levels above, and within a level the
// slots are in order of time. Adding and removing are O(1); a timer moves down
// at most once a level.
type wheel struct {
	now   int64
	used  [wheelLevels]uint64
	slots [wheelLevels * wheelSlots]list
}

// add links node n by its at. A past time fires at the next pop.
func (w *wheel) add(p *pool, n uint32) {
	at := min(max(p.nodes[n].at, w.now), maxTime)
	level := (bits.Len64(uint64(at^w.now)|1) - 1) / wheelBits
	slot := int(at>>(level*wheelBits)) & (wheelSlots - 1)
	w.used[level] |= 1 << slot
	i := level*wheelSlots + slot
	p.push(&w.slots[i], uint16(i+1), n)
}

// remove unlinks node n, which is in a slot.
func (w *wheel) remove(p *pool, n uint32) {
	i := int(p.nodes[n].list) - 1
	p.unlink(&w.slots[i], n)
	if w.slots[i].head == 0 {
		w.used[i/wheelSlots] &^= 1 << (i % wheelSlots)
	}
}

// earliest gives the first occupied slot and the ms it starts at.
func (w *wheel) earliest() (start int64, level, slot int, ok bool) {
	for level := range wheelLevels {
		if w.used[level] == 0 {
			continue
		}
		slot := bits.TrailingZeros64(w.used[level])
		shift := level * wheelBits
		return w.now>>(shift+wheelBits)<<(shift+wheelBits) | int64(slot)<<shift, level, slot, true
	}
	return 0, 0, 0, false
}

// pop unlinks and gives the earliest timer that is due at now, 0 if none is.
// Timers come in order of their ms.
func (w *wheel) pop(p *pool, now int64) uint32 {
	for {
		start, level, slot, ok := w.earliest()
		if !ok || start > now {
			w.now = max(w.now, now)
			return 0
		}
		// No timer is earlier than start, so now may move up to it.
		w.now = start
		i := level*wheelSlots + slot
		n := w.slots[i].head
		if level == 0 {
			w.remove(p, n)
			return n
		}
		w.used[level] &^= 1 << slot
		w.slots[i] = list{}
		for n != 0 {
			next := p.nodes[n].next
			w.add(p, n)
			n = next
		}
	}
}

// next gives the ms of the earliest timer. When more than exactSlot timers
// share the earliest slot of a higher level it may give that slot's start,
// which is earlier; a pop then brings the slot down.
func (w *wheel) next(p *pool) (int64, bool) {
	start, level, slot, ok := w.earliest()
	if !ok || level == 0 {
		return start, ok
	}
	at := int64(maxTime)
	n := w.slots[level*wheelSlots+slot].head
	for range exactSlot {
		if n == 0 {
			return at, true
		}
		at = min(at, p.nodes[n].at)
		n = p.nodes[n].next
	}
	if n == 0 {
		return at, true
	}
	return start, true
}
