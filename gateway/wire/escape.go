package wire

import (
	"encoding/binary"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendJSON appends s as the inside of a JSON string. Bytes that are not UTF-8
// become the replacement character.
func appendJSON(dst, s []byte) []byte {
	if !utf8.Valid(s) {
		s = []byte(string([]rune(string(s))))
	}
	for {
		n := plain(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return dst
		}
		dst = escapeJSON(dst, s[n])
		s = s[n+1:]
	}
}

func escapeJSON(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// appendJSONString is appendJSON for short strings.
func appendJSONString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return appendJSON(dst, []byte(s))
		}
	}
	return append(dst, s...)
}

// appendXML appends s as character data. A quote is written as AWS does; a
// carriage return must be escaped, or readers make a line feed of it.
// Characters that XML cannot hold become the replacement character.
func appendXML(dst, s []byte) []byte {
	if !utf8.Valid(s) {
		s = []byte(string([]rune(string(s))))
	}
	for {
		n := plainXML(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return dst
		}
		s = s[n:]
		size, with := 1, "\ufffd"
		switch s[0] {
		case '&':
			with = "&amp;"
		case '<':
			with = "&lt;"
		case '>':
			with = "&gt;"
		case '"':
			with = "&quot;"
		case '\r':
			with = "&#xD;"
		case '\t', '\n':
			with = string(s[:1])
		case nonCharacterLead:
			// U+FFFE and U+FFFF, or another character of the same first byte.
			if size = 3; s[1] != 0xbf || s[2] < 0xbe {
				with = string(s[:3])
			}
		}
		dst = append(dst, with...)
		s = s[size:]
	}
}

// nonCharacterLead is the first byte of U+FFFE and U+FFFF, in three.
const nonCharacterLead = 0xef

// appendXMLString is appendXML for short strings.
func appendXMLString(dst []byte, s string) []byte {
	for i := range len(s) {
		if xmlSpecial(s[i]) || s[i] >= utf8.RuneSelf {
			return appendXML(dst, []byte(s))
		}
	}
	return append(dst, s...)
}

func xmlSpecial(c byte) bool {
	return c < 0x20 || c == '"' || c == '&' || c == '<' || c == '>' || c == nonCharacterLead
}

// plainXML returns how many bytes from the front of b need no look, looking at
// eight at a time.
func plainXML(b []byte) int {
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		hit := zeroBytes(w^(ones*'"')) | zeroBytes(w^(ones*'&')) | zeroBytes(w^(ones*'<')) | zeroBytes(w^(ones*'>')) |
			zeroBytes(w^(ones*nonCharacterLead)) | ((w-ones*0x20)&^w)&highs
		if hit != 0 {
			break
		}
	}
	for n < len(b) && !xmlSpecial(b[n]) {
		n++
	}
	return n
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// zeroBytes has the high bit of every byte of w that is zero. Bytes above a zero
// one may be marked too.
func zeroBytes(w uint64) uint64 { return (w - ones) &^ w & highs }
