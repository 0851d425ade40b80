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

func (d *duplicates) add(from, to, at int64) {
	if n := len(d.runs); n > d.head {
		if last := &d.runs[n-1]; last.to == from && last.at == at {
			last.to = to
			return
		} else if last.to > from {
			return // a journal tells nothing twice
		}
	}
	d.runs = append(d.runs, duplicateRun{from, to, at})
}

// expire drops what is a window older than the latest write time.
func (d *duplicates) expire(writeTime, window int64) {
	d.written = max(d.written, writeTime)
	for d.head < len(d.runs) && d.runs[d.head].at+window <= d.written {
		d.head++
	}
	if d.head > len(d.runs)/2 {
		d.runs = slices.Delete(d.runs, 0, d.head)
		d.head = 0
	}
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
