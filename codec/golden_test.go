package codec

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// golden is a file that a real program made of data we know; see
// testdata/golden.sh.
type golden struct {
	name     string
	encoding string
	stored   []byte
	want     []byte
}

func goldenFiles(t testing.TB) []golden {
	t.Helper()
	text, noise := readFile(t, "testdata/plain/text"), readFile(t, "testdata/plain/noise")
	plain := map[string][]byte{
		"text":       text,
		"noise":      noise,
		"long":       bytes.Repeat(text, 50),
		"empty":      {},
		"text+noise": append(bytes.Clone(text), noise...),
	}
	paths, err := filepath.Glob("testdata/golden/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("golden files: %v, %v", paths, err)
	}
	var all []golden
	for _, path := range paths {
		name := filepath.Base(path)
		base, encoding, _ := strings.Cut(name, ".")
		base, _, _ = strings.Cut(base, "-")
		want, ok := plain[base]
		if !ok {
			t.Fatalf("%s: made of nothing known", name)
		}
		all = append(all, golden{name, encoding, readFile(t, path), want})
	}
	return all
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decodeStored(d *Decoder, encoding string, stored []byte) ([]byte, error) {
	return d.Decode(string(base64Body(stored)), encoding)
}

func mustDecoder(t testing.TB, o DecoderOptions) *Decoder {
	t.Helper()
	d, err := NewDecoder(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestGoldenFiles(t *testing.T) {
	d := mustDecoder(t, DecoderOptions{})
	for _, g := range goldenFiles(t) {
		t.Run(g.name, func(t *testing.T) {
			got, err := decodeStored(d, g.encoding, g.stored)
			if err != nil || !bytes.Equal(got, g.want) {
				t.Errorf("%d bytes, %v; want %d bytes", len(got), err, len(g.want))
			}
			if got, err = Decode(string(base64Body(g.stored)), g.encoding); err != nil || !bytes.Equal(got, g.want) {
				t.Errorf("without a Decoder: %d bytes, %v", len(got), err)
			}
		})
	}
}

// The limit is exact for every coding.
func TestGoldenFilesAtTheLimit(t *testing.T) {
	for _, g := range goldenFiles(t) {
		if len(g.want) == 0 {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			got, err := decodeStored(mustDecoder(t, DecoderOptions{MaxBytes: len(g.want)}), g.encoding, g.stored)
			if err != nil || !bytes.Equal(got, g.want) {
				t.Errorf("%d bytes at a limit of as many: %v", len(g.want), err)
			}
			for _, limit := range []int{1, len(g.want) / 2, len(g.want) - 1} {
				got, err := decodeStored(mustDecoder(t, DecoderOptions{MaxBytes: limit}), g.encoding, g.stored)
				if !errors.Is(err, ErrTooLarge) || got != nil {
					t.Errorf("%d bytes at a limit of %d: got %d, %v", len(g.want), limit, len(got), err)
				}
			}
		})
	}
}

// Data that ends early is an error, not a shorter body.
func TestGoldenFilesCutOff(t *testing.T) {
	d := mustDecoder(t, DecoderOptions{})
	for _, g := range goldenFiles(t) {
		t.Run(g.name, func(t *testing.T) {
			whole := map[string]bool{}
			if strings.HasPrefix(g.name, "text+noise") { // whole after its first part
				whole[string(readFile(t, "testdata/plain/text"))] = true
			}
			step := 1 + len(g.stored)/150
			for n := 0; n < len(g.stored); n += step {
				got, err := decodeStored(d, g.encoding, g.stored[:n])
				if err == nil && !whole[string(got)] {
					t.Errorf("cut to %d of %d bytes: %d bytes and no error", n, len(g.stored), len(got))
				}
				if err != nil && !errors.Is(err, ErrCorrupted) {
					t.Errorf("cut to %d of %d bytes: %v", n, len(g.stored), err)
				}
			}
		})
	}
}

// What follows whole data is looked at.
func TestGoldenFilesWithGarbage(t *testing.T) {
	d := mustDecoder(t, DecoderOptions{})
	for _, g := range goldenFiles(t) {
		if strings.Contains(g.name, "legacy") {
			continue // this format has no end: what follows is one more block
		}
		t.Run(g.name, func(t *testing.T) {
			for _, garbage := range []string{"x", "\x00\x00\x00\x00", "some garbage of a length"} {
				got, err := decodeStored(d, g.encoding, append(bytes.Clone(g.stored), garbage...))
				if !errors.Is(err, ErrCorrupted) {
					t.Errorf("followed by %q: %d bytes, %v", garbage, len(got), err)
				}
			}
		})
	}
}

// With a checksum no changed byte goes by unseen: an error, or a byte that says
// nothing about the data.
func TestGoldenFilesChanged(t *testing.T) {
	d := mustDecoder(t, DecoderOptions{MaxBytes: 1 << 20})
	for _, g := range goldenFiles(t) {
		if strings.Contains(g.name, "nosum") || strings.Contains(g.name, "legacy") || strings.HasSuffix(g.name, "noise.zstd") {
			continue // no checksum of the data
		}
		t.Run(g.name, func(t *testing.T) {
			step := 1 + len(g.stored)/80
			for i := 0; i < len(g.stored); i += step {
				changed := bytes.Clone(g.stored)
				changed[i] ^= 0x41
				got, err := decodeStored(d, g.encoding, changed)
				if err == nil && !bytes.Equal(got, g.want) {
					t.Errorf("byte %d changed: %d other bytes and no error", i, len(got))
				}
			}
		})
	}
}
