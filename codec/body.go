package codec

import (
	"encoding/binary"
	"unicode/utf8"
)

// ValidBody reports whether b is UTF-8 text of the characters SQS allows:
// #x9 #xA #xD #x20-#xD7FF #xE000-#xFFFD #x10000-#x10FFFF. Empty text is valid.
func ValidBody(b []byte) bool {
	for len(b) > 0 {
		if len(b) >= 8 && plainASCII(binary.LittleEndian.Uint64(b)) {
			b = b[8:]
			continue
		}
		c := b[0]
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
				return false
			}
			b = b[1:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		if (r == utf8.RuneError && n == 1) || r == 0xFFFE || r == 0xFFFF {
			return false
		}
		b = b[n:]
	}
	return true
}

// plainASCII reports whether all eight bytes of w lie in 0x20-0x7F. With no high
// bit set, subtracting 0x20 from each byte sets one exactly when some byte is
// smaller: the lowest such byte borrows, whatever the borrow does above it.
func plainASCII(w uint64) bool {
	const high = 0x8080808080808080
	return w&high == 0 && (w-0x2020202020202020)&high == 0
}
