package codec

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

func TestDecode(t *testing.T) {
	zlibbed := func(s string) string {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		if _, err := w.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return string(base64Body(b.Bytes()))
	}
	d := mustDecoder(t, DecoderOptions{
		MaxBytes: 10,
		Custom: map[string]NewReader{
			"zlib":   func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
			"10010":  func(r io.Reader) (io.Reader, error) { return r, nil },
			"lz4":    func(io.Reader) (io.Reader, error) { return strings.NewReader("not frames"), nil },
			"stuck":  func(io.Reader) (io.Reader, error) { return idle{}, nil },
			"broken": func(io.Reader) (io.Reader, error) { return nil, errors.New("no such luck") },
			"late":   func(io.Reader) (io.Reader, error) { return iotest.ErrReader(errors.New("lost")), nil },
		},
	})
	tests := []struct {
		name, body, encoding string
		want                 string
		err                  error
		text                 string // the error has it
	}{
		{"text", "hé\n", "", "hé\n", nil, ""},
		{"no text", "", "", "", nil, ""},
		{"text at the limit", "1234567890", "", "1234567890", nil, ""},
		{"text over the limit", "12345678901", "", "", ErrTooLarge, `"" body`},
		{"binary", "AP8=", "base64", "\x00\xff", nil, ""},
		{"no binary", "", "base64", "", nil, ""},
		{"binary in lines", "AP\r\n8=", "base64", "\x00\xff", nil, ""},
		{"binary at the limit", "MTIzNDU2Nzg5MA==", "base64", "1234567890", nil, ""},
		{"binary over the limit", "MTIzNDU2Nzg5MDE=", "base64", "", ErrTooLarge, `"base64"`},
		{"binary without its padding", "AP8", "base64", "", ErrCorrupted, `"base64"`},
		{"binary with bits to spare", "AP9=", "base64", "", ErrCorrupted, `"base64"`},
		{"binary of another alphabet", "_-8=", "base64", "", ErrCorrupted, `"base64"`},
		{"gzip that is no base64", "!", "gzip", "", ErrCorrupted, `"gzip"`},
		{"gzip of another format", "AAAA", "gzip", "", ErrCorrupted, `"gzip"`},
		{"empty gzip", "", "gzip", "", ErrCorrupted, `"gzip"`},
		{"empty zstd", "", "zstd", "", ErrCorrupted, `"zstd"`},
		{"zstd of another format", "AAAAAAAA", "zstd", "", ErrCorrupted, `"zstd"`},
		{"empty lzop", "", "lzop", "", ErrCorrupted, `"lzop"`},
		{"lzop of another format", "AAAAAAAAAAAAAAAA", "lzop", "", ErrCorrupted, `"lzop"`},
		{"YDB's lzop of nothing", "AAAAAA==", "lzop", "", nil, ""},
		{"custom", zlibbed("data"), "zlib", "data", nil, ""},
		{"custom at the limit", zlibbed("1234567890"), "zlib", "1234567890", nil, ""},
		{"custom over the limit", zlibbed("12345678901"), "zlib", "", ErrTooLarge, `"zlib"`},
		{"custom of another format", "AAAA", "zlib", "", ErrCorrupted, `"zlib"`},
		{"custom that does not begin", "", "broken", "", ErrCorrupted, "no such luck"},
		{"custom that breaks off", "", "late", "", ErrCorrupted, "lost"},
		{"custom that never ends", "", "stuck", "", ErrCorrupted, `"stuck"`},
		{"custom under a number", "YWJj", "10010", "abc", nil, ""},
		{"a custom lz4", "", "lz4", "not frames", nil, ""},
		{"codec without a name", "YWJj", "10011", "", ErrUnknownEncoding, `"10011": the gateway has no name for codec 10011`},
		{"name nobody knows", "YWJj", "brotli", "", ErrUnknownEncoding, `"brotli"`},
		{"endless name", "YWJj", strings.Repeat("x", 1000), "", ErrUnknownEncoding, strings.Repeat("x", 64) + `"`},
		{"other case", "YWJj", "GZIP", "", ErrUnknownEncoding, `"GZIP"`},
		{"envelope", string(base64Body([]byte("\x00text"))), "10077", "text", nil, ""},
		{"envelope over the limit", string(base64Body([]byte("\x0012345678901"))), "10077", "", ErrTooLarge, `"10077"`},
		{"damaged envelope", string(base64Body([]byte("\x05abc"))), "10077", "", ErrCorrupted, `"10077"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := d.Decode(tt.body, tt.encoding)
			if string(got) != tt.want || !errors.Is(err, tt.err) {
				t.Fatalf("%q, %v; want %q, %v", got, err, tt.want, tt.err)
			}
			if err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %q does not say %s", err, tt.text)
			}
		})
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

type closing struct {
	io.Reader
	closed *int
	err    error
}

func (c closing) Close() error { *c.closed++; return c.err }

func TestCustomReaderIsClosed(t *testing.T) {
	closed, failure := 0, error(nil)
	d := mustDecoder(t, DecoderOptions{MaxBytes: 4, Custom: map[string]NewReader{
		"own": func(r io.Reader) (io.Reader, error) { return closing{r, &closed, failure}, nil },
	}})
	if got, err := decodeStored(d, "own", []byte("data")); string(got) != "data" || err != nil || closed != 1 {
		t.Errorf("%q, %v, closed %d times", got, err, closed)
	}
	if _, err := decodeStored(d, "own", []byte("datas")); !errors.Is(err, ErrTooLarge) || closed != 2 {
		t.Errorf("over the limit: %v, closed %d times", err, closed)
	}
	failure = errors.New("checksum does not hold")
	if _, err := decodeStored(d, "own", []byte("data")); !errors.Is(err, ErrCorrupted) || !errors.Is(err, failure) || closed != 3 {
		t.Errorf("with a failing Close: %v, closed %d times", err, closed)
	}
}

func TestDecoderOptions(t *testing.T) {
	own := func(r io.Reader) (io.Reader, error) { return r, nil }
	tests := []struct {
		name string
		o    DecoderOptions
		want string // "" is no error
	}{
		{"none", DecoderOptions{}, ""},
		{"custom", DecoderOptions{Custom: map[string]NewReader{"brotli": own, "lz4": own, "10010": own}}, ""},
		{"negative limit", DecoderOptions{MaxBytes: -1}, "MaxBytes is -1"},
		{"built-in name", DecoderOptions{Custom: map[string]NewReader{"gzip": own}}, `"gzip": the name has a meaning`},
		{"the envelope's number", DecoderOptions{Custom: map[string]NewReader{"10077": own}}, `"10077": the name has a meaning`},
		{"no name", DecoderOptions{Custom: map[string]NewReader{"": own}}, `"": want`},
		{"bad name", DecoderOptions{Custom: map[string]NewReader{"a b": own}}, `"a b": want`},
		{"no decoder", DecoderOptions{Custom: map[string]NewReader{"brotli": nil}}, `"brotli": its decoder is nil`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := NewDecoder(tt.o)
			if tt.want == "" {
				if err != nil || d == nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %s", err, tt.want)
			}
		})
	}
}

func TestReadAllInPieces(t *testing.T) {
	text := strings.Repeat("0123456789", 300)
	for _, limit := range []int{3000, 3001, 6000, DefaultMaxBytes} {
		for _, guess := range []int{0, 1, 3000, 1 << 30} {
			got, err := readAll(iotest.OneByteReader(strings.NewReader(text)), guess, limit)
			if string(got) != text || err != nil || cap(got) > limit {
				t.Errorf("limit %d, guess %d: %d bytes, %d allocated, %v", limit, guess, len(got), cap(got), err)
			}
			got, err = readAll(iotest.DataErrReader(strings.NewReader(text)), guess, limit)
			if string(got) != text || err != nil {
				t.Errorf("limit %d, guess %d, data with io.EOF: %d bytes, %v", limit, guess, len(got), err)
			}
		}
	}
}

func TestDecoderConcurrently(t *testing.T) {
	d := mustDecoder(t, DecoderOptions{})
	files := goldenFiles(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for _, g := range files {
				if got, err := decodeStored(d, g.encoding, g.stored); err != nil || !bytes.Equal(got, g.want) {
					t.Errorf("%s: %d bytes, %v", g.name, len(got), err)
				}
			}
		})
	}
	all.Wait()
}
