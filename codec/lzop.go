package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"io"
	"math"

	lzo "github.com/anchore/go-lzo"
)

// The format of the program lzop; numbers are big-endian. A file is one part or
// several, one after the other:
//
//	part    +-------+--------+---------+     +---------+-----------+
//	        | magic | header | block 1 | ... | block n | 00000000  |
//	        +-------+--------+---------+     +---------+-----------+
//
//	magic   89 'L' 'Z' 'O' 00 0D 0A 1A 0A
//
//	header  2  version of the writer       from 0900
//	        2  version of its LZO library
//	        2  version needed to extract   if version >= 0940; 0900 to 1040
//	        1  method                      1 LZO1X-1, 2 LZO1X-1(15), 3 LZO1X-999
//	        1  level                       if version >= 0940
//	        4  flags                       see below
//	        4  mode
//	        4  mtime, low half
//	        4  mtime, high half            if version >= 0940
//	        1  length of the name
//	        *  name
//	        4  checksum of the header      Adler-32, or CRC-32 by flag; without magic
//	        4  length of the extra field   if flag
//	        *  extra field                 if flag
//	        4  checksum of these two       if flag
//
//	block   4  length decompressed         1 to 64 MiB; the program makes 256 KiB
//	        4  length stored               1 to the length decompressed
//	        4  Adler-32 decompressed       if flag
//	        4  CRC-32 decompressed         if flag
//	        4  Adler-32 stored             if flag and the lengths differ
//	        4  CRC-32 stored               if flag and the lengths differ
//	        *  data                        as it is if the lengths are equal
//
// All three methods make LZO1X, which one decompressor reads. YDB's C++ library
// writes the same, with version 1030, no checksums and blocks of 32 KiB; of no
// data at all it makes four zero bytes without magic and header.

const (
	lzopMagic = "\x89LZO\x00\r\n\x1a\n"
	lzopEnd   = "\x00\x00\x00\x00"

	lzopFirstVersion  = 0x0900
	lzopWiderVersion  = 0x0940 // the first with a needed version, a level and a 64-bit mtime
	lzopNewestVersion = 0x1040

	lzopMethods  = 3
	lzopMaxBlock = 64 << 20

	// lzopMaxRatio: a length in LZO1X grows by at most 255 with each byte.
	lzopMaxRatio = 255
)

// Flags of the header.
const (
	lzopAdlerPlain  = 0x0001
	lzopAdlerStored = 0x0002
	lzopExtraField  = 0x0040
	lzopCRCPlain    = 0x0100
	lzopCRCStored   = 0x0200
	lzopFilter      = 0x0800
	lzopCRCHeader   = 0x1000
	lzopReserved    = 0x000fc000
)

// unlzop decodes lzop data. Every checksum there is gets verified.
func unlzop(stored []byte, limit int) ([]byte, error) {
	if string(stored) == lzopEnd {
		return nil, nil
	}
	in := lzopInput{rest: stored}
	var out []byte
	for part := 1; len(in.rest) > 0; part++ {
		flags, err := in.header()
		if err != nil {
			return nil, fmt.Errorf("header of part %d: %w", part, err)
		}
		for block, end := 1, false; !end; block++ {
			if out, end, err = in.block(flags, out, limit); err != nil {
				return nil, fmt.Errorf("block %d of part %d: %w", block, part, err)
			}
		}
	}
	return out, nil
}

// header reads magic, header and extra field.
func (in *lzopInput) header() (flags uint32, err error) {
	if magic := in.bytes(len(lzopMagic)); in.short {
		return 0, io.ErrUnexpectedEOF
	} else if string(magic) != lzopMagic {
		return 0, errors.New("no magic bytes")
	}
	start := in.rest
	version, needed, mtime := in.uint16(), uint16(lzopFirstVersion), 4
	in.bytes(2)
	wide := version >= lzopWiderVersion
	if wide {
		needed, mtime = in.uint16(), 8
	}
	method := in.uint8()
	if wide {
		in.bytes(1)
	}
	flags = in.uint32()
	if !in.short { // each of these tells how the rest reads
		switch {
		case version < lzopFirstVersion:
			return 0, fmt.Errorf("version %04x, want %04x or later", version, lzopFirstVersion)
		case needed < lzopFirstVersion || needed > lzopNewestVersion:
			return 0, fmt.Errorf("needs version %04x, want %04x to %04x", needed, lzopFirstVersion, lzopNewestVersion)
		case method < 1 || method > lzopMethods:
			return 0, fmt.Errorf("method %d is none of LZO1X", method)
		case flags&lzopFilter != 0:
			return 0, errors.New("filters are not supported")
		case flags&lzopReserved != 0:
			return 0, fmt.Errorf("flags %#08x have reserved bits", flags)
		}
	}
	in.bytes(4 + mtime)
	in.bytes(int(in.uint8()))
	if err := in.headerChecksum(flags, start, "header"); err != nil {
		return 0, err
	}
	if flags&lzopExtraField != 0 {
		start = in.rest
		in.bytes(int(min(in.uint32(), math.MaxInt32)))
		if err := in.headerChecksum(flags, start, "extra field"); err != nil {
			return 0, err
		}
	}
	return flags, nil
}

