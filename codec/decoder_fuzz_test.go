package codec

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

const (
	fuzzLimit  = 1 << 16
	fuzzMemory = 24 << 20 // the base that DecoderOptions.MaxBytes speaks of, and what the test itself takes
)

// fuzzDecode holds for every coding, whatever is stored: no panic, no more than
// the limit, memory within bounds, one of the three errors and the encoding in
// it, and a larger limit gives the same bytes.
func fuzzDecode(f *testing.F, encoding string) {
	for _, g := range goldenFiles(f) {
		if g.encoding == encoding && len(g.stored) < 6000 {
			f.Add(g.stored)
		}
	}
	small, large := mustDecoder(f, DecoderOptions{MaxBytes: fuzzLimit}), mustDecoder(f, DecoderOptions{MaxBytes: 4 * fuzzLimit})
	f.Fuzz(func(t *testing.T, stored []byte) {
		var got []byte
		var err error
		n := allocated(func() { got, err = decodeStored(small, encoding, stored) })
		if n > uint64(fuzzMemory+8*len(stored)) {
			t.Fatalf("%d bytes allocated for %d stored", n, len(stored))
		}
		if len(got) > fuzzLimit {
			t.Fatalf("%d bytes", len(got))
		}
		checkDecodeError(t, encoding, err)
		again, err2 := decodeStored(large, encoding, stored)
		checkDecodeError(t, encoding, err2)
		if err == nil && (err2 != nil || !bytes.Equal(got, again)) {
			t.Fatalf("%d bytes; with a larger limit %d bytes, %v", len(got), len(again), err2)
		}
	})
}

func checkDecodeError(t *testing.T, encoding string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrCorrupted) {
		t.Fatalf("error of no kind: %v", err)
	}
	if !strings.Contains(err.Error(), `"`+encoding+`"`) {
		t.Fatalf("error %q does not name %s", err, encoding)
	}
}

func FuzzDecodeGzip(f *testing.F) { fuzzDecode(f, encodingGzip) }

func FuzzDecodeZstd(f *testing.F) { fuzzDecode(f, encodingZstd) }

func FuzzDecodeLZ4(f *testing.F) { fuzzDecode(f, encodingLZ4) }

func FuzzDecodeLzop(f *testing.F) { fuzzDecode(f, encodingLzop) }

// FuzzDecodeLzopBlock reaches the decompressor, which checksums of headers keep
// FuzzDecodeLzop from.
func FuzzDecodeLzopBlock(f *testing.F) {
	f.Add([]byte(lzopZeros(1000)), 1000)
	f.Add([]byte("\x12a\x20\x40\x00\x11\x00\x00"), 99)
	f.Add([]byte("\x15\x00\x00\x00\x00\x20\x00\x00\x00\x05\x00\x00\x11\x00\x00"), 10000)
	for _, g := range goldenFiles(f) {
		if g.name == "text-9.lzop" || g.name == "text-1stdin.lzop" {
			at := len(lzopHeader(0)) - len("name") // of standard input, which has no name
			f.Add(g.stored[at+3*4:len(g.stored)-len(lzopEnd)], len(g.want))
		}
	}
	d := mustDecoder(f, DecoderOptions{MaxBytes: 1 << 20})
	f.Fuzz(func(t *testing.T, data []byte, length int) {
		if length < 1 || length > 1<<20 {
			return
		}
		got, err := decodeStored(d, encodingLzop, []byte(lzopHeader(0)+lzopBlock(string(data), length)+lzopEnd))
		if err == nil && len(got) != length {
			t.Fatalf("%d bytes, want %d", len(got), length)
		}
		if err != nil && !errors.Is(err, ErrCorrupted) {
			t.Fatal(err)
		}
	})
}

// FuzzDecodeAny: any text under any name.
func FuzzDecodeAny(f *testing.F) {
	for _, encoding := range []string{"", encodingBase64, encodingGzip, encodingZstd, encodingLzop, encodingLZ4, encodingEnvelope, "10010", "x"} {
		f.Add("text", encoding)
		f.Add("dGV4dA==", encoding)
	}
	d := mustDecoder(f, DecoderOptions{MaxBytes: fuzzLimit})
	f.Fuzz(func(t *testing.T, body, encoding string) {
		got, err := d.Decode(body, encoding)
		switch {
		case err == nil:
			if len(got) > fuzzLimit || (encoding == "" && string(got) != body) {
				t.Fatalf("%q gives %d bytes", body, len(got))
			}
		case !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrCorrupted) && !errors.Is(err, ErrUnknownEncoding):
			t.Fatalf("error of no kind: %v", err)
		case len(got) > 0:
			t.Fatalf("%d bytes and %v", len(got), err)
		}
	})
}
