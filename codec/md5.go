package codec

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
)

// Transport types of the attribute digest.
const (
	transportText   = 1
	transportBinary = 2
)

// BodyMD5 is the lower-case hex MD5 of a body, as in MD5OfMessageBody.
func BodyMD5(body []byte) string {
	sum := md5.Sum(body)
	var text [2 * md5.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// AttributesMD5 is the lower-case hex digest of message attributes, in any
// order, as in MD5OfMessageAttributes; "" without attributes. The digest of
// system attributes is the same function over them: AWSTraceHeader is a String.
//
// It is the MD5 over the attributes sorted by name, each as length-prefixed name
// and data type, one byte for the kind of value, length-prefixed value; lengths
// are big-endian 32-bit numbers.
func AttributesMD5(attributes []Attribute) string {
	if len(attributes) == 0 {
		return ""
	}
	size := 0
	sorted := make([]*Attribute, len(attributes))
	for i := range attributes {
		a := &attributes[i]
		sorted[i] = a
		size += 3*4 + 1 + len(a.Name) + len(a.DataType) + len(a.Value)
	}
	slices.SortFunc(sorted, func(a, b *Attribute) int { return strings.Compare(a.Name, b.Name) })
	b := make([]byte, 0, size)
	for _, a := range sorted {
		b = appendPrefixed(b, a.Name)
		b = appendPrefixed(b, a.DataType)
		if a.Binary() {
			b = append(b, transportBinary)
		} else {
			b = append(b, transportText)
		}
		b = appendPrefixed(b, a.Value)
	}
	return BodyMD5(b)
}

func appendPrefixed[T string | []byte](b []byte, value T) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(value)))
	return append(b, value...)
}
