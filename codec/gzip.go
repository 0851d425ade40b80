package codec

import (
	"bytes"

	"github.com/klauspost/compress/gzip"
)

// gunzip decodes one or several gzip members (RFC 1952), each with its CRC-32
// and length verified.
func gunzip(stored []byte, limit int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(stored))
	if err != nil {
		return nil, err
	}
	return readAll(r, usualRatio*len(stored), limit)
}
