package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"strconv"
	"sync"
)

// DefaultMaxBytes is how large a decoded body may be unless DecoderOptions say
// otherwise.
const DefaultMaxBytes = 64 << 20

// What goes wrong with a body. Every error of a Decoder is one of these and
// names the encoding in its text.
var (
	// ErrTooLarge: decoded, the body has more than the limit.
	ErrTooLarge = errors.New("decoded body is too large")
	// ErrUnknownEncoding: there is no decoder of this name.
	ErrUnknownEncoding = errors.New("unknown body encoding")
	// ErrCorrupted: the body is not what its encoding says, a checksum does not
	// hold, it ends early, or it needs what is not supported (a dictionary, a
	// filter). Trying again gives the same.
	ErrCorrupted = errors.New("body is corrupted")
)

// NewReader makes a reader of decoded bytes from one of stored bytes. If what
// it returns is an io.Closer, it is closed after use.
type NewReader func(stored io.Reader) (io.Reader, error)

// DecoderOptions set up a Decoder. The zero value is ready for use.
type DecoderOptions struct {
	// MaxBytes limits a decoded body, in bytes. 0 is DefaultMaxBytes. A larger
	// body gives ErrTooLarge, and memory is bounded with it: beside the stored
	// bytes (three quarters of the base64 text) a Decode call holds at most
	// three times MaxBytes and 20 MiB, whatever the body claims to be.
	MaxBytes int
	// Custom are decoders of further codecs, by the name that the gateway's
	// configuration gives them ({10010: brotli}: "brotli"), or by the number in
	// decimal if it gives none ("10010"). "lz4" may be replaced; the encodings
	// that every gateway knows may not. What a custom decoder gives out is held
	// to MaxBytes; what memory it takes is its own affair. Calls may be
	// concurrent.
	Custom map[string]NewReader
}

func (o DecoderOptions) withDefaults() DecoderOptions {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	return o
}

func (o DecoderOptions) validate() error {
	// Half of what an int holds leaves room for sums.
	if o.MaxBytes < 1 || o.MaxBytes > math.MaxInt/2 {
		return fmt.Errorf("MaxBytes is %d, want 1 to %d", o.MaxBytes, math.MaxInt/2)
	}
	for name, custom := range o.Custom {
		switch {
		case !validCustomEncoding(name):
			return fmt.Errorf("custom encoding %.64q: want 1-%d of A-Za-z0-9._-", name, maxEncodingName)
		case builtIn(name):
			return fmt.Errorf("custom encoding %q: the name has a meaning of its own", name)
		case custom == nil:
			return fmt.Errorf("custom encoding %q: its decoder is nil", name)
		}
	}
	return nil
}

// Decoder gives the original bytes of bodies that were received through SQS;
// NewDecoder makes one. It is safe for concurrent use and keeps decoding state
// between calls, which the function Decode does not.
type Decoder struct {
	limit  int
	custom map[string]NewReader
	gzip   sync.Pool // of *gzip.Reader
	zstd   sync.Pool // of *zstd.Decoder
}

// NewDecoder returns a Decoder, or an error that says which option is wrong.
func NewDecoder(o DecoderOptions) (*Decoder, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("making a body decoder: %w", err)
	}
	return &Decoder{limit: o.MaxBytes, custom: maps.Clone(o.Custom)}, nil
}

// Decode gives the original bytes of a message received through SQS: what the
// Topic API writer had before its SDK compressed it. body is the message's Body
// and encoding its attribute BodyEncoding, "" if it has none; with aws-sdk-go-v2
//
//	codec.Decode(aws.ToString(m.Body), m.Attributes["BodyEncoding"])
//
// The encodings are "" (the body is the text itself), "base64", "gzip", "zstd",
// "lzop", and "lz4" (frames), the name for a custom codec in the gateway's
// configuration. "10077" is what a gateway that is not this one makes of a
// message with many attributes: the body comes out, the attributes are lost.
// A decoded body has at most DefaultMaxBytes. Every error is ErrTooLarge,
// ErrUnknownEncoding or ErrCorrupted. A Decoder takes another limit and further
// codecs.
func Decode(body, encoding string) ([]byte, error) {
	d := Decoder{limit: DefaultMaxBytes}
	return d.Decode(body, encoding)
}

// Decode is the function Decode under the Decoder's options.
func (d *Decoder) Decode(body, encoding string) ([]byte, error) {
	out, err := d.decode(body, encoding)
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, ErrTooLarge):
		return nil, fmt.Errorf("decoding %.64q body: %w: more than %d bytes", encoding, ErrTooLarge, d.limit)
	case errors.Is(err, ErrUnknownEncoding):
		return nil, err
	default:
		return nil, fmt.Errorf("decoding %.64q body: %w: %w", encoding, ErrCorrupted, err)
	}
}

func (d *Decoder) decode(body, encoding string) ([]byte, error) {
	custom := d.custom[encoding]
	switch {
	case encoding == "":
		if len(body) > d.limit {
			return nil, ErrTooLarge
		}
		return []byte(body), nil
	case encoding == encodingBase64:
		return unbase64(body, d.limit)
	case custom == nil && !builtIn(encoding) && encoding != encodingLZ4:
		return nil, unknownEncoding(encoding)
	}
	stored, err := storedBytes(body)
	if err != nil {
		return nil, err
	}
	switch {
	case custom != nil:
		return d.readCustom(custom, stored)
	case encoding == encodingEnvelope:
		_, inner, err := open(stored)
		if len(inner) > d.limit {
			return nil, ErrTooLarge
		}
		return inner, err
	case len(stored) == 0: // no program or SDK compresses anything to nothing
		return nil, io.ErrUnexpectedEOF
	}
	switch encoding {
	case encodingGzip:
		return d.gunzip(stored)
	case encodingZstd:
		return d.unzstd(stored)
	case encodingLzop:
		return unlzop(stored, d.limit)
	default:
		return unlz4(stored, d.limit)
	}
}

func (d *Decoder) readCustom(custom NewReader, stored []byte) ([]byte, error) {
	r, err := custom(bytes.NewReader(stored))
	if err != nil {
		return nil, err
	}
	out, err := readAll(r, len(stored), d.limit)
	if c, ok := r.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return out, err
}

func unknownEncoding(encoding string) error {
	if _, err := strconv.ParseUint(encoding, 10, 31); err == nil {
		return fmt.Errorf("%w %q: the gateway has no name for codec %s; give it one there, or this decoder a custom one under the number",
			ErrUnknownEncoding, encoding, encoding)
	}
	return fmt.Errorf("%w %.64q", ErrUnknownEncoding, encoding)
}
