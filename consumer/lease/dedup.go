package lease

// Index remembers deduplication ids for a window of time after they were first
// accepted. An id costs 32 bytes and its share of the table, 37 to 43 in all
// once there are many. It is not safe for concurrent use.
type Index struct {
	window   int64
	capacity int
	segments []*segment
	first    uint64 // number of the first entry of segments[0]
	head     uint64 // numbers [head, tail) are in the segments
	tail     uint64
	table    table
}

const (
	segmentBits = 7
	segmentSize = 1 << segmentBits
	segmentMask = segmentSize - 1

	// maxIndex is how many ids an Index can hold: with as many entries that are
	// replaced or forgotten, and a rest, their numbers must differ in placeBits.
	maxIndex = 1 << (placeBits - 2)

	maxIndexTime      = 1<<44 - 1 // ms, the year 2527; later times are taken as this one
	maxIndexOffset    = 1<<60 - 1
	maxIndexPartition = 1<<24 - 1
)

// segment is a part of the entries, which are in the order they were added. It
// has no pointers: the garbage collector does not look into it.
type segment [segmentSize]indexEntry

// indexEntry is an id and where it was accepted. One that was replaced or
// forgotten has no hash any more, and stays until its turn to go.
type indexEntry struct {
	hash Hash
	// time<<20 | the low 20 bits of the partition, and offset<<4 | its high 4.
	word [2]uint64
}

func newEntry(h Hash, at, partition, offset int64) indexEntry {
	return indexEntry{hash: h, word: [2]uint64{
		uint64(at)<<20 | uint64(partition)&(1<<20-1),
		uint64(offset)<<4 | uint64(partition)>>20,
	}}
}

func (e *indexEntry) at() int64 { return int64(e.word[0] >> 20) }

func (e *indexEntry) partition() int64 {
	return int64(e.word[1]&0xf<<20 | e.word[0]&(1<<20-1))
}

func (e *indexEntry) offset() int64 { return int64(e.word[1] >> 4) }

// NewIndex makes an index of ids that count for window ms, of which it holds at
// most capacity at a time, and never more than 2^20. Memory grows with use.
func NewIndex(window int64, capacity int) *Index {
	return &Index{window: window, capacity: min(capacity, maxIndex), table: newTable()}
}

// Add notes that the message at partition and offset was accepted with id h at
// ms at. An older entry of h is replaced. False means that h was not noted, as
// the index is full of ids that still count, or h is zero, or the offset is
// above 2^60 or the partition above 2^24.
func (x *Index) Add(h Hash, at, partition, offset int64) bool {
	if h == (Hash{}) || uint64(offset) > maxIndexOffset || uint64(partition) > maxIndexPartition {
		return false
	}
	x.Purge(at)
	slot, replace := x.find(h)
	if !replace && x.table.used >= x.capacity {
		return false
	}
	n := x.push(newEntry(h, min(max(at, 0), maxIndexTime), partition, offset))
	if replace {
		x.entry(x.number(slot)).hash = Hash{}
		x.table.set(slot, n)
	} else {
		x.insert(h, n)
	}
	if dead := x.tail - x.head - uint64(x.table.used); dead > uint64(x.table.used)+segmentSize {
		x.compact()
	}
	return true
}

// Lookup gives the message that was accepted with id h less than the window
// before now.
func (x *Index) Lookup(h Hash, now int64) (partition, offset int64, ok bool) {
	slot, ok := x.find(h)
	if !ok {
		return 0, 0, false
	}
	e := x.entry(x.number(slot))
	if now-e.at() >= x.window {
		return 0, 0, false
	}
	return e.partition(), e.offset(), true
}

// Forget takes back an id, for example of a message that was not written.
func (x *Index) Forget(h Hash) {
	if slot, ok := x.find(h); ok {
		x.entry(x.number(slot)).hash = Hash{}
		x.table.remove(slot)
	}
}

// Purge drops ids that no longer count at now. It stops at the first one that
// does; Lookup is exact without it.
func (x *Index) Purge(now int64) {
	for x.head < x.tail {
		if e := x.entry(x.head); e.hash != (Hash{}) {
			if now-e.at() < x.window {
				return
			}
			slot, _ := x.find(e.hash)
			x.table.remove(slot)
		}
		if x.head++; x.head&segmentMask == 0 {
			x.segments[0] = nil
			x.segments = x.segments[1:]
			x.first += segmentSize
			x.shrink()
		}
	}
	if x.tail > 0 {
		x.Clear() // gives the memory of a busy time back
	}
}

// Clear drops all ids.
func (x *Index) Clear() {
	x.segments = nil
	x.first, x.head, x.tail = 0, 0, 0
	x.table.resize(minTable)
}

// Len is the number of ids held.
func (x *Index) Len() int { return x.table.used }

func (x *Index) entry(n uint64) *indexEntry {
	return &x.segments[(n-x.first)>>segmentBits][n&segmentMask]
}

// number gives the number of the entry a slot names.
func (x *Index) number(slot uint32) uint64 {
	return x.head + (uint64(x.table.place(slot))-x.head)&placeMask
}

// push appends an entry and gives its number.
func (x *Index) push(e indexEntry) uint64 {
	if x.tail&placeMask == 0 {
		x.extend() // no place is 0; the entry stays empty
	}
	n := x.tail
	x.extend()
	*x.entry(n) = e
	return n
}

func (x *Index) extend() {
	if x.tail&segmentMask == 0 {
		x.segments = append(x.segments, new(segment))
	}
	x.tail++
}

// find gives the slot that names the entry of h.
func (x *Index) find(h Hash) (slot uint32, ok bool) {
	t := &x.table
	home := t.home(h)
	for slot := home; t.slots[slot] != 0; slot = (slot + 1) & t.mask() {
		if t.at(slot) == home && x.entry(x.number(slot)).hash == h {
			return slot, true
		}
	}
	return 0, false
}

// insert names the newest entry n, of h, which the table does not know.
func (x *Index) insert(h Hash, n uint64) {
	if x.table.full() || !x.table.insert(h, n) {
		x.rehash(2 * len(x.table.slots)) // takes n along
	}
}

// shrink gives the larger part of the table back when little of it is used.
func (x *Index) shrink() {
	if n := len(x.table.slots); n > minTable && x.table.used < n/8 {
		x.rehash(n / 4)
	}
}

// rehash makes the table over, in a size of at least slots.
func (x *Index) rehash(slots int) {
	for done := false; !done; slots *= 2 {
		x.table.resize(slots)
		done = true
		for n := x.head; n < x.tail && done; n++ {
			if e := x.entry(n); e.hash != (Hash{}) {
				done = x.table.insert(e.hash, n)
			}
		}
	}
}

// compact leaves the entries out that were replaced or forgotten.
func (x *Index) compact() {
	old := *x
	x.segments, x.first, x.head, x.tail = nil, 0, 0, 0
	for n := old.head; n < old.tail; n++ {
		if e := old.entry(n); e.hash != (Hash{}) {
			x.push(*e)
		}
	}
	x.rehash(len(x.table.slots))
}
