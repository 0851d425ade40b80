package codec

import (
	"encoding/base64"
	"strings"
)

func base64Body(data []byte) []byte {
	b := make([]byte, base64.StdEncoding.EncodedLen(len(data)))
	base64.StdEncoding.Encode(b, data)
	return b
}

// storedBytes returns what base64Body was given. Line breaks, which some
// transports put in, do not count.
func storedBytes(body string) ([]byte, error) {
	return base64.StdEncoding.Strict().DecodeString(body)
}

// unbase64 is storedBytes with a limit.
func unbase64(body string, limit int) ([]byte, error) {
	r := base64.NewDecoder(base64.StdEncoding.Strict(), strings.NewReader(body))
	return readAll(r, base64.StdEncoding.DecodedLen(len(body)), limit)
}
