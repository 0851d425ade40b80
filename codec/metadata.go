package codec

import "strconv"

// Metadata keys. The first four are the names native YDB uses, so that its SQS
// endpoint and this one understand each other's messages.
const (
	keyGroup         = "__key"
	keyDeduplication = "message_deduplication_id"
	keyDelay         = "__delay_seconds"
	keyAttributes    = "__message_attributes"

	keyPrivateDeduplication = "__sqs_deduplication_id"
	keyTraceHeader          = "__aws_trace_header"
	keySenderID             = "__sqs_sender_id"
	keySentMillis           = "__sqs_sent_ms"
	keyMessageID            = "__sqs_message_id"
	keyDeadLetterSource     = "__sqs_dlq_source"
	keyReceiveCount         = "__sqs_receive_count"
)

const (
	// maxDelaySeconds is the longest retention SQS knows. Native YDB does not
	// limit a message's delay, so more than AWS's 900 s has to be understood.
	maxDelaySeconds = 14 * 24 * 3600
	// maxSentMillis is the end of the year 9999.
	maxSentMillis   = 253402300799999
	maxReceiveCount = 1<<31 - 1
	// maxTextBytes bounds each of the items that only this project writes.
	maxTextBytes = 1024
)

// metadata collects items whose values share one buffer.
type metadata struct {
	items []Item
	buf   []byte
	size  int // keys and values, bytes
}

func newMetadata(m *Message) metadata {
	count, size := 0, 0
	for _, text := range [...]string{m.GroupID, m.DeduplicationID, m.TraceHeader, m.SenderID, m.MessageID, m.DeadLetterSource} {
		if text != "" {
			count++
			size += len(text)
		}
	}
	for _, number := range [...]bool{m.DelaySeconds >= 0, m.SentMillis > 0, m.ReceiveCount > 0} {
		if number {
			count++
			size += 16 // digits; more would only grow the buffer
		}
	}
	if len(m.Attributes) > 0 {
		count++
		size += attributesSize(m.Attributes)
	}
	return metadata{items: make([]Item, 0, count), buf: make([]byte, 0, size)}
}

// put closes the item whose value is what has been appended since mark.
func (d *metadata) put(key string, mark int) {
	value := d.buf[mark:len(d.buf):len(d.buf)]
	d.items = append(d.items, Item{Key: key, Value: value})
	d.size += len(key) + len(value)
}

func (d *metadata) text(key, value string) {
	if value == "" {
		return
	}
	mark := len(d.buf)
	d.buf = append(d.buf, value...)
	d.put(key, mark)
}

func (d *metadata) number(key string, value int64) {
	mark := len(d.buf)
	d.buf = strconv.AppendInt(d.buf, value, 10)
	d.put(key, mark)
}

// parseNumber reads plain decimal digits up to most. Signs, spaces and an empty
// value are refused.
func parseNumber(b []byte, most int64) (int64, bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	var v int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	return v, v <= most
}
