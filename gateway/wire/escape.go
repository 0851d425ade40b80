package wire

import (
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendJSON appends s as the inside of a JSON string. Bytes that are not UTF-8
// become the replacement character.
func appendJSON[S string | []byte](dst []byte, s S) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\ufffd`...)
			start = i + size
		}
		i += size
	}
	return append(dst, s[start:]...)
}

// appendXML appends s as character data. A quote is written as AWS does; a
// carriage return must be escaped, or readers make a line feed of it.
// Characters that XML cannot hold become the replacement character.
func appendXML[S string | []byte](dst []byte, s S) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		size, with := 1, ""
		switch {
		case c == '&':
			with = "&amp;"
		case c == '<':
			with = "&lt;"
		case c == '>':
			with = "&gt;"
		case c == '"':
			with = "&quot;"
		case c == '\r':
			with = "&#xD;"
		case c < 0x20 && c != '\t' && c != '\n':
			with = "\ufffd"
		case c >= utf8.RuneSelf:
			var r rune
			r, size = utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if r == utf8.RuneError && size == 1 || r == 0xfffe || r == 0xffff {
				with = "\ufffd"
			}
		}
		if with != "" {
			dst = append(dst, s[start:i]...)
			dst = append(dst, with...)
			start = i + size
		}
		i += size
	}
	return append(dst, s[start:]...)
}
