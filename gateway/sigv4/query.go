package sigv4

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// maxPairs bounds the parameters of a query string. The largest form, a batch
// with every attribute, has some 500.
const maxPairs = 4096

// pair is a parameter of the query string, decoded.
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
		if p.name, err = url.QueryUnescape(name); err == nil {
			p.value, err = url.QueryUnescape(value)
		}
		if err != nil {
			return nil, refuse(Incomplete, "The query string is malformed at '%s'.", clip(part, maxEcho))
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// appendQuery appends the canonical query string: the pairs encoded, in the order
// of their encoded names, then values. Decoding first makes one of the several
// ways to write a character; what remains of the query is what was signed.
func appendQuery(b []byte, pairs []pair, presigned bool) []byte {
	encoded := make([]pair, 0, len(pairs))
	for _, p := range pairs {
		if presigned && p.name == paramSignature {
			continue
		}
		encoded = append(encoded, pair{escaped(p.name), escaped(p.value)})
	}
	slices.SortFunc(encoded, func(x, y pair) int {
		return cmp.Or(strings.Compare(x.name, y.name), strings.Compare(x.value, y.value))
	})
	for i, p := range encoded {
		if i > 0 {
			b = append(b, '&')
		}
		b = append(b, p.name...)
		b = append(b, '=')
		b = append(b, p.value...)
	}
	return b
}

// escaped is s in percent encoding, s itself when it has no need of it.
func escaped(s string) string {
	for i := range len(s) {
		if !unreserved(s[i]) {
			return string(appendEscaped(make([]byte, 0, 2*len(s)), s, false))
		}
	}
	return s
}
