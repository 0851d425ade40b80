package worker

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"sqsgate/codec"
)

// bodyEncoding is the attribute of messages whose body is not the text that was
// sent: compressed or binary data of Topic API writers.
const bodyEncoding = "BodyEncoding"

// Message is what a handler gets. What the queue did not tell is zero.
type Message struct {
	ID   string
	Body string // as received; Decode gives what it stands for
	// BodyEncoding says how Body stands for the bytes that were written: "" for a
	// text as it is, else base64, gzip, zstd, lzop, lz4 or a name of one's own.
	BodyEncoding string

	GroupID         string
	DeduplicationID string
	SequenceNumber  string // FIFO: grows within a group
	SenderID        string

	ReceiveCount  int // this receive included
	Sent          time.Time
	FirstReceived time.Time
	Received      time.Time // by this Worker

	Attributes       map[string]types.MessageAttributeValue
	SystemAttributes map[string]string // as received, with what has fields above

	decode func(body, encoding string) ([]byte, error)
}

// Decode gives the bytes that were written to the queue: Body itself, or what it
// stands for by BodyEncoding. The default decoder has a limit and names the
// encoding in its errors.
func (m Message) Decode() ([]byte, error) {
	if m.decode != nil {
		return m.decode(m.Body, m.BodyEncoding)
	}
	return codec.Decode(m.Body, m.BodyEncoding)
}

func newMessage(raw types.Message, received time.Time, decode func(string, string) ([]byte, error)) Message {
	system := raw.Attributes
	m := Message{
		ID:               aws.ToString(raw.MessageId),
		Body:             aws.ToString(raw.Body),
		BodyEncoding:     system[bodyEncoding],
		GroupID:          system[string(types.MessageSystemAttributeNameMessageGroupId)],
		DeduplicationID:  system[string(types.MessageSystemAttributeNameMessageDeduplicationId)],
		SequenceNumber:   system[string(types.MessageSystemAttributeNameSequenceNumber)],
		SenderID:         system[string(types.MessageSystemAttributeNameSenderId)],
		Sent:             millis(system[string(types.MessageSystemAttributeNameSentTimestamp)]),
		FirstReceived:    millis(system[string(types.MessageSystemAttributeNameApproximateFirstReceiveTimestamp)]),
		Received:         received,
		Attributes:       raw.MessageAttributes,
		SystemAttributes: system,
		decode:           decode,
	}
	// A count that is no number is as good as none.
	m.ReceiveCount, _ = strconv.Atoi(system[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
	return m
}

// millis reads a time in milliseconds since 1970.
func millis(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n)
}
