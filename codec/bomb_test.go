package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// bomb is small data that decodes to size zeros, in 16 parts.
func bomb(t testing.TB, encoding string, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch encoding {
	case encodingGzip:
		w, err = gzip.NewWriterLevel(&b, gzip.BestSpeed)
	case encodingZstd:
		w, err = zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	case encodingLZ4:
		w = lz4.NewWriter(&b)
	case encodingLzop:
		const block = 1 << 20
		part := lzopHeader(0) + strings.Repeat(lzopBlock(lzopZeros(block), block), size/16/block) + lzopEnd
		return bytes.Repeat([]byte(part), 16)
	default:
		t.Fatal(encoding)
	}
	zeros := make([]byte, 1<<20)
	for left := size / 16; err == nil && left > 0; left -= len(zeros) {
		_, err = w.Write(zeros[:min(left, len(zeros))])
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return bytes.Repeat(b.Bytes(), 16)
}

// allocated returns how many bytes f allocated in all, also those it let go of.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A gibibyte of zeros stops at the limit, and so does the memory.
func TestBombs(t *testing.T) {
	const limit = 1 << 20
	d := mustDecoder(t, DecoderOptions{MaxBytes: limit})
	tests := []struct {
		encoding string
		most     uint64 // bytes allocated beside the stored ones
	}{
		{encodingGzip, 4 << 20},
		{encodingZstd, 4 << 20},
		{encodingLzop, 4 << 20},
		{encodingLZ4, 12 << 20}, // two blocks of 4 MiB
	}
	for _, tt := range tests {
		t.Run(tt.encoding, func(t *testing.T) {
			stored := bomb(t, tt.encoding, 1<<30)
			body := string(base64Body(stored))
			var err error
			n := allocated(func() { _, err = d.Decode(body, tt.encoding) })
			if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), tt.encoding) {
				t.Errorf("error %v", err)
			}
			if n > uint64(len(stored))+tt.most {
				t.Errorf("%d bytes allocated for %d stored and a limit of %d", n, len(stored), limit)
			}
			t.Logf("%d bytes stored, %d allocated", len(stored), n)
		})
	}
}

// Data just within the limit decodes in a small multiple of it.
func TestMemoryOfLargeBodies(t *testing.T) {
	const size = 32 << 20
	d := mustDecoder(t, DecoderOptions{MaxBytes: size})
	for _, encoding := range []string{encodingGzip, encodingZstd, encodingLzop, encodingLZ4} {
		t.Run(encoding, func(t *testing.T) {
			stored := bomb(t, encoding, size)
			body := string(base64Body(stored))
			var got []byte
			var err error
			n := allocated(func() { got, err = d.Decode(body, encoding) })
			t.Logf("%d bytes allocated, %d held", n, cap(got))
			if err != nil || len(got) != size || cap(got) > 2*size {
				t.Errorf("%d bytes, %d held, %v", len(got), cap(got), err)
			}
			if n > uint64(3*size+len(stored)+20<<20) {
				t.Errorf("%d bytes allocated for %d", n, size)
			}
		})
	}
}

// Many small frames behind much data do not move it each time.
func TestManyZstdFrames(t *testing.T) {
	const limit, frames = 16 << 20, 20_000
	block := "\x02\x00\x10\x00" // 128 KiB of zeros, RLE
	stored := "\x28\xb5\x2f\xfd\x00\x78" + strings.Repeat(block, 8<<20/(128<<10)-1) + "\x03\x00\x10\x00" +
		strings.Repeat("\x28\xb5\x2f\xfd\x20\x10\x81\x00\x000123456789abcdef", frames)
	want := 8<<20 + 16*frames
	var got []byte
	var err error
	d := mustDecoder(t, DecoderOptions{MaxBytes: limit})
	n := allocated(func() { got, err = decodeStored(d, encodingZstd, []byte(stored)) })
	if err != nil || len(got) != want || !strings.HasSuffix(string(got), "\x00"+strings.Repeat("0123456789abcdef", frames)) {
		t.Errorf("%d bytes, %v; want %d", len(got), err, want)
	}
	if n > 4*limit {
		t.Errorf("%d bytes allocated for %d", n, want)
	}
}

// A few bytes that say there is much to come are not believed.
func TestClaimsTakeNoMemory(t *testing.T) {
	d := mustDecoder(t, DecoderOptions{})
	be32 := func(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }
	tests := []struct {
		name, encoding, stored string
		most                   uint64
	}{
		{"zstd content size", encodingZstd, "\x28\xb5\x2f\xfd\xa0\x00\x00\x00\x04\x02\x00\x00a", 1 << 20},
		{"zstd content size and window", encodingZstd, "\x28\xb5\x2f\xfd\x80\xff\x00\x00\x00\x04\x02\x00\x00a", 1 << 20},
		{"zstd window", encodingZstd, "\x28\xb5\x2f\xfd\x00\xff\x02\x00\x00", 1 << 20},
		{"zstd block", encodingZstd, "\x28\xb5\x2f\xfd\x00\x88\xfc\xff\xff", 1 << 20},
		{"lzop block", encodingLzop, lzopHeader(0) + be32(lzopMaxBlock) + be32(10) + "0123456789", 1 << 16},
		{"lzop stored block", encodingLzop, lzopHeader(0) + be32(lzopMaxBlock) + be32(lzopMaxBlock) + "0123456789", 1 << 16},
		{"lzop block beyond all sizes", encodingLzop, lzopHeader(0) + be32(1<<32-1) + be32(1<<32-1), 1 << 16},
		{"lzop extra field", encodingLzop, lzopHeader(lzopExtraField) + be32(1<<32-1), 1 << 16},
		{"lz4 block", encodingLZ4, "\x04\x22\x4d\x18\x64\x70\xb9\x00\x00\x40\x00", 20 << 20},
		{"lz4 legacy block", encodingLZ4, "\x02\x21\x4c\x18\x00\x00\x80\x00", 20 << 20},
		{"gzip extra field", encodingGzip, "\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\x03\xff\xff", 1 << 18},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := string(base64Body([]byte(tt.stored)))
			var err error
			n := allocated(func() { _, err = d.Decode(body, tt.encoding) })
			if n > tt.most {
				t.Errorf("%d bytes allocated for %d", n, len(tt.stored))
			}
			t.Logf("%d bytes allocated: %v", n, err)
		})
	}
}
