package codec

import (
	"errors"
	"math/bits"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdLeastMemory is enough for a block of any frame, whatever the limit.
	zstdLeastMemory = 1 << 20
	// zstdMaxWindow is the largest window that the program zstd makes.
	zstdMaxWindow = 1 << 31

	zstdWindowAt    = 5 // where a frame has its window, if it has one
	zstdBlockHeader = 3
	zstdRLE         = 1
	zstdChecksum    = 4
)

// unzstd decodes one or several Zstandard frames (RFC 8878), checksums verified
// where they are. It writes to stored.
//
// DecodeAll takes no memory for the window, however large a frame says it is:
// what was decoded is the window. But it refuses windows over its memory limit,
// and compressors say 8 MiB and more also for a short body. Hence lowerWindows.
func (d *Decoder) unzstd(stored []byte) ([]byte, error) {
	r, err := d.zstdDecoder()
	if err != nil {
		return nil, err
	}
	defer d.zstd.Put(r)
	lowerWindows(stored, d.limit)
	out, err := r.DecodeAll(stored, nil)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || len(out) > d.limit {
		return nil, ErrTooLarge
	}
	return out, err
}

func (d *Decoder) zstdDecoder() (*zstd.Decoder, error) {
	if r, ok := d.zstd.Get().(*zstd.Decoder); ok {
		return r, nil
	}
	window, _ := zstdWindow(d.limit)
	return zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1), // no goroutines
		zstd.WithDecoderMaxMemory(max(window, uint64(d.limit))),
		zstd.WithDecoderMaxWindow(window),
	)
}

// zstdWindow returns the smallest window that holds limit bytes, and the byte
// that means it: five bits of exponent over 1 KiB, three bits of eighths more.
func zstdWindow(limit int) (size uint64, descriptor byte) {
	want := uint64(min(max(int64(limit), zstdLeastMemory), zstdMaxWindow))
	exponent := bits.Len64(want) - 1
	eighth := uint64(1) << (exponent - 3)
	eighths := (want - 8*eighth + eighth - 1) / eighth
	if eighths == 8 {
		exponent, eighth, eighths = exponent+1, 2*eighth, 0
	}
	return (8 + eighths) * eighth, byte(exponent-10)<<3 | byte(eighths)
}

// lowerWindows makes frames with a window of more than the limit say no more
// than it: a match never reaches back further than there is output, so that to
// an output within the limit it is all the same. It leaves frames that do not
// parse to the decoder's judgement.
func lowerWindows(frames []byte, limit int) {
	window, descriptor := zstdWindow(limit)
	for len(frames) > 0 {
		var h zstd.Header
		if h.Decode(frames) != nil {
			return
		}
		size := uint64(h.HeaderSize)
		if h.Skippable {
			size += uint64(h.SkippableSize)
		} else {
			if !h.SingleSegment && h.WindowSize > window {
				frames[zstdWindowAt] = descriptor
			}
			size = zstdFrameSize(frames, h)
		}
		if size == 0 || size > uint64(len(frames)) {
			return
		}
		frames = frames[size:]
	}
}

// zstdFrameSize returns how many bytes the frame has, 0 if it has no end.
func zstdFrameSize(frame []byte, h zstd.Header) uint64 {
	at := h.HeaderSize
	for last := false; !last; {
		if len(frame)-at < zstdBlockHeader {
			return 0
		}
		header := uint(frame[at]) | uint(frame[at+1])<<8 | uint(frame[at+2])<<16
		last = header&1 != 0
		stored := int(header >> 3)
		if header>>1&3 == zstdRLE {
			stored = 1
		}
		at += zstdBlockHeader + stored
	}
	if h.HasCheckSum {
		at += zstdChecksum
	}
	return uint64(at)
}
