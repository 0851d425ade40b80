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
	zstdMaxBlock    = 128 << 10
	zstdChecksum    = 4
)

// Types of blocks.
const (
	zstdRLE        = 1
	zstdCompressed = 2
)

// unzstd decodes one or several Zstandard frames (RFC 8878), checksums verified
// where they are. It writes to stored.
//
// Each frame is decoded in one piece, behind the output so far. That takes no
// memory for its window, however large the frame says it is: the output is the
// window. But the decoder refuses windows over its memory limit, and compressors
// say 8 MiB and more also for a short body; so a frame that says more than the
// output may still have is made to say as much. To an output within the limit it
// is all the same, because a match reaches back no further than there is output.
func (d *Decoder) unzstd(stored []byte) ([]byte, error) {
	r, ok := d.zstd.Get().(*zstd.Decoder)
	if !ok {
		var err error
		if r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1)); err != nil { // 1: no goroutines
			return nil, err
		}
	}
	defer d.zstd.Put(r)
	var out []byte
	for len(stored) > 0 {
		left := d.limit - len(out)
		window, descriptor := zstdWindow(left)
		memory := zstd.WithDecoderMaxMemory(max(window, uint64(left)))
		if err := r.ResetWithOptions(nil, memory, zstd.WithDecoderMaxWindow(window)); err != nil {
			return nil, err
		}
		f := zstdFrameOf(stored)
		if f.declared && f.content > uint64(left) {
			return nil, ErrTooLarge
		}
		if f.window > window {
			stored[zstdWindowAt] = descriptor
		}
		// Room for frames that declare their content must be made here: the
		// decoder would make it anew and exactly for each of them.
		out = reserve(out, int(min(f.content, uint64(left))), d.limit)
		part, err := r.DecodeAll(stored[:f.size], out[len(out):])
		switch {
		case errors.Is(err, zstd.ErrDecoderSizeExceeded) || len(part) > left:
			return nil, ErrTooLarge
		case err != nil:
			return nil, err
		case len(out) == 0:
			out = part
		default: // mostly a copy onto itself
			out = append(reserve(out, len(part), d.limit), part...)
		}
		stored = stored[f.size:]
	}
	return out, nil
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

// zstdFrame is what a frame says of itself.
type zstdFrame struct {
	size     int    // all bytes there are, if it does not parse
	window   uint64 // 0 if it has none
	content  uint64 // a guess, unless declared; its blocks can bear it out
	declared bool
}

func zstdFrameOf(b []byte) (f zstdFrame) {
	f.size = len(b)
	var h zstd.Header
	if h.Decode(b) != nil {
		return f
	}
	if h.Skippable {
		f.size = int(min(uint64(len(b)), uint64(h.HeaderSize)+uint64(h.SkippableSize)))
		return f
	}
	if !h.SingleSegment {
		f.window = h.WindowSize
	}
	at := h.HeaderSize
	for last := false; !last; {
		if len(b)-at < zstdBlockHeader {
			return zstdFrame{size: len(b), window: f.window}
		}
		header := int(b[at]) | int(b[at+1])<<8 | int(b[at+2])<<16
		last = header&1 != 0
		length := header >> 3
		at += zstdBlockHeader
		switch header >> 1 & 3 {
		case zstdRLE:
			f.content += uint64(length)
			at++
		case zstdCompressed:
			// That all blocks but the last are full is a good guess.
			if full := uint64(zstdMaxBlock); last && !h.HasFCS {
				f.content += min(usualRatio*uint64(length), full)
			} else {
				f.content += full
			}
			at += length
		default: // raw, or one that the decoder refuses
			f.content += uint64(length)
			at += length
		}
	}
	if h.HasCheckSum {
		at += zstdChecksum
	}
	f.size = min(at, len(b))
	if h.HasFCS {
		f.declared = h.FrameContentSize <= f.content
		f.content = min(f.content, h.FrameContentSize)
	}
	return f
}
