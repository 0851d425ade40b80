package codec

import (
	"bytes"

	"github.com/klauspost/compress/gzip"
)

// gunzip decodes one or several gzip members (RFC 1952), each with its CRC-32
// and length verified.
func (d *Decoder) gunzip(stored []byte) ([]byte, error) {
	r, ok := d.gzip.Get().(*gzip.Reader)
	if !ok {
		r = new(gzip.Reader)
	}
	defer d.gzip.Put(r)
	if err := r.Reset(bytes.NewReader(stored)); err != nil {
		return nil, err
	}
	return readAll(r, usualRatio*len(stored), d.limit)
}
