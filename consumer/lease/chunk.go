package lease

import "math/bits"

const (
	chunkBits = 6
	chunkSize = 1 << chunkBits
	chunkMask = chunkSize - 1
	// spareChunks bounds the free chunks kept for reuse; the rest is left to the
	// garbage collector.
	spareChunks = 64
)

// status is what a loaded message is doing. A message that is gone has no record.
type status uint8

const (
	visible status = iota + 1
	// leased: handed out; the node's at is the deadline.
	leased
	// delayed: not due yet; the node's at is when it will be.
	delayed
	// held: given back by the dead-letter mover, invisible until the node's at.
	held
	// moving: on its way to the dead-letter queue; the node's at is the sequence.
	moving
	// parked: visible, in the lane of a tenant; standard queues only.
	parked
	statuses
)

// record is the state of one loaded message. What most messages never need
// (deadlines, receive counts) is in a node.
type record struct {
	time  uint64 // when it was sent, ms << 8 | status
	group uint32 // on standard queues the tenant; 0 = none
	next  uint32 // the neighbours in the group or lane, as refs
	prev  uint32
	node  uint32 // 0 = none
}

func (r *record) status() status { return status(r.time & 0xff) }

func (r *record) sent() int64 { return int64(r.time >> 8) }

// chunk holds 64 neighbouring offsets. Its masks have one bit an offset.
type chunk struct {
	number int64  // offset / chunkSize
	live   uint64 // loaded and not gone
	fresh  uint64 // standard queues: visible and never handed out or requeued
	passed uint64 // met by the retention pointer and left in place (moving)
	prev   uint32
	next   uint32
	msgs   [chunkSize]record
}

// window is every loaded message that is not gone. A ref names a message by its
// chunk's place in chunks and its bit; it is valid while the message lives, and
// never 0. Chunks without a live message do not exist, so that a straggler
// costs one chunk however much was deleted behind it.
type window struct {
	chunks   []*chunk // by id; [0] is unused, nil = free id
	free     []uint32 // ids without a chunk, or with a spare one
	spare    int      // how many of the free ids still have their chunk
	byNumber map[int64]uint32
	first    uint32
	last     uint32
	live     int
	// fresh is the first chunk that may have a fresh message, old the first one
	// that may have a message the retention pointer has not passed. 0 = none.
	fresh uint32
	old   uint32
}

func newWindow() window {
	return window{chunks: make([]*chunk, 1), byNumber: make(map[int64]uint32)}
}

func refOf(id uint32, bit int) uint32 { return id<<chunkBits | uint32(bit) }

func (w *window) chunk(ref uint32) *chunk { return w.chunks[ref>>chunkBits] }

func (w *window) at(ref uint32) *record {
	return &w.chunks[ref>>chunkBits].msgs[ref&chunkMask]
}

func (w *window) offset(ref uint32) int64 {
	return w.chunks[ref>>chunkBits].number<<chunkBits | int64(ref&chunkMask)
}

// find gives the ref of a loaded message, 0 if it is gone.
func (w *window) find(offset int64) uint32 {
	number, bit := offset>>chunkBits, int(offset&chunkMask)
	// Deletes come mostly in order: try the oldest chunk before the map.
	id := w.first
	if id == 0 {
		return 0
	}
	if w.chunks[id].number != number {
		id = w.byNumber[number]
	}
	if id == 0 || w.chunks[id].live>>bit&1 == 0 {
		return 0
	}
	return refOf(id, bit)
}

// add makes the record of offset, which is above all others.
func (w *window) add(offset int64) uint32 {
	number, bit := offset>>chunkBits, int(offset&chunkMask)
	id := w.last
	if id == 0 || w.chunks[id].number != number {
		id = w.grow(number)
	}
	c := w.chunks[id]
	c.live |= 1 << bit
	c.msgs[bit] = record{}
	w.live++
	return refOf(id, bit)
}