// headerChecksum reads the checksum of what was read since start.
func (in *lzopInput) headerChecksum(flags uint32, start []byte, what string) error {
	covered := start[:len(start)-len(in.rest)]
	want := in.uint32()
	if in.short {
		return io.ErrUnexpectedEOF
	}
	sum := adler32.Checksum
	if flags&lzopCRCHeader != 0 {
		sum = crc32.ChecksumIEEE
	}
	if sum(covered) != want {
		return fmt.Errorf("checksum of the %s does not hold", what)
	}
	return nil
}

// block appends the data of a block to out, or finds the end mark.
func (in *lzopInput) block(flags uint32, out []byte, limit int) (_ []byte, end bool, err error) {
	length := in.uint32()
	if length == 0 && !in.short {
		return out, true, nil
	}
	storedLength := in.uint32()
	compressed := storedLength != length
	var plainSums, storedSums lzopSums
	plainSums.read(in, flags&lzopAdlerPlain != 0, flags&lzopCRCPlain != 0)
	if compressed {
		storedSums.read(in, flags&lzopAdlerStored != 0, flags&lzopCRCStored != 0)
	}
	switch {
	case in.short:
		return nil, false, io.ErrUnexpectedEOF
	case length > lzopMaxBlock:
		return nil, false, fmt.Errorf("%d bytes, want at most %d", length, lzopMaxBlock)
	case storedLength == 0 || storedLength > length:
		return nil, false, fmt.Errorf("%d bytes stored as %d", length, storedLength)
	}
	// Nothing is allocated on the word of a length alone: the stored bytes are
	// there, and are enough for what they are said to hold.
	data := in.bytes(int(storedLength))
	switch {
	case in.short:
		return nil, false, io.ErrUnexpectedEOF
	case uint64(length) > lzopMaxRatio*uint64(storedLength):
		return nil, false, fmt.Errorf("%d bytes cannot hold %d", storedLength, length)
	case int(length) > limit-len(out):
		return nil, false, ErrTooLarge
	}
	if err := storedSums.verify(data); err != nil {
		return nil, false, fmt.Errorf("stored data: %w", err)
	}
	out = reserve(out, int(length), limit)
	plain := out[len(out) : len(out)+int(length)]
	if !compressed {
		copy(plain, data)
	} else if n, err := lzo.Decompress(data, plain); err != nil {
		return nil, false, err
	} else if n != len(plain) {
		return nil, false, fmt.Errorf("has %d bytes, not %d", n, length)
	}
	if err := plainSums.verify(plain); err != nil {
		return nil, false, err
	}
	return out[:len(out)+int(length)], false, nil
}

// lzopSums are the checksums of a block's data, decompressed or stored.
type lzopSums struct {
	adler, crc       uint32
	hasAdler, hasCRC bool
}

func (s *lzopSums) read(in *lzopInput, adler, crc bool) {
	if s.hasAdler = adler; adler {
		s.adler = in.uint32()
	}
	if s.hasCRC = crc; crc {
		s.crc = in.uint32()
	}
}

func (s *lzopSums) verify(data []byte) error {
	if s.hasAdler && adler32.Checksum(data) != s.adler {
		return errors.New("Adler-32 does not hold")
	}
	if s.hasCRC && crc32.ChecksumIEEE(data) != s.crc {
		return errors.New("CRC-32 does not hold")
	}
	return nil
}

// lzopInput is what is left of lzop data. Once it was too short for a read, it
// is short, and reads give zeros.
type lzopInput struct {
	rest  []byte
	short bool
}

func (in *lzopInput) bytes(n int) []byte {
	if in.short = in.short || n > len(in.rest); in.short {
		return nil
	}
	b := in.rest[:n]
	in.rest = in.rest[n:]
	return b
}

func (in *lzopInput) uint8() byte {
	if b := in.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (in *lzopInput) uint16() uint16 {
	if b := in.bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (in *lzopInput) uint32() uint32 {
	if b := in.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}
