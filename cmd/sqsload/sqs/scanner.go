package sqs

import "encoding/json"

// maxDepth bounds the recursion over what is skipped.
const maxDepth = 64

// scanner walks over one JSON value without building it. After an error failed
// is set, every further call is harmless, and loops end.
type scanner struct {
	data   []byte
	at     int
	depth  int
	failed bool
}

// fail also moves to the end, so that no loop goes on.
func (s *scanner) fail() {
	s.failed = true
	s.at = len(s.data)
}

// next skips white space and returns the byte that follows, 0 at the end.
func (s *scanner) next() byte {
	for s.at < len(s.data) {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) take(want byte) bool {
	if s.failed || s.next() != want {
		return false
	}
	s.at++
	return true
}

// object calls each for every key; each has to take or skip the value.
func (s *scanner) object(each func(key []byte)) {
	s.list('{', '}', func() {
		key := s.text()
		if !s.take(':') {
			s.fail()
			return
		}
		each(key)
	})
}

// array calls each for every element; each has to take or skip it.
func (s *scanner) array(each func()) { s.list('[', ']', each) }

func (s *scanner) list(opening, closing byte, each func()) {
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > maxDepth || !s.take(opening) {
		s.fail()
		return
	}
	if s.take(closing) {
		return
	}
	for !s.failed {
		each()
		if s.take(closing) {
			return
		}
		if !s.take(',') {
			s.fail()
		}
	}
}

// text takes a string. The result is a part of the data unless it was escaped.
func (s *scanner) text() []byte {
	if !s.take('"') {
		s.fail()
		return nil
	}
	start, escaped := s.at, false
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case '"':
			raw := s.data[start:s.at]
			s.at++
			if !escaped {
				return raw
			}
			var plain string
			if json.Unmarshal(s.data[start-1:s.at], &plain) != nil {
				s.fail()
				return nil
			}
			return []byte(plain)
		case '\\':
			escaped = true
			s.at++
		}
		s.at++
	}
	s.fail()
	return nil
}

// skip passes over one value. What is skipped need not be valid in every byte.
func (s *scanner) skip() {
	switch c := s.next(); c {
	case '"':
		s.text()
	case '{':
		s.object(func([]byte) { s.skip() })
	case '[':
		s.array(s.skip)
	default:
		start := s.at
		for s.at < len(s.data) && isScalar(s.data[s.at]) {
			s.at++
		}
		if s.at == start {
			s.fail()
		}
	}
}

func isScalar(c byte) bool {
	return c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == 'E'
}
