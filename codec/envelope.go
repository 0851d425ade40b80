package codec

import (
	"encoding/binary"
	"errors"
)

// The data of an Envelope record:
//
//	+------------------+-------------------------+-----------------+
//	| uvarint: n       | n bytes: attributes     | the body        |
//	| (1 to 10 bytes)  | (protobuf)              | (what is left)  |
//	+------------------+-------------------------+-----------------+
//
// The body is always stored as it is: an envelope is never compressed.

var errBadEnvelope = errors.New("envelope is damaged")

func seal(attributes []Attribute, body []byte) []byte {
	n := attributesSize(attributes)
	b := make([]byte, 0, binary.MaxVarintLen64+n+len(body))
	b = binary.AppendUvarint(b, uint64(n))
	b = appendAttributes(b, attributes)
	return append(b, body...)
}

// open returns the parts of an envelope; they alias data.
func open(data []byte) (attributes []Attribute, body []byte, err error) {
	size, n := binary.Uvarint(data)
	if n <= 0 || size > uint64(len(data)-n) {
		return nil, nil, errBadEnvelope
	}
	data = data[n:]
	if attributes, err = decodeAttributes(data[:size]); err != nil {
		return nil, nil, errBadEnvelope
	}
	return attributes, data[size:], nil
}
