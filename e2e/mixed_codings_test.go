//go:build e2e

package e2e

import (
	"bytes"
	"compress/gzip"
	bigendian "encoding/binary"
	"hash/adler32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topictypes"

	"sqsgate/codec"
)

// codecLZ4 is the custom codec that lz4Flags give a name.
const codecLZ4 = topictypes.CodecCustomerFirst + 1

func lz4Flags() []string { return []string{"--codecs", "10001=lz4"} }

// coding is a way in which Topic API writers store data.
type coding struct {
	name     string
	codec    topictypes.Codec
	encoding string // BodyEncoding, "" if the body is the text itself
	bodies   []storedBody
}

// storedBody is data as a topic stores it, and what it was made of.
type storedBody struct {
	name             string
	stored, original []byte
}

// codings are all codings with bodies: for the compressed ones what the real
// programs have made, and make now where they are installed.
func codings(t *testing.T) []coding {
	t.Helper()
	plain := func(bodies ...string) (list []storedBody) {
		for _, b := range bodies {
			list = append(list, storedBody{abbreviate(b), []byte(b), []byte(b)})
		}
		return list
	}
	text, noise := testFile(t, "plain/text"), testFile(t, "plain/noise")
	return []coding{
		{"text", topictypes.CodecRaw, "", plain(string(text), "é – 😀\r\n\tend", `<a href="&amp;">'\u0041'</a>`, " ")},
		{"binary", topictypes.CodecRaw, "base64", plain(string(noise), "\x00", "text and \x1b", "half a rune \xe2\x82", "\ufffe is no character")},
		{"gzip", topictypes.CodecGzip, "gzip", append(golden(t, "gzip"), packed(t, "gzip", "-c", "-n")...)},
		{"zstd", topictypes.CodecZstd, "zstd", append(golden(t, "zstd"), packed(t, "zstd", "-q", "-c")...)},
		{"lzop", topictypes.CodecLzop, "lzop", append(golden(t, "lzop"), packed(t, "lzop", "-q", "-c")...)},
		{"lz4", codecLZ4, "lz4", append(golden(t, "lz4"), packed(t, "lz4", "-q", "-c")...)},
	}
}

func testFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "codec", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// golden are the files that the real program of an encoding has made; their
// names begin with what they were made of.
func golden(t testing.TB, encoding string) (bodies []storedBody) {
	t.Helper()
	text, noise := testFile(t, "plain/text"), testFile(t, "plain/noise")
	originals := map[string][]byte{
		"text": text, "noise": noise, "empty": nil,
		"long": bytes.Repeat(text, 50), "text+noise": append(bytes.Clone(text), noise...),
	}
	paths, err := filepath.Glob(filepath.Join("..", "codec", "testdata", "golden", "*."+encoding))
	if err != nil || len(paths) < 4 {
		t.Fatalf("golden files of %s: %v, %v", encoding, paths, err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		of, _, _ := strings.Cut(strings.TrimSuffix(name, "."+encoding), "-")
		original, known := originals[of]
		if !known {
			t.Fatalf("%s is made of nothing known", name)
		}
		bodies = append(bodies, storedBody{name, testFile(t, "golden/"+name), original})
	}
	return bodies
}

// packed is made by the real program now; nothing where it is not installed.
func packed(t testing.TB, program string, args ...string) (bodies []storedBody) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		return nil
	}
	for _, original := range []string{"short", strings.Repeat("made just now. ", 1000)} {
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Stdin = strings.NewReader(original)
		stored, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", program, err)
		}
		bodies = append(bodies, storedBody{program + " of " + abbreviate(original), stored, []byte(original)})
	}
	return bodies
}

// packer stores data under codecs as libraries do; for one goroutine.
type packer struct {
	zstd *zstd.Encoder
	lz4  *lz4.Writer
	gzip *gzip.Writer
}

func newPacker(t testing.TB) *packer {
	t.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstd.MinWindowSize))
	if err != nil {
		t.Fatal(err)
	}
	l := lz4.NewWriter(nil)
	if err := l.Apply(lz4.BlockSizeOption(lz4.Block64Kb)); err != nil {
		t.Fatal(err)
	}
	return &packer{z, l, gzip.NewWriter(nil)}
}

func (p *packer) pack(number topictypes.Codec, data []byte) []byte {
	switch int32(number) {
	case codec.Gzip:
		return through(p.gzip, data)
	case codec.Lzop:
		return lzopBytes(data)
	case codec.Zstd:
		return p.zstd.EncodeAll(data, nil)
	case int32(codecLZ4):
		return through(p.lz4, data)
	}
	return data
}

func through(w interface {
	io.WriteCloser
	Reset(io.Writer)
}, data []byte,
) []byte {
	var b bytes.Buffer
	w.Reset(&b)
	_, _ = w.Write(data) // writing to memory does not fail
	_ = w.Close()
	return b.Bytes()
}

// lzopBytes is a part with one block that is not compressed, without checksums
// of the data.
func lzopBytes(data []byte) []byte {
	const (
		magic  = "\x89LZO\x00\r\n\x1a\n"
		header = "\x10\x40\x20\xa0\x09\x40\x01\x05\x00\x00\x00\x00\x00\x00\x81\xa4\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	)
	b := bigendian.BigEndian.AppendUint32([]byte(magic+header), adler32.Checksum([]byte(header)))
	b = bigendian.BigEndian.AppendUint32(b, uint32(len(data)))
	b = bigendian.BigEndian.AppendUint32(b, uint32(len(data)))
	return bigendian.BigEndian.AppendUint32(append(b, data...), 0)
}
