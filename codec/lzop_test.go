package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"hash/crc32"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// lzopHeader is magic and header as lzop 1.04 writes them.
func lzopHeader(flags uint32) string {
	return lzopMagic + lzopChecked(flags, "\x10\x40\x20\xa0\x09\x40\x01\x05"+lzopNumber(flags)+"\x00\x00\x81\xa4modtmod2\x04name")
}

func lzopNumber(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }

// lzopChecked puts the header's checksum behind it.
func lzopChecked(flags uint32, s string) string {
	if flags&lzopCRCHeader != 0 {
		return s + lzopNumber(crc32.ChecksumIEEE([]byte(s)))
	}
	return s + lzopNumber(adler32.Checksum([]byte(s)))
}

// lzopBlock is a block without checksums.
func lzopBlock(data string, length int) string {
	return lzopNumber(uint32(length)) + lzopNumber(uint32(len(data))) + data
}

// lzopZeros is LZO1X of n zeros, n > 300: four literals, one match that copies
// the byte before it, the end.
func lzopZeros(n int) string {
	rest := n - 4 - 33
	whole := (rest - 1) / 255
	return "\x15\x00\x00\x00\x00\x20" + strings.Repeat("\x00", whole) + string([]byte{byte(rest - 255*whole)}) + "\x00\x00\x11\x00\x00"
}

func TestLzopFormat(t *testing.T) {
	const zeros = 1000
	plain, packed := make([]byte, zeros), lzopZeros(zeros)
	adler := func(s string) string { return lzopNumber(adler32.Checksum([]byte(s))) }
	crc := func(s string) string { return lzopNumber(crc32.ChecksumIEEE([]byte(s))) }
	sized := func(length, stored int) string { return lzopNumber(uint32(length)) + lzopNumber(uint32(stored)) }
	all := uint32(lzopAdlerPlain | lzopAdlerStored | lzopCRCPlain | lzopCRCStored | lzopCRCHeader)
	old := func(version string) string {
		return lzopMagic + lzopChecked(0, version+"\x20\xa0\x01"+"\x00\x00\x00\x00"+"modetime\x00")
	}
	with := func(at int, b byte) string { // a header changed at a place, its checksum right
		h := []byte(lzopHeader(0))
		h[at] = b
		return lzopMagic + lzopChecked(0, string(h[len(lzopMagic):len(h)-4]))
	}
	block := lzopBlock(packed, zeros)
	extra := func(flags uint32) string {
		return lzopHeader(flags|lzopExtraField) + lzopChecked(flags, "\x00\x00\x00\x05extra")
	}
	tests := []struct {
		name, stored, want string
		err                string // "" is no error
	}{
		{"no checksums", lzopHeader(0) + block + lzopEnd, string(plain), ""},
		{"blocks", lzopHeader(0) + block + lzopBlock("abc", 3) + lzopEnd, string(plain) + "abc", ""},
		{"no blocks", lzopHeader(0) + lzopEnd, "", ""},
		{"parts", lzopHeader(0) + lzopBlock("abc", 3) + lzopEnd + lzopHeader(lzopCRCHeader) + lzopBlock("de", 2) + lzopEnd, "abcde", ""},
		{"every checksum", lzopHeader(all) + sized(zeros, len(packed)) + adler(string(plain)) + crc(string(plain)) + adler(packed) + crc(packed) + packed + lzopEnd, string(plain), ""},
		{"every checksum of a stored block", lzopHeader(all) + sized(3, 3) + adler("abc") + crc("abc") + "abc" + lzopEnd, "abc", ""},
		{"checksums of stored data alone", lzopHeader(lzopAdlerStored) + sized(3, 3) + "abc" + sized(zeros, len(packed)) + adler(packed) + packed + lzopEnd, "abc" + string(plain), ""},
		{"extra field", extra(0) + lzopEnd, "", ""},
		{"extra field with CRC-32", extra(lzopCRCHeader) + lzopEnd, "", ""},
		{"before 0.94", old("\x09\x39") + block + lzopEnd, string(plain), ""},
		{"as YDB's C++ library writes", lzopMagic + lzopChecked(0, "\x10\x30\x20\xa0\x09\x00\x02\x03\x00\x00\x00\x00\x00\x00\x01\xa4\x00\x00\x00\x00\x00\x00\x00\x00\x00") + block + lzopEnd, string(plain), ""},

		{"Adler-32 of the data", lzopHeader(lzopAdlerPlain) + sized(3, 3) + adler("abd") + "abc" + lzopEnd, "", "block 1 of part 1: Adler-32"},
		{"CRC-32 of the data", lzopHeader(lzopCRCPlain) + sized(3, 3) + crc("abd") + "abc" + lzopEnd, "", "block 1 of part 1: CRC-32"},
		{"Adler-32 of stored data", lzopHeader(lzopAdlerStored) + sized(zeros, len(packed)) + adler("abc") + packed + lzopEnd, "", "stored data: Adler-32"},
		{"CRC-32 of stored data", lzopHeader(lzopCRCStored) + sized(zeros, len(packed)) + crc("abc") + packed + lzopEnd, "", "stored data: CRC-32"},
		{"checksum of the header", strings.Replace(lzopHeader(0), "name", "nave", 1) + lzopEnd, "", "header of part 1: checksum of the header"},
		{"checksum of the extra field", strings.Replace(extra(0), "extra", "exbra", 1) + lzopEnd, "", "checksum of the extra field"},
		{"checksum of the second header", lzopHeader(0) + lzopEnd + strings.Replace(lzopHeader(0), "name", "nave", 1) + lzopEnd, "", "header of part 2"},
		{"version too old", old("\x08\xff") + lzopEnd, "", "version 08ff"},
		{"version to come", with(13, 0x20) + lzopEnd, "", "needs version 2040"},
		{"needed version too old", with(13, 0x08) + lzopEnd, "", "needs version 0840"},
		{"no method", with(15, 0) + lzopEnd, "", "method 0"},
		{"method of another library", with(15, 128) + lzopEnd, "", "method 128"},
		{"filter", lzopHeader(lzopFilter) + lzopEnd, "", "filters"},
		{"flags to come", lzopHeader(0x4000) + lzopEnd, "", "reserved"},
		{"no magic", "LZO" + lzopHeader(0), "", "magic"},
		{"no end", lzopHeader(0) + block, "", "block 2 of part 1: unexpected EOF"},
		{"block of nothing", lzopHeader(0) + sized(3, 0) + lzopEnd, "", "3 bytes stored as 0"},
		{"block that grew", lzopHeader(0) + sized(3, 4) + "abcd" + lzopEnd, "", "3 bytes stored as 4"},
		{"block over 64 MiB", lzopHeader(0) + sized(lzopMaxBlock+1, 4) + "abcd" + lzopEnd, "", "want at most"},
		{"block of too few bytes", lzopHeader(0) + sized(zeros, 3) + "abc" + lzopEnd, "", "3 bytes cannot hold 1000"},
		{"block with more than it says", lzopHeader(0) + lzopBlock(packed, zeros-1) + lzopEnd, "", "block 1 of part 1: lzo: output overrun"},
		{"block with less than it says", lzopHeader(0) + lzopBlock(packed, zeros+1) + lzopEnd, "", "has 1000 bytes, not 1001"},
		{"block with a rest", lzopHeader(0) + lzopBlock(packed+"x", zeros) + lzopEnd, "", "not fully consumed"},
		{"block that looks back too far", lzopHeader(0) + lzopBlock("\x12a\x20\x40\x00\x11\x00\x00", 99) + lzopEnd, "", "lookbehind"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decodeStored(mustDecoder(t, DecoderOptions{}), encodingLzop, []byte(tt.stored))
			if tt.err == "" {
				if err != nil || string(got) != tt.want {
					t.Errorf("%d bytes, %v; want %d bytes", len(got), err, len(tt.want))
				}
				return
			}
			if got != nil || !errors.Is(err, ErrCorrupted) || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%d bytes, %v; want an error with %q", len(got), err, tt.err)
			}
		})
	}
}

