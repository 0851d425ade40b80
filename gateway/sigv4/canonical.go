package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/http"
	"strconv"
	"strings"
)

// scratch is the memory of one verification.
type scratch struct {
	request []byte // the canonical request
	text    []byte // the string to sign
	name    []byte // of a header
	want    []byte // the signature
	mac     hash.Hash
	id      derivedID // of mac's key
}

// use sets the key that signs. Most of the cost of a MAC of so short a text is in
// its key, and the next request is often signed with the same.
func (s *scratch) use(id derivedID, key *digest) {
	if s.mac == nil || s.id != id {
		s.mac, s.id = hmac.New(sha256.New, key[:]), id.clone()
	}
}

// build makes the canonical request of r for a path in canonical form, and the
// string to sign.
func (s *scratch) build(r *http.Request, c *claim, path string, digest *[sha256.Size]byte) error {
	b := append(s.request[:0], r.Method...)
	b = append(b, '\n')
	b = appendEscaped(b, path, true)
	b = append(b, '\n')
	if len(c.query) > 0 {
		b = appendQuery(b, c.query, c.presigned)
	}
	b = append(b, '\n')
	for name := range strings.SplitSeq(c.signed, ";") {
		b = append(b, name...)
		b = append(b, ':')
		var found bool
		if b, found = s.appendHeader(b, r, name); !found {
			return refuse(Mismatch, "The signed header '%s' is not in the request.", clip(name, maxEcho))
		}
		b = append(b, '\n')
	}
	b = append(b, '\n')
	b = append(b, c.signed...)
	b = append(b, '\n')
	b = hex.AppendEncode(b, digest[:])
	s.request = b

	sum := sha256.Sum256(b)
	t := append(s.text[:0], algorithm...)
	t = append(t, '\n')
	t = append(t, c.timestamp...)
	t = append(t, '\n')
	t = append(t, c.scope...)
	t = append(t, '\n')
	s.text = hex.AppendEncode(t, sum[:])
	return nil
}

// appendHeader appends the values of a header given by its name in lower case.
// net/http keeps two of them outside the map.
func (s *scratch) appendHeader(b []byte, r *http.Request, name string) ([]byte, bool) {
	switch name {
	case "host":
		return append(b, r.Host...), r.Host != ""
	case "content-length":
		if r.ContentLength < 0 {
			return b, false
		}
		return strconv.AppendInt(b, r.ContentLength, 10), true
	}
	s.name = appendCanonicalName(s.name[:0], name)
	values, found := r.Header[string(s.name)]
	for i, value := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTrimmed(b, value)
	}
	return b, found
}

// appendCanonicalName spells a name as net/http does. It saves the allocation
// that http.CanonicalHeaderKey makes for names it does not know.
func appendCanonicalName(b []byte, name string) []byte {
	upper := true
	for i := range len(name) {
		c := name[i]
		if upper && c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper = c == '-'
		b = append(b, c)
	}
	return b
}

// appendTrimmed appends a header's value with the spaces around it removed, and
// runs of spaces inside it made one.
func appendTrimmed(b []byte, value string) []byte {
	value = strings.Trim(value, " ")
	for i := range len(value) {
		if value[i] == ' ' && value[i-1] == ' ' {
			continue
		}
		b = append(b, value[i])
	}
	return b
}

// rawPath is the path as it stands in the request line. The decoded one will not
// do: whoever signed has encoded what was sent once more.
func rawPath(r *http.Request) string {
	path := r.RequestURI
	if path == "" || path[0] != '/' { // not from a server, or with a scheme and a host
		path = r.URL.EscapedPath()
	}
	path, _, _ = strings.Cut(path, "?")
	if path == "" {
		return "/"
	}
	return path
}

// normalPath removes empty and dot segments.
func normalPath(path string) string {
	if !strings.Contains(path, "//") && !strings.Contains(path, "/.") {
		return path
	}
	var kept []string
	for segment := range strings.SplitSeq(path, "/") {
		switch segment {
		case "", ".":
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		default:
			kept = append(kept, segment)
		}
	}
	normal := "/" + strings.Join(kept, "/")
	if len(kept) > 0 && (strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.") || strings.HasSuffix(path, "/..")) {
		normal += "/"
	}
	return normal
}

// appendEscaped appends s in percent encoding.
func appendEscaped(b []byte, s string, keepSlash bool) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(s) {
		c := s[i]
		if unreserved(c) || keepSlash && c == '/' {
			b = append(b, c)
			continue
		}
		b = append(b, '%', digits[c>>4], digits[c&15])
	}
	return b
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}