func (w *window) grow(number int64) uint32 {
	var id uint32
	if n := len(w.free); n > 0 {
		id = w.free[n-1]
		w.free = w.free[:n-1]
	} else {
		id = uint32(len(w.chunks))
		w.chunks = append(w.chunks, nil)
	}
	c := w.chunks[id]
	if c == nil {
		c = new(chunk)
		w.chunks[id] = c
	} else {
		w.spare--
	}
	c.number, c.live, c.fresh, c.passed = number, 0, 0, 0
	c.prev, c.next = w.last, 0
	if w.last != 0 {
		w.chunks[w.last].next = id
	} else {
		w.first = id
	}
	w.last = id
	if w.fresh == 0 {
		w.fresh = id
	}
	if w.old == 0 {
		w.old = id
	}
	w.byNumber[number] = id
	return id
}

// drop forgets a message, and its chunk with the last one.
func (w *window) drop(ref uint32) {
	id, bit := ref>>chunkBits, ref&chunkMask
	c := w.chunks[id]
	keep := ^(uint64(1) << bit)
	c.live &= keep
	c.fresh &= keep
	c.passed &= keep
	w.live--
	if c.live != 0 {
		return
	}
	if c.prev != 0 {
		w.chunks[c.prev].next = c.next
	} else {
		w.first = c.next
	}
	if c.next != 0 {
		w.chunks[c.next].prev = c.prev
	} else {
		w.last = c.prev
	}
	if w.fresh == id {
		w.fresh = c.next
	}
	if w.old == id {
		w.old = c.next
	}
	delete(w.byNumber, c.number)
	w.free = append(w.free, id)
	if w.spare < spareChunks {
		w.spare++
	} else {
		w.chunks[id] = nil
	}
}

// nextFresh gives the oldest fresh message, 0 if there is none.
func (w *window) nextFresh() uint32 {
	for w.fresh != 0 {
		c := w.chunks[w.fresh]
		if c.fresh != 0 {
			return refOf(w.fresh, bits.TrailingZeros64(c.fresh))
		}
		if c.next == 0 {
			return 0
		}
		w.fresh = c.next
	}
	return 0
}

func (w *window) setFresh(ref uint32) { w.chunk(ref).fresh |= 1 << (ref & chunkMask) }

func (w *window) clearFresh(ref uint32) { w.chunk(ref).fresh &^= 1 << (ref & chunkMask) }

// oldest gives the first message the retention pointer has not passed.
func (w *window) oldest() uint32 {
	for w.old != 0 {
		c := w.chunks[w.old]
		if left := c.live &^ c.passed; left != 0 {
			return refOf(w.old, bits.TrailingZeros64(left))
		}
		if c.next == 0 {
			return 0
		}
		w.old = c.next
	}
	return 0
}

func (w *window) pass(ref uint32) { w.chunk(ref).passed |= 1 << (ref & chunkMask) }

// unpass puts a passed message before the retention pointer again.
func (w *window) unpass(ref uint32) {
	c := w.chunk(ref)
	c.passed &^= 1 << (ref & chunkMask)
	if w.old == 0 || c.number < w.chunks[w.old].number {
		w.old = ref >> chunkBits
	}
}

// firstLive gives the lowest offset that is not gone.
func (w *window) firstLive() (int64, bool) {
	if w.first == 0 {
		return 0, false
	}
	c := w.chunks[w.first]
	return c.number<<chunkBits | int64(bits.TrailingZeros64(c.live)), true
}

// each calls visit for every loaded message in offset order. visit must not
// add or drop any.
func (w *window) each(visit func(offset int64, ref uint32)) {
	for id := w.first; id != 0; id = w.chunks[id].next {
		w.chunks[id].each(id, w.chunks[id].live, visit)
	}
}

// eachOld leaves out the fresh ones, of which there is nothing to remember.
func (w *window) eachOld(visit func(offset int64, ref uint32)) {
	for id := w.first; id != 0; id = w.chunks[id].next {
		c := w.chunks[id]
		c.each(id, c.live&^c.fresh, visit)
	}
}

func (c *chunk) each(id uint32, mask uint64, visit func(offset int64, ref uint32)) {
	for ; mask != 0; mask &= mask - 1 {
		bit := bits.TrailingZeros64(mask)
		visit(c.number<<chunkBits|int64(bit), refOf(id, bit))
	}
}
