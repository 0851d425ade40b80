package partition

// deque is a queue on one slice.
type deque[T any] struct {
	buf  []T
	head int
}

func (d *deque[T]) len() int      { return len(d.buf) - d.head }
func (d *deque[T]) at(i int) T    { return d.buf[d.head+i] }
func (d *deque[T]) push(v T)      { d.compact(); d.buf = append(d.buf, v) }
func (d *deque[T]) items() []T    { return d.buf[d.head:] }
func (d *deque[T]) set(items []T) { d.buf, d.head = items, 0 }

func (d *deque[T]) pop() T {
	var zero T
	v := d.buf[d.head]
	d.buf[d.head] = zero
	d.head++
	if d.head == len(d.buf) {
		d.buf, d.head = d.buf[:0], 0
	}
	return v
}

// compact makes room at the end once the dead front is most of a full slice, so
// that pushing stays amortised constant without growing for ever.
func (d *deque[T]) compact() {
	if len(d.buf) < cap(d.buf) || d.head < len(d.buf)/2 || d.head == 0 {
		return
	}
	n := copy(d.buf, d.buf[d.head:])
	clear(d.buf[n:])
	d.buf, d.head = d.buf[:n], 0
}