// Whatever the real program makes comes back. The golden files hold the same
// where it is not installed.
func TestLzopProgram(t *testing.T) {
	program, err := exec.LookPath("lzop")
	if err != nil {
		t.Skip("lzop is not installed")
	}
	d := mustDecoder(t, DecoderOptions{})
	random := rand.New(rand.NewPCG(6, 5))
	for _, options := range []string{"-1", "-3", "-7", "-9", "-1 --crc32", "-9 --crc32", "-3 -F", "-1 -F --crc32"} {
		for _, size := range []int{1, 17, 240, 5_000, 300_000} {
			for spread := 1; spread <= 256; spread *= 16 {
				want := repetitive(random, size, spread)
				command := exec.CommandContext(t.Context(), program, strings.Fields(options)...)
				command.Stdin = bytes.NewReader(want)
				stored, err := command.Output()
				if err != nil {
					t.Fatal(err)
				}
				if got, err := decodeStored(d, encodingLzop, stored); err != nil || !bytes.Equal(got, want) {
					t.Errorf("lzop %s of %d bytes, spread %d: %d bytes, %v", options, size, spread, len(got), err)
				}
			}
		}
	}
}

// repetitive returns bytes below spread, mixed with copies of what came before
// from near and far: every kind of match a compressor knows.
func repetitive(random *rand.Rand, size, spread int) []byte {
	b := make([]byte, 0, size)
	for len(b) < size {
		n := min(size-len(b), 1+random.IntN(1<<random.IntN(10)))
		if from := 1 + random.IntN(1<<random.IntN(17)); from <= len(b) && random.IntN(2) == 0 {
			for range n {
				b = append(b, b[len(b)-from])
			}
			continue
		}
		for range n {
			b = append(b, byte(random.IntN(spread)))
		}
	}
	return b
}
