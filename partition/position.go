package partition

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// position is a point of the 128-bit key space that MD5 hashes fall in.
type position struct{ hi, lo uint64 }

func positionOf(h [16]byte) position {
	return position{binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(h[8:])}
}

func lastPosition() position { return position{math.MaxUint64, math.MaxUint64} }

func (p position) less(q position) bool {
	return p.hi < q.hi || p.hi == q.hi && p.lo < q.lo
}

func (p position) add(q position) (sum position, overflow bool) {
	lo, c := bits.Add64(p.lo, q.lo, 0)
	hi, c := bits.Add64(p.hi, q.hi, c)
	return position{hi, lo}, c != 0
}

func (p position) sub(q position) position {
	lo, b := bits.Sub64(p.lo, q.lo, 0)
	hi, _ := bits.Sub64(p.hi, q.hi, b)
	return position{hi, lo}
}

// div divides by n, which must not be 0.
func (p position) div(n uint64) position {
	hi, rest := bits.Div64(0, p.hi, n)
	lo, _ := bits.Div64(rest, p.lo, n)
	return position{hi, lo}
}

// mul multiplies by n modulo 2^128.
func (p position) mul(n uint64) position {
	carry, lo := bits.Mul64(p.lo, n)
	return position{p.hi*n + carry, lo}
}

// boundPosition returns the smallest 16-byte key that is not below bound in
// byte order. A bound may have any length: a shorter one compares like one
// padded with zeros, a longer one lies above the key that is its prefix. The
// second result is false when no key is that large.
func boundPosition(bound []byte) (position, bool) {
	var key [16]byte
	copy(key[:], bound)
	p := positionOf(key)
	if len(bound) <= len(key) {
		return p, true
	}
	p, overflow := p.add(position{lo: 1})
	return p, !overflow
}

// span is a closed interval of the key space.
type span struct{ first, last position }

func (s span) contains(p position) bool {
	return !p.less(s.first) && !s.last.less(p)
}

// part returns the i-th of n equal parts; the last takes the remainder.
func (s span) part(i, n int) span {
	step := s.last.sub(s.first).div(uint64(n))
	first, _ := s.first.add(step.mul(uint64(i)))
	if i == n-1 {
		return span{first, s.last}
	}
	next, _ := first.add(step)
	if !first.less(next) {
		return span{first, first} // narrower than n keys: parts overlap
	}
	return span{first, next.sub(position{lo: 1})}
}
