package sigv4

import (
	"net/url"
	"slices"
	"strings"
)

// maxPairs bounds the parameters of a query string. The largest form, a batch
// with every attribute, has some 500.
const maxPairs = 4096

// pair is a parameter of the query string, in its canonical encoding: percent
// signs for all but the unreserved characters, in upper case. Every text has one
// such encoding, so pairs can be compared without decoding them.
type pair struct{ name, value string }

func splitQuery(raw string) ([]pair, error) {
	if raw == "" {
		return nil, nil
	}
	pairs := make([]pair, 0, min(strings.Count(raw, "&")+1, maxPairs))
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		if len(pairs) == maxPairs {
			return nil, refuse(Incomplete, "The query string has more than %d parameters.", maxPairs)
		}
		name, value, _ := strings.Cut(part, "=")
		var p pair
		var err error
		if p.name, err = encoded(name); err == nil {
			p.value, err = encoded(value)
		}
		if err != nil {
			return nil, refuse(Incomplete, "The query string is malformed at '%s'.", clip(part, maxEcho))
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// encoded makes one of the several ways to write a text in a query string: s
// itself when it is the canonical one, as clients that sign write it.
func encoded(s string) (string, error) {
	if canonical(s) {
		return s, nil
	}
	text, err := url.QueryUnescape(s)
	if err != nil {
		return "", err
	}
	return string(appendEscaped(make([]byte, 0, 2*len(text)), text, false)), nil
}

// canonical tells whether s is in canonical encoding.
func canonical(s string) bool {
	for i := 0; i < len(s); i++ {
		if unreserved(s[i]) {
			continue
		}
		if s[i] != '%' || len(s)-i < 3 {
			return false
		}
		high, low := upperHex(s[i+1]), upperHex(s[i+2])
		if high < 0 || low < 0 || unreserved(byte(high<<4|low)) {
			return false
		}
		i += 2
	}
	return true
}

// upperHex is the value of a hexadecimal digit in upper case, -1 of others.
func upperHex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// decoded is the text of a canonical encoding.
func decoded(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	text, err := url.QueryUnescape(s)
	if err != nil {
		return s // which splitQuery lets nothing be
	}
	return text
}

// appendQuery appends the canonical query string: the pairs in the order of their
// encoded names, then values. It sorts them in place.
func appendQuery(b []byte, pairs []pair, presigned bool) []byte {
	slices.SortFunc(pairs, func(x, y pair) int {
		if order := strings.Compare(x.name, y.name); order != 0 {
			return order
		}
		return strings.Compare(x.value, y.value)
	})
	first := true
	for _, p := range pairs {
		if presigned && p.name == paramSignature {
			continue
		}
		if !first {
			b = append(b, '&')
		}
		first = false
		b = append(b, p.name...)
		b = append(b, '=')
		b = append(b, p.value...)
	}
	return b
}
