package codec

import (
	"fmt"
	"strconv"
)

// Values of BodyEncoding that every gateway knows.
const (
	encodingGzip   = "gzip"
	encodingLzop   = "lzop"
	encodingZstd   = "zstd"
	encodingBase64 = "base64"
)

const (
	// encodingLZ4 is the name that a configuration gives a custom codec of LZ4
	// frames: Decode knows it, the gateway only if it is told.
	encodingLZ4 = "lz4"
	// encodingEnvelope is what a reader that knows no envelopes makes of one:
	// the number of the codec.
	encodingEnvelope = "10077"
)

const (
	firstCustom     = 10000
	maxEncodingName = 64
)

// Encodings names the codecs of records for BodyEncoding. The zero value knows
// the Topic API's own codecs; other numbers are given in decimal.
type Encodings struct {
	custom map[int32]string
}

// NewEncodings returns Encodings that call each custom codec by the given name.
// It refuses numbers below 10000 and the number of Envelope, names that are not
// 1-64 of [A-Za-z0-9._-] with at least one that is no digit, names of the
// built-in encodings and names given twice.
func NewEncodings(custom map[int32]string) (Encodings, error) {
	taken := make(map[string]bool, len(custom))
	own := make(map[int32]string, len(custom))
	for number, name := range custom {
		switch {
		case number < firstCustom:
			return Encodings{}, fmt.Errorf("custom codec %d: numbers below %d are reserved", number, firstCustom)
		case number == Envelope:
			return Encodings{}, fmt.Errorf("custom codec %d: the number of the attribute envelope", number)
		case !validEncodingName(name):
			return Encodings{}, fmt.Errorf("custom codec %d: %q is no valid name", number, name)
		case taken[name] || builtIn(name):
			return Encodings{}, fmt.Errorf("custom codec %d: name %q is taken", number, name)
		}
		taken[name] = true
		own[number] = name
	}
	return Encodings{custom: own}, nil
}

// Name returns the BodyEncoding of a record with this codec: "base64" for Raw,
// the names of the Topic API's codecs and of custom ones, else the number.
func (e Encodings) Name(codec int32) string {
	switch codec {
	case 0, Raw:
		return encodingBase64
	case Gzip:
		return encodingGzip
	case Lzop:
		return encodingLzop
	case Zstd:
		return encodingZstd
	}
	if name, ok := e.custom[codec]; ok {
		return name
	}
	return strconv.FormatInt(int64(codec), 10)
}

// builtIn reports whether an encoding has the same meaning at every gateway.
func builtIn(name string) bool {
	switch name {
	case encodingGzip, encodingLzop, encodingZstd, encodingBase64, encodingEnvelope:
		return true
	}
	return false
}

// validCustomEncoding: a name, or a number for a codec that has no name.
func validCustomEncoding(name string) bool {
	_, err := strconv.ParseUint(name, 10, 31)
	return err == nil || validEncodingName(name)
}

func validEncodingName(name string) bool {
	if name == "" || len(name) > maxEncodingName {
		return false
	}
	other := false
	for _, c := range []byte(name) {
		switch {
		case '0' <= c && c <= '9':
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '.', c == '_', c == '-':
			other = true
		default:
			return false
		}
	}
	return other
}
