package lease

import (
	"cmp"
	"math/bits"
	"slices"
)

// span is the range [from, to).
type span struct{ from, to int64 }

// deadSet is a set of offsets that are gone before they were loaded. Whole
// chunks are spans, chunks that are dead in part are masks; so neighbours cost
// nothing, and single offsets may come in any order.
type deadSet struct {
	full []span           // of chunk numbers; sorted, apart
	part map[int64]uint64 // chunk number -> dead offsets; never all of them
}

func newDeadSet() deadSet { return deadSet{part: make(map[int64]uint64)} }

// add puts [from, to) into the set.
func (d *deadSet) add(from, to int64) {
	if from >= to {
		return
	}
	first, last := from>>chunkBits, (to-1)>>chunkBits
	head := ^uint64(0) << (from & chunkMask)
	tail := ^uint64(0) >> (chunkMask - (to-1)&chunkMask)
	if first == last {
		d.mark(first, head&tail)
		return
	}
	if head != ^uint64(0) {
		d.mark(first, head)
		first++
	}
	if tail != ^uint64(0) {
		d.mark(last, tail)
		last--
	}
	if first <= last {
		d.fill(first, last+1)
	}
}

func (d *deadSet) mark(number int64, mask uint64) {
	if _, ok := d.span(number); ok {
		return
	}
	if mask |= d.part[number]; mask == ^uint64(0) {
		d.fill(number, number+1)
		return
	}
	d.part[number] = mask
}

// span finds the span that holds a chunk number.
func (d *deadSet) span(number int64) (span, bool) {
	i, ok := slices.BinarySearchFunc(d.full, number, func(s span, n int64) int {
		switch {
		case s.to <= n:
			return -1
		case s.from > n:
			return 1
		}
		return 0
	})
	if !ok {
		return span{}, false
	}
	return d.full[i], true
}

// fill adds the whole chunks [from, to).
func (d *deadSet) fill(from, to int64) {
	if to-from <= int64(len(d.part)) {
		for n := from; n < to; n++ {
			delete(d.part, n)
		}
	} else {
		for n := range d.part {
			if n >= from && n < to {
				delete(d.part, n)
			}
		}
	}
	// The spans [i, j) touch the new one and become part of it.
	i, _ := slices.BinarySearchFunc(d.full, from, func(s span, n int64) int { return cmp.Compare(s.to, n) })
	j := i
	for j < len(d.full) && d.full[j].from <= to {
		from, to = min(from, d.full[j].from), max(to, d.full[j].to)
		j++
	}
	d.full = slices.Replace(d.full, i, j, span{from, to})
}

func (d *deadSet) has(offset int64) bool {
	number := offset >> chunkBits
	if d.part[number]>>(offset&chunkMask)&1 != 0 {
		return true
	}
	_, ok := d.span(number)
	return ok
}

// next gives the first offset from offset on that is not in the set.
func (d *deadSet) next(offset int64) int64 {
	for {
		number := offset >> chunkBits
		if s, ok := d.span(number); ok {
			offset = s.to << chunkBits
			continue
		}
		free := ^d.part[number] >> (offset & chunkMask)
		if free != 0 {
			return offset + int64(bits.TrailingZeros64(free))
		}
		offset = (number + 1) << chunkBits
	}
}

// forget drops what is known of the chunks below the one of offset.
func (d *deadSet) forget(from, offset int64) {
	first, last := from>>chunkBits, offset>>chunkBits
	if last-first <= int64(len(d.part)) {
		for n := first; n < last; n++ {
			delete(d.part, n)
		}
	} else {
		for n := range d.part {
			if n < last {
				delete(d.part, n)
			}
		}
	}
	i := 0
	for i < len(d.full) && d.full[i].to <= last {
		i++
	}
	d.full = slices.Delete(d.full, 0, i)
}

// each calls visit for the runs of the set that lie above offset, in order.
func (d *deadSet) each(offset int64, visit func(from, to int64)) {
	numbers := make([]int64, 0, len(d.part))
	for n := range d.part {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	var open span
	put := func(from, to int64) {
		if from = max(from, offset); from >= to {
			return
		}
		if from != open.to && open.from < open.to {
			visit(open.from, open.to)
			open = span{}
		}
		if open.from == open.to {
			open.from = from
		}
		open.to = to
	}
	full := d.full
	for _, n := range numbers {
		for len(full) > 0 && full[0].from < n {
			put(full[0].from<<chunkBits, full[0].to<<chunkBits)
			full = full[1:]
		}
		for mask := d.part[n]; mask != 0; {
			from := bits.TrailingZeros64(mask)
			to := from + bits.TrailingZeros64(^(mask >> from))
			put(n<<chunkBits+int64(from), n<<chunkBits+int64(to))
			mask = mask >> to << to
		}
	}
	for _, s := range full {
		put(s.from<<chunkBits, s.to<<chunkBits)
	}
	if open.from < open.to {
		visit(open.from, open.to)
	}
}
