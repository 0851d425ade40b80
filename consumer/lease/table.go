package lease

import "hash/maphash"

// table finds the entries of an Index by their ids: a hash table with open
// addressing and linear probing.
//
//	slot  31        22 21                    0
//	     | home & 1023 | number & (1<<22 - 1) |   0 = free
//
// Where an entry belongs shows in its slot, so that a search looks only at the
// entries that belong where it began, and a removal at none.
type table struct {
	seed  maphash.Seed // it decides where ids are, never what is found
	slots []uint32     // a power of two of them
	used  int
}

const (
	placeBits = 22
	placeMask = 1<<placeBits - 1
	tagMask   = 1<<(32-placeBits) - 1
	minTable  = 16
)

func newTable() table {
	return table{seed: maphash.MakeSeed(), slots: make([]uint32, minTable)}
}

// resize empties the table and gives it n slots, a power of two.
func (t *table) resize(n int) {
	if n = max(n, minTable); n != len(t.slots) {
		t.slots = make([]uint32, n)
	}
	clear(t.slots)
	t.used = 0
}

func (t *table) mask() uint32 { return uint32(len(t.slots) - 1) }

// home is the slot where the search for an id begins.
func (t *table) home(h Hash) uint32 {
	return uint32(maphash.Bytes(t.seed, h[:])) & t.mask()
}

// full says that the table must grow before the next insert.
func (t *table) full() bool { return t.used >= len(t.slots)/4*3 }

func (t *table) place(slot uint32) uint32 { return t.slots[slot] & placeMask }

// distance is how far the entry in a slot is behind its home.
func (t *table) distance(slot uint32) uint32 {
	return (slot - t.slots[slot]>>placeBits) & t.mask() & tagMask
}

// at is the home of the entry in a slot.
func (t *table) at(slot uint32) uint32 { return (slot - t.distance(slot)) & t.mask() }

// insert puts the entry n of h into the first free slot. False means that there
// is none that is near enough.
func (t *table) insert(h Hash, n uint64) bool {
	home := t.home(h)
	for distance := range min(t.mask(), tagMask) {
		slot := (home + distance) & t.mask()
		if t.slots[slot] == 0 {
			t.slots[slot] = home<<placeBits | uint32(n)&placeMask
			t.used++
			return true
		}
	}
	return false
}

// set makes a slot name another entry of the same id.
func (t *table) set(slot uint32, n uint64) {
	t.slots[slot] = t.slots[slot]&^placeMask | uint32(n)&placeMask
}

// remove frees a slot and moves up those behind it that would not be found any
// more.
func (t *table) remove(slot uint32) {
	t.used--
	for next := (slot + 1) & t.mask(); t.slots[next] != 0; next = (next + 1) & t.mask() {
		// An entry may move to the free slot if that is not before its home.
		if t.distance(next) >= (next-slot)&t.mask() {
			t.slots[slot] = t.slots[next]
			slot = next
		}
	}
	t.slots[slot] = 0
}
