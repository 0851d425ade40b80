package codec

import "io"

// usualRatio is how many times larger than its compressed form an output is
// guessed to be.
const usualRatio = 4

// leastOutput is the least that is allocated for decoded bytes.
const leastOutput = 512

// maxEmptyReads is how often in a row a reader may give nothing and no error.
const maxEmptyReads = 100

// outputSize returns how much to allocate for need bytes, need <= limit: the
// limit divided by a power of two. An output that grows in these steps and its
// predecessor together have at most one and a half times the limit.
func outputSize(need, limit int) int {
	need = max(need, leastOutput)
	size := limit
	for size/2 >= need {
		size /= 2
	}
	return size
}

// reserve returns out with room for n more bytes, len(out)+n <= limit.
func reserve(out []byte, n, limit int) []byte {
	if n <= cap(out)-len(out) {
		return out
	}
	return append(make([]byte, 0, outputSize(len(out)+n, limit)), out...)
}

// readAll reads r to its end and fails with ErrTooLarge at the first byte over
// the limit. guess is the length expected.
func readAll(r io.Reader, guess, limit int) ([]byte, error) {
	out := make([]byte, 0, outputSize(min(guess, limit), limit))
	var over [1]byte
	for empty := 0; ; {
		var n int
		var err error
		if len(out) == limit {
			if n, err = r.Read(over[:]); n > 0 {
				return nil, ErrTooLarge
			}
		} else {
			out = reserve(out, 1, limit)
			n, err = r.Read(out[len(out):cap(out)])
			out = out[:len(out)+n]
		}
		switch {
		case err == io.EOF:
			return out, nil
		case err != nil:
			return nil, err
		case n > 0:
			empty = 0
		default:
			if empty++; empty == maxEmptyReads {
				return nil, io.ErrNoProgress
			}
		}
	}
}
