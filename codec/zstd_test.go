package codec

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestZstdWindow(t *testing.T) {
	for limit := 1; limit < math.MaxInt/2; limit += limit/7 + 1 {
		size, descriptor := zstdWindow(limit)
		base := uint64(1) << (10 + descriptor>>3)
		if meant := base + base/8*uint64(descriptor&7); meant != size {
			t.Fatalf("limit %d: window %d, but the descriptor %#02x means %d", limit, size, descriptor, meant)
		}
		want := min(max(uint64(limit), zstdLeastMemory), zstdMaxWindow)
		if size < want || size > want+want/8 {
			t.Fatalf("limit %d: window %d", limit, size)
		}
	}
}

// What a frame is guessed to decode to, and where it ends, is right for whatever
// an encoder makes.
func TestZstdFrameOf(t *testing.T) {
	text := readFile(t, "testdata/plain/text")
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedBestCompression} {
		for _, plain := range [][]byte{{}, []byte("a"), text, readFile(t, "testdata/plain/noise"), bytes.Repeat(text, 100), make([]byte, 1<<20)} {
			for _, known := range []bool{true, false} {
				var b bytes.Buffer
				w, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1))
				if err != nil {
					t.Fatal(err)
				}
				if known {
					b.Write(w.EncodeAll(plain, nil))
				} else if _, err = w.Write(plain); errors.Join(err, w.Flush(), w.Close()) != nil {
					t.Fatal(err)
				}
				f := zstdFrameOf(append(b.Bytes(), "next"...))
				if f.size != b.Len() {
					t.Errorf("%d bytes, known %v: frame of %d bytes, want %d", len(plain), known, f.size, b.Len())
				}
				if f.declared && f.content != uint64(len(plain)) {
					t.Errorf("%d bytes declared as %d", len(plain), f.content)
				}
				if f.content > 2*uint64(len(plain))+zstdMaxBlock {
					t.Errorf("%d bytes guessed as %d", len(plain), f.content)
				}
			}
		}
	}
	if f := zstdFrameOf([]byte("no frame")); f.size != 8 || f.content != 0 || f.declared {
		t.Errorf("%+v of no frame", f)
	}
}

// A window beyond the limit does not keep a short body from being decoded, and a
// match may reach over all of an output at the limit.
func TestZstdWindowBeyondTheLimit(t *testing.T) {
	noise := readFile(t, "testdata/plain/noise")
	plain := append(bytes.Clone(noise), make([]byte, 3<<20-2*len(noise))...)
	plain = append(plain, noise...)
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(64<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = w.Write(plain); errors.Join(err, w.Flush(), w.Close()) != nil {
		t.Fatal(err)
	}
	if b.Len() > len(noise)*3/2 {
		t.Fatalf("%d bytes: the second noise was no match", b.Len())
	}
	for _, limit := range []int{len(plain), len(plain) + 1, 64 << 20, math.MaxInt / 2} {
		got, err := decodeStored(mustDecoder(t, DecoderOptions{MaxBytes: limit}), encodingZstd, b.Bytes())
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("limit %d: %d bytes, %v", limit, len(got), err)
		}
	}
	if _, err = decodeStored(mustDecoder(t, DecoderOptions{MaxBytes: len(plain) - 1}), encodingZstd, b.Bytes()); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte over the limit: %v", err)
	}
}
