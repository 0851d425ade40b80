package lease

// Index remembers deduplication ids for a window of time after they were first
// accepted. It is not safe for concurrent use.
type Index struct {
	window   int64
	capacity int
	byHash   map[Hash]uint64 // number of the entry
	ring     []indexEntry    // entry i is at i % len, a power of two
	head     uint64          // numbers [head, tail) are in the ring
	tail     uint64
}

// keptIndex is how large a ring may be that outlives its ids.
const keptIndex = 1024

type indexEntry struct {
	hash      Hash
	at        int64
	partition int64
	offset    int64
}

// NewIndex makes an index of ids that count for window ms, of which it holds at
// most capacity at a time. Memory grows with use.
func NewIndex(window int64, capacity int) *Index {
	return &Index{window: window, capacity: capacity, byHash: make(map[Hash]uint64)}
}

// Add notes that the message at partition and offset was accepted with id h at
// ms at. An older entry of h is replaced. False means that the index is full
// of ids that still count, and h was not noted.
func (x *Index) Add(h Hash, at, partition, offset int64) bool {
	x.Purge(at)
	_, replace := x.byHash[h]
	if !replace && len(x.byHash) >= x.capacity {
		return false
	}
	if n := x.tail - x.head; n == uint64(len(x.ring)) {
		x.makeRoom(int(n))
	}
	x.ring[x.tail%uint64(len(x.ring))] = indexEntry{hash: h, at: at, partition: partition, offset: offset}
	x.byHash[h] = x.tail
	x.tail++
	return true
}

// Lookup gives the message that was accepted with id h less than the window
// before now.
func (x *Index) Lookup(h Hash, now int64) (partition, offset int64, ok bool) {
	i, ok := x.byHash[h]
	if !ok {
		return 0, 0, false
	}
	e := &x.ring[i%uint64(len(x.ring))]
	if now-e.at >= x.window {
		return 0, 0, false
	}
	return e.partition, e.offset, true
}

// Forget takes back an id, for example of a message that was not written.
func (x *Index) Forget(h Hash) { delete(x.byHash, h) }

// Purge drops ids that no longer count at now. It stops at the first one that
// does; Lookup is exact without it.
func (x *Index) Purge(now int64) {
	for x.head < x.tail {
		e := &x.ring[x.head%uint64(len(x.ring))]
		if i, ok := x.byHash[e.hash]; ok && i == x.head {
			if now-e.at < x.window {
				return
			}
			delete(x.byHash, e.hash)
		}
		x.head++
	}
	if len(x.ring) > keptIndex {
		x.Clear() // gives the memory of a busy time back
	}
}

// Clear drops all ids.
func (x *Index) Clear() {
	if len(x.ring) > keptIndex {
		x.ring, x.byHash = nil, make(map[Hash]uint64)
	}
	clear(x.byHash)
	x.head, x.tail = 0, 0
}

// Len is the number of ids held.
func (x *Index) Len() int { return len(x.byHash) }

// makeRoom frees the places of replaced and forgotten entries, and doubles the
// ring if that frees less than half. The ring thus stays below four times the
// ids held.
func (x *Index) makeRoom(n int) {
	size := max(16, len(x.ring))
	if len(x.byHash) > size/2 {
		size *= 2
	}
	ring := make([]indexEntry, size)
	var kept uint64
	for i := x.head; i < x.head+uint64(n); i++ {
		e := x.ring[i%uint64(len(x.ring))]
		if j, ok := x.byHash[e.hash]; !ok || j != i {
			continue
		}
		ring[kept] = e
		x.byHash[e.hash] = kept
		kept++
	}
	x.ring, x.head, x.tail = ring, 0, kept
}
