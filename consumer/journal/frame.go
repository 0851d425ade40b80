package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"sqsgate/consumer/lease"
)

// ErrDamaged is wrapped by every error about records that do not decode or do
// not follow each other.
var ErrDamaged = errors.New("journal is damaged")

const (
	magic0  = 0x5A
	magic1  = 0x4A
	version = 1

	headerBytes = 4 + 8 // magic, version, type, incarnation
	crcBytes    = 4

	// maxChunk is the size of a snapshot chunk; a record stays below 512 KiB.
	maxChunk = 512<<10 - 256
)

type recordType uint8

const (
	typeOps      recordType = 1
	typeEpoch    recordType = 2
	typeSnapshot recordType = 3
)

// Key names the journal of one data partition.
type Key struct {
	Incarnation uint64
	Partition   int64
}

// record is one decoded record. Which of ops, owner and chunk is set follows
// from its type.
type record struct {
	typ   recordType
	key   Key
	epoch int64
	lsn   uint64
	wall  int64

	ops   []lease.Op
	owner string

	snapshot   uint64
	chunk      uint64
	chunks     uint64
	chunkBytes []byte
}

func (r *record) encode() []byte {
	b := make([]byte, 0, 64+16*len(r.ops)+len(r.chunkBytes)+len(r.owner))
	b = append(b, magic0, magic1, version, byte(r.typ))
	b = binary.BigEndian.AppendUint64(b, r.key.Incarnation)
	b = binary.AppendUvarint(b, uint64(r.key.Partition))
	b = binary.AppendUvarint(b, uint64(r.epoch))
	b = binary.AppendUvarint(b, r.lsn)
	b = binary.AppendUvarint(b, uint64(r.wall))
	switch r.typ {
	case typeOps:
		b = appendOps(b, r.ops, r.wall)
	case typeEpoch:
		b = binary.AppendUvarint(b, uint64(len(r.owner)))
		b = append(b, r.owner...)
	case typeSnapshot:
		b = binary.AppendUvarint(b, r.snapshot)
		b = binary.AppendUvarint(b, r.chunk)
		b = binary.AppendUvarint(b, r.chunks)
		b = append(b, r.chunkBytes...)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// decode reads one record. The chunk of a snapshot aliases b.
func decode(b []byte) (*record, error) {
	if len(b) < headerBytes+crcBytes || b[0] != magic0 || b[1] != magic1 {
		return nil, fmt.Errorf("%w: not a journal record", ErrDamaged)
	}
	if b[2] != version {
		return nil, fmt.Errorf("%w: record version %d, this program knows %d", ErrDamaged, b[2], version)
	}
	body, sum := b[:len(b)-crcBytes], binary.BigEndian.Uint32(b[len(b)-crcBytes:])
	if crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) != sum {
		return nil, fmt.Errorf("%w: checksum of a record does not match", ErrDamaged)
	}
	r := &record{typ: recordType(b[3])}
	r.key.Incarnation = binary.BigEndian.Uint64(b[4:])
	d := decoder{b: body[headerBytes:]}
	r.key.Partition = int64(d.uvarint())
	r.epoch = int64(d.uvarint())
	r.lsn = d.uvarint()
	r.wall = int64(d.uvarint())
	switch r.typ {
	case typeOps:
		r.ops = d.ops(r.wall)
	case typeEpoch:
		r.owner = string(d.bytes(d.uvarint()))
	case typeSnapshot:
		r.snapshot, r.chunk, r.chunks = d.uvarint(), d.uvarint(), d.uvarint()
		r.chunkBytes, d.b = d.b, nil
	default:
		return nil, fmt.Errorf("%w: unknown record type %d", ErrDamaged, r.typ)
	}
	if d.bad || len(d.b) != 0 {
		return nil, fmt.Errorf("%w: record of type %d has a malformed body", ErrDamaged, r.typ)
	}
	return r, nil
}

func appendOps(b []byte, ops []lease.Op, wall int64) []byte {
	b = binary.AppendUvarint(b, uint64(len(ops)))
	last := int64(0)
	for _, op := range ops {
		b = append(b, byte(op.Kind))
		b = binary.AppendVarint(b, op.Offset-last)
		last = op.Offset
		switch op.Kind {
		case lease.OpLease:
			b = binary.AppendUvarint(b, uint64(op.Count))
			b = binary.AppendVarint(b, op.Time-wall)
			b = binary.AppendVarint(b, op.Deadline-wall)
		case lease.OpDelete:
			b = binary.AppendUvarint(b, uint64(op.Count))
		case lease.OpVisible:
			if op.Deadline == 0 {
				b = append(b, 0)
				continue
			}
			b = append(b, 1)
			b = binary.AppendVarint(b, op.Deadline-wall)
		case lease.OpMove, lease.OpDeadLetter:
			b = binary.AppendUvarint(b, op.Sequence)
			b = binary.AppendUvarint(b, op.Target)
		case lease.OpMoved:
			b = binary.AppendUvarint(b, op.Sequence)
		case lease.OpUnmoved:
			b = binary.AppendVarint(b, op.Deadline-wall)
		case lease.OpAttempt:
			b = binary.AppendUvarint(b, uint64(op.Count))
			b = binary.AppendVarint(b, op.Time-wall)
			if op.Hash == (lease.Hash{}) {
				b = append(b, 0)
				continue
			}
			b = append(b, 1)
			b = append(b, op.Hash[:]...)
		case lease.OpDuplicate:
			b = binary.AppendUvarint(b, uint64(op.Count))
			b = binary.AppendVarint(b, op.Time-wall)
		case lease.OpInherit:
			b = binary.AppendUvarint(b, op.Target)
			b = binary.AppendVarint(b, op.Time-wall)
		case lease.OpElderDuplicate:
			b = binary.AppendUvarint(b, op.Target)
			b = binary.AppendUvarint(b, uint64(op.Count))
			b = binary.AppendVarint(b, op.Time-wall)
		case lease.OpPurge, lease.OpReturn:
		}
	}
	return b
}

// decoder reads varints from b and remembers whether one was malformed.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.bad = true
		return nil
	}
	s := d.b[:n]
	d.b = d.b[n:]
	return s
}

