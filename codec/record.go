package codec

// Codec numbers of the Topic API.
const (
	Raw  int32 = 1
	Gzip int32 = 2
	Lzop int32 = 3
	Zstd int32 = 4
	// Envelope marks a record whose data holds the attributes before the body,
	// because they do not fit into 4096 bytes of metadata. See envelope.go.
	Envelope int32 = 10077
)

// MaxMetadataBytes is YDB's limit for the keys and values of one message's
// metadata, in bytes.
const MaxMetadataBytes = 4096

// Item is one metadata item of a topic message.
type Item struct {
	Key   string
	Value []byte
}

// Record is one topic message: what a Topic API writer sends and a reader gets.
type Record struct {
	Codec    int32
	Data     []byte
	Metadata []Item
	// ProducerID is set on records that were read; Encode leaves it empty.
	ProducerID string
}

// Attribute is one SQS message attribute. Value holds the UTF-8 text of String
// and Number attributes and the raw bytes of Binary ones.
type Attribute struct {
	Name     string
	DataType string
	Value    []byte
}

// Message is an SQS message, as sent or as received.
type Message struct {
	Body       []byte
	Attributes []Attribute

	GroupID         string
	DeduplicationID string
	// PrivateDeduplication stores the deduplication id under a name that YDB
	// servers do not deduplicate by.
	PrivateDeduplication bool
	// DelaySeconds is the delay of this message, -1 when none was given.
	DelaySeconds int
	TraceHeader  string
	SenderID     string

	// Set on messages that were moved from another queue.
	MessageID        string
	SentMillis       int64
	DeadLetterSource string
	ReceiveCount     int

	// BodyEncoding is set by Decode when Body is base64 of the stored bytes:
	// gzip, lzop, zstd, base64, or the name or number of a custom codec.
	BodyEncoding string
}
