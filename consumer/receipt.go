package consumer

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
)

// receipt is what a receipt handle holds. Its text is base64url of
//
//	version u8 | incarnation u64 | partition uv | offset uv | receives uv | epoch uv | crc32c u32
//
// big endian, uv = unsigned varint. The checksum tells a handle from garbage; it
// is no protection against a forger.
type receipt struct {
	incarnation uint64
	partition   int64
	offset      int64
	receives    uint32
	epoch       int64 // of the owner that handed the message out
}

const receiptVersion = 1

func (r receipt) handle() string {
	b := make([]byte, 0, 48)
	b = append(b, receiptVersion)
	b = binary.BigEndian.AppendUint64(b, r.incarnation)
	b = binary.AppendUvarint(b, uint64(r.partition))
	b = binary.AppendUvarint(b, uint64(r.offset))
	b = binary.AppendUvarint(b, uint64(r.receives))
	b = binary.AppendUvarint(b, uint64(r.epoch))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseReceipt(handle string) (receipt, error) {
	if len(handle) > 128 {
		return receipt{}, ErrHandle
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(handle)
	if err != nil || len(b) < 1+8+4+4 || b[0] != receiptVersion {
		return receipt{}, ErrHandle
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) != sum {
		return receipt{}, ErrHandle
	}
	r := receipt{incarnation: binary.BigEndian.Uint64(body[1:])}
	var fields [4]uint64
	rest := body[9:]
	for i := range fields {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			return receipt{}, ErrHandle
		}
		fields[i], rest = v, rest[n:]
	}
	if len(rest) != 0 || fields[0] > 1<<62 || fields[1] > 1<<62 || fields[2] > 1<<31 || fields[3] > 1<<62 {
		return receipt{}, ErrHandle
	}
	r.partition, r.offset = int64(fields[0]), int64(fields[1])
	r.receives, r.epoch = uint32(fields[2]), int64(fields[3])
	if r.handle() != handle { // base64 takes line breaks anywhere
		return receipt{}, ErrHandle
	}
	return r, nil
}
