package codec

import (
	"errors"
	"fmt"
)

// ErrMetadataTooLarge says that a message's metadata does not fit into
// MaxMetadataBytes even without its attributes.
var ErrMetadataTooLarge = errors.New("metadata of the message is too large")

// Encode makes the topic record of m. The record's data is m.Body itself, not a
// copy, unless the attributes need an envelope. It fails with
// ErrMetadataTooLarge only.
func Encode(m *Message) (Record, error) {
	d := newMetadata(m)
	d.text(keyGroup, m.GroupID)
	if m.PrivateDeduplication {
		d.text(keyPrivateDeduplication, m.DeduplicationID)
	} else {
		d.text(keyDeduplication, m.DeduplicationID)
	}
	if m.DelaySeconds >= 0 {
		d.number(keyDelay, int64(m.DelaySeconds))
	}
	d.text(keyTraceHeader, m.TraceHeader)
	d.text(keySenderID, m.SenderID)
	d.text(keyMessageID, m.MessageID)
	d.text(keyDeadLetterSource, m.DeadLetterSource)
	if m.SentMillis > 0 {
		d.number(keySentMillis, m.SentMillis)
	}
	if m.ReceiveCount > 0 {
		d.number(keyReceiveCount, int64(m.ReceiveCount))
	}
	if d.size > MaxMetadataBytes {
		return Record{}, fmt.Errorf("encoding a message: %w: %d bytes, at most %d", ErrMetadataTooLarge, d.size, MaxMetadataBytes)
	}
	if len(m.Attributes) == 0 {
		return Record{Codec: Raw, Data: m.Body, Metadata: d.items}, nil
	}
	if d.size+len(keyAttributes)+attributesSize(m.Attributes) > MaxMetadataBytes {
		return Record{Codec: Envelope, Data: seal(m.Attributes, m.Body), Metadata: d.items}, nil
	}
	mark := len(d.buf)
	d.buf = appendAttributes(d.buf, m.Attributes)
	d.put(keyAttributes, mark)
	return Record{Codec: Raw, Data: m.Body, Metadata: d.items}, nil
}
