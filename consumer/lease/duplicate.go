package lease

import (
	"cmp"
	"slices"
)

// duplicates are the messages that were removed as duplicates and can still be
// met when a restarted shell reads the log for deduplication ids. Such a message
// must not count as the first of its id: the real first one may lie before the
// part of the log that is read.
type duplicates struct {
	runs []duplicateRun // in offset order; those before head are over
	head int
	// written is the latest write time met, ms. A duplicate can mislead only about
	// messages written within the window after it.
	written int64
}

// duplicateRun is the offsets [from, to), all written at the same ms.
type duplicateRun struct{ from, to, at int64 }

// add notes a run. False means that the oldest one had to make room for it.
func (d *duplicates) add(from, to, at int64) bool {
	if n := len(d.runs); n > d.head {
		if last := &d.runs[n-1]; last.to == from && last.at == at {
			last.to = to
			return true
		} else if last.to > from {
			return true // a journal tells nothing twice
		}
	}
	full := len(d.runs)-d.head >= dedupCapacity
	if full {
		d.drop(1)
	}
	d.runs = append(d.runs, duplicateRun{from, to, at})
	return !full
}

// drop forgets the n oldest runs.
func (d *duplicates) drop(n int) {
	d.head += n
	if d.head > len(d.runs)/2 {
		d.runs = slices.Delete(d.runs, 0, d.head)
		d.head = 0
	}
}

// expire drops what is a window older than the latest write time.
func (d *duplicates) expire(writeTime, window int64) {
	d.written = max(d.written, writeTime)
	n := d.head
	for n < len(d.runs) && d.runs[n].at+window <= d.written {
		n++
	}
	d.drop(n - d.head)
}

func (d *duplicates) has(offset int64) bool {
	_, ok := slices.BinarySearchFunc(d.runs[d.head:], offset, func(r duplicateRun, o int64) int {
		if r.from <= o && o < r.to {
			return 0
		}
		return cmp.Compare(r.from, o)
	})
	return ok
}