func (d *decoder) ops(wall int64) []lease.Op {
	n := d.uvarint()
	if n > uint64(len(d.b)) { // every op takes more than a byte
		d.bad = true
		return nil
	}
	ops := make([]lease.Op, 0, n)
	last := int64(0)
	for range n {
		op := lease.Op{Kind: lease.OpKind(d.byte())}
		op.Offset = last + d.varint()
		last = op.Offset
		switch op.Kind {
		case lease.OpLease:
			op.Count = int64(d.uvarint())
			op.Time = wall + d.varint()
			op.Deadline = wall + d.varint()
		case lease.OpDelete:
			op.Count = int64(d.uvarint())
		case lease.OpVisible:
			if d.byte() != 0 {
				op.Deadline = wall + d.varint()
			}
		case lease.OpMove, lease.OpDeadLetter:
			op.Sequence, op.Target = d.uvarint(), d.uvarint()
		case lease.OpMoved:
			op.Sequence = d.uvarint()
		case lease.OpUnmoved:
			op.Deadline = wall + d.varint()
		case lease.OpAttempt:
			op.Count = int64(d.uvarint())
			op.Time = wall + d.varint()
			if d.byte() != 0 {
				copy(op.Hash[:], d.bytes(uint64(len(op.Hash))))
			}
		case lease.OpDuplicate:
			op.Count = int64(d.uvarint())
			op.Time = wall + d.varint()
		case lease.OpInherit:
			op.Target = d.uvarint()
			op.Time = wall + d.varint()
		case lease.OpElderDuplicate:
			op.Target = d.uvarint()
			op.Count = int64(d.uvarint())
			op.Time = wall + d.varint()
		case lease.OpPurge, lease.OpReturn:
		default:
			d.bad = true
		}
		if d.bad {
			return nil
		}
		ops = append(ops, op)
	}
	return ops
}
