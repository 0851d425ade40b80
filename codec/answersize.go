package codec

import "encoding/base64"

// What a message takes of an answer beside its texts: names of fields, handle, ids,
// digests; and the names around message attributes, of which there are 100 at most.
const (
	answerOverhead    = 4 << 10
	attributeOverhead = 16 << 10
)

// AnswerBytes is how much a received message takes of an answer at most, in
// whichever protocol: the body as it is returned, so base64 where Decode makes it
// that, with the characters that have to be escaped; and all else that can be asked
// for. When the record is so small that this cannot be above small, it is 0.
func AnswerBytes(r Record, small int64) int64 {
	overhead := int64(answerOverhead)
	for i := range r.Metadata {
		item := &r.Metadata[i]
		overhead += worstEscape * int64(len(item.Key)+len(item.Value))
		if item.Key == keyAttributes {
			overhead += attributeOverhead
		}
	}
	if r.Codec == Envelope {
		overhead += attributeOverhead
	}
	if worstEscape*int64(len(r.Data))+overhead <= small {
		return 0
	}
	switch r.Codec {
	case 0, Raw:
		return overhead + textBytes(r.Data)
	case Envelope:
		attributes, body, err := open(r.Data)
		if err != nil {
			return overhead + base64Bytes(r.Data)
		}
		for i := range attributes {
			a := &attributes[i]
			overhead += worstEscape * int64(len(a.Name)+len(a.DataType))
			if a.Binary() {
				overhead += base64Bytes(a.Value)
			} else {
				overhead += textBytes(a.Value)
			}
		}
		return overhead + textBytes(body)
	}
	return overhead + base64Bytes(r.Data)
}

// worstEscape is how many bytes one byte of text becomes at most: &quot;
const worstEscape = 6

// textBytes is the length of text that is escaped, or of base64 of what is no text.
func textBytes(b []byte) int64 {
	if !ValidBody(b) {
		return base64Bytes(b)
	}
	n := int64(len(b))
	for _, c := range b {
		// The longer one of JSON and XML.
		switch c {
		case '"':
			n += 5
		case '&', '\r':
			n += 4
		case '<', '>':
			n += 3
		case '\n', '\t', '\\':
			n++
		}
	}
	return n
}

func base64Bytes(b []byte) int64 { return int64(base64.StdEncoding.EncodedLen(len(b))) }
