package codec_test

import (
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"sqsgate/codec"
)

// A message as sqs.Client.ReceiveMessage gives it: a Topic API writer sent it
// with codec gzip.
func ExampleDecode() {
	m := types.Message{
		Body:       aws.String("H4sIAAAAAAACA8tIzcnJVyjPL8pJAQCFEUoNCwAAAA=="),
		Attributes: map[string]string{"BodyEncoding": "gzip"},
	}
	data, err := codec.Decode(aws.ToString(m.Body), m.Attributes["BodyEncoding"])
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", data)
	// Output: hello world
}

// A message without BodyEncoding is the text itself, so that a receiver can
// decode every message alike.
func ExampleDecode_text() {
	m := types.Message{Body: aws.String("hello world")}
	data, err := codec.Decode(aws.ToString(m.Body), m.Attributes["BodyEncoding"])
	fmt.Printf("%s %v\n", data, err)
	// Output: hello world <nil>
}

func ExampleDecode_errors() {
	_, err := codec.Decode("H4sIAAAAAAACA8tIzcnJVyjPL8pJAQCFEUoNDAAAAA==", "gzip")
	fmt.Println(errors.Is(err, codec.ErrCorrupted), err)
	_, err = codec.Decode("eJzLSM3JyVcozy/KSQEAGgsEXQ==", "10010")
	fmt.Println(errors.Is(err, codec.ErrUnknownEncoding), err)
	// Output:
	// true decoding "gzip" body: body is corrupted: gzip: invalid checksum
	// true unknown body encoding "10010": the gateway has no name for codec 10010; give it one there, or this decoder a custom one under the number
}

// A gateway configured with `codecs: {10010: zlib}` gives out messages that its
// writers compressed with zlib. This receiver takes no more than 10 bytes.
func ExampleDecoder() {
	d, err := codec.NewDecoder(codec.DecoderOptions{
		MaxBytes: 10,
		Custom: map[string]codec.NewReader{
			"zlib": func(stored io.Reader) (io.Reader, error) { return zlib.NewReader(stored) },
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := d.Decode("eJzLSM3JyQcABiwCFQ==", "zlib")
	fmt.Printf("%s %v\n", data, err)
	_, err = d.Decode("eJzLSM3JyVcozy/KSQEAGgsEXQ==", "zlib")
	fmt.Println(errors.Is(err, codec.ErrTooLarge), err)
	// Output:
	// hello <nil>
	// true decoding "zlib" body: decoded body is too large: more than 10 bytes
}
