package store

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Item is a key with a value: metadata of a message or of its write session.
type Item struct {
	Key   string
	Value []byte
}

// Message is one stored message. A Message and everything it points to is
// immutable once it has been handed to a Batch or returned from a read.
type Message struct {
	Offset    int64
	SeqNo     int64
	WrittenMs int64 // server's time of writing, Unix milliseconds; never falls within a partition
	// Creation time as the producer gave it: Unix seconds and nanoseconds.
	CreatedSec       int64
	CreatedNano      int32
	Codec            int32
	UncompressedSize int64
	Producer         string
	SessionMeta      []Item // metadata of the write session
	Items            []Item // metadata of the message
	Data             []byte
}

// recordVersion starts every message value.
const recordVersion = 1

var errRecord = errors.New("malformed message record")

// MemorySize is roughly what the message occupies in memory, in bytes.
func (m *Message) MemorySize() int {
	n := 176 + len(m.Producer) + len(m.Data)
	for _, it := range m.Items {
		n += 40 + len(it.Key) + len(it.Value)
	}
	return n
}

func uvarintLen(v uint64) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}

func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

func itemsLen(items []Item) int {
	n := uvarintLen(uint64(len(items)))
	for i := range items {
		n += uvarintLen(uint64(len(items[i].Key))) + len(items[i].Key)
		n += uvarintLen(uint64(len(items[i].Value))) + len(items[i].Value)
	}
	return n
}

// encodedLen is the exact length of what encode writes.
func (m *Message) encodedLen() int {
	return 1 + uvarintLen(uint64(m.SeqNo)) + uvarintLen(uint64(m.WrittenMs)) +
		uvarintLen(zigzag(m.CreatedSec)) + uvarintLen(uint64(uint32(m.CreatedNano))) +
		uvarintLen(uint64(uint32(m.Codec))) + uvarintLen(uint64(m.UncompressedSize)) +
		uvarintLen(uint64(len(m.Producer))) + len(m.Producer) +
		itemsLen(m.SessionMeta) + itemsLen(m.Items) + len(m.Data)
}

func appendItems(dst []byte, items []Item) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(items)))
	for i := range items {
		dst = binary.AppendUvarint(dst, uint64(len(items[i].Key)))
		dst = append(dst, items[i].Key...)
		dst = binary.AppendUvarint(dst, uint64(len(items[i].Value)))
		dst = append(dst, items[i].Value...)
	}
	return dst
}

// appendTo appends the record; the offset lives in the key.
func (m *Message) appendTo(dst []byte) []byte {
	dst = append(dst, recordVersion)
	dst = binary.AppendUvarint(dst, uint64(m.SeqNo))
	dst = binary.AppendUvarint(dst, uint64(m.WrittenMs))
	dst = binary.AppendUvarint(dst, zigzag(m.CreatedSec))
	dst = binary.AppendUvarint(dst, uint64(uint32(m.CreatedNano)))
	dst = binary.AppendUvarint(dst, uint64(uint32(m.Codec)))
	dst = binary.AppendUvarint(dst, uint64(m.UncompressedSize))
	dst = binary.AppendUvarint(dst, uint64(len(m.Producer)))
	dst = append(dst, m.Producer...)
	dst = appendItems(dst, m.SessionMeta)
	dst = appendItems(dst, m.Items)
	return append(dst, m.Data...)
}

// cursor reads a record front to back; the first error sticks.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) uvarint() uint64 {
	if c.err != nil {
		return 0
	}
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		c.err = errRecord
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) bytes() []byte {
	n := c.uvarint()
	if c.err != nil {
		return nil
	}
	if n > uint64(len(c.rest)) {
		c.err = errRecord
		return nil
	}
	out := c.rest[:n:n]
	c.rest = c.rest[n:]
	return out
}

// text reads a string, which is known if it equals the one that the message before
// had there.
func (c *cursor) text(known string) string {
	if b := c.bytes(); string(b) != known {
		return string(b)
	}
	return known
}

// items reads a list of items. Those of the message before tell which keys to
// expect.
func (c *cursor) items(before []Item, l *itemSlab) []Item {
	n := c.uvarint()
	if c.err != nil || n == 0 {
		return nil
	}
	// An item takes two bytes at least, so a count beyond that is damage; the
	// check keeps a hostile count from allocating.
	if n > uint64(len(c.rest)/2) {
		c.err = errRecord
		return nil
	}
	items := l.take(int(n))
	for i := range items {
		known := ""
		if i < len(before) {
			known = before[i].Key
		}
		items[i].Key = c.text(known)
		items[i].Value = c.bytes()
	}
	return items
}

// itemSlab gives out slices of items that share their memory.
type itemSlab struct {
	free []Item
	size int // of the next slab; they grow
}

const slabItems = 128

func (l *itemSlab) take(n int) []Item {
	if n > len(l.free) {
		l.size = min(max(2*l.size, n), max(slabItems, n))
		l.free = make([]Item, l.size)
	}
	items := l.free[:n:n]
	l.free = l.free[n:]
	return items
}

// decoder reads messages that live and die together: they share memory, and the
// strings in which they equal their neighbours.
type decoder struct {
	free  []Message
	size  int // of the next slab of messages; they grow
	items itemSlab
	last  *Message
}

const slabMessages = 32

func (d *decoder) decode(offset int64, value []byte) (*Message, error) {
	if len(d.free) == 0 {
		d.size = min(2*d.size+1, slabMessages)
		d.free = make([]Message, d.size)
	}
	m := &d.free[0]
	if d.last == nil {
		d.last = m // empty
	}
	if err := d.read(m, offset, value); err != nil {
		return nil, err
	}
	d.last, d.free = m, d.free[1:]
	return m, nil
}

// decodeMessage reads a record. The message keeps slices of value.
func decodeMessage(m *Message, offset int64, value []byte) error {
	d := decoder{last: new(Message)}
	return d.read(m, offset, value)
}

func (d *decoder) read(m *Message, offset int64, value []byte) error {
	if len(value) == 0 {
		return fmt.Errorf("%w: empty", errRecord)
	}
	if value[0] != recordVersion {
		return fmt.Errorf("%w: version %d", errRecord, value[0])
	}
	c := cursor{rest: value[1:]}
	m.Offset = offset
	m.SeqNo = int64(c.uvarint())
	m.WrittenMs = int64(c.uvarint())
	m.CreatedSec = unzigzag(c.uvarint())
	m.CreatedNano = int32(uint32(c.uvarint()))
	m.Codec = int32(uint32(c.uvarint()))
	m.UncompressedSize = int64(c.uvarint())
	m.Producer = c.text(d.last.Producer)
	m.SessionMeta = c.items(d.last.SessionMeta, &d.items)
	m.Items = c.items(d.last.Items, &d.items)
	if c.err != nil {
		return c.err
	}
	m.Data = c.rest
	return nil
}
