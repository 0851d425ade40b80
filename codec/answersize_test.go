package codec_test

import (
	"bytes"
	"strings"
	"testing"

	"sqsgate/codec"
)

func TestAnswerBytes(t *testing.T) {
	const overhead, ofAttributes = 4 << 10, 16 << 10
	raw := func(s string) codec.Record { return codec.Record{Codec: codec.Raw, Data: []byte(s)} }
	large := strings.Repeat("x", 9000)
	attributes := []codec.Attribute{
		{Name: "name", DataType: "String", Value: []byte(`<">`)},
		{Name: "data", DataType: "Binary", Value: bytes.Repeat([]byte("b"), 6000)},
	}
	envelope, err := codec.Encode(&codec.Message{Body: []byte("body"), Attributes: attributes, DelaySeconds: -1})
	if err != nil || envelope.Codec != codec.Envelope {
		t.Fatalf("codec %d, %v: want an envelope", envelope.Codec, err)
	}
	for name, test := range map[string]struct {
		record codec.Record
		small  int64
		want   int64
	}{
		"text":                  {raw(large), 10, overhead + 9000},
		"text, escaped":         {raw(large + "\"&<>\r\n\t\\"), 10, overhead + 9000 + 6 + 5 + 4 + 4 + 5 + 2 + 2 + 2},
		"binary":                {raw(large + "\x00"), 10, overhead + 12004},
		"compressed text":       {codec.Record{Codec: codec.Gzip, Data: []byte(large)}, 10, overhead + 12000},
		"custom codec":          {codec.Record{Codec: 10010, Data: []byte(large)}, 10, overhead + 12000},
		"codec not given":       {codec.Record{Data: []byte(large)}, 10, overhead + 9000},
		"metadata":              {codec.Record{Codec: codec.Raw, Metadata: []codec.Item{{Key: "__key", Value: []byte("group")}}}, 10, overhead + 60},
		"envelope":              {envelope, 10, overhead + ofAttributes + 6*(4+6) + 14 + 6*(4+6) + 8000 + 4},
		"damaged envelope":      {codec.Record{Codec: codec.Envelope, Data: bytes.Repeat([]byte{0xff}, 30)}, 10, overhead + ofAttributes + 40},
		"surely small":          {raw("x"), overhead + 6, 0},
		"not so surely":         {raw("x"), overhead + 5, overhead + 1},
		"attributes in an item": {codec.Record{Codec: codec.Raw, Metadata: []codec.Item{{Key: "__message_attributes"}}}, 10, overhead + ofAttributes + 6*20},
	} {
		if got := codec.AnswerBytes(test.record, test.small); got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, got, test.want)
		}
	}
}
