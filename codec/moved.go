package codec

import (
	"cmp"
	"strconv"
)

// Past is what SQS keeps of a message that moves to another queue.
type Past struct {
	MessageID    string // in the queue it leaves
	SentMillis   int64  // when it was sent there, ms since the epoch
	SourceARN    string // of that queue
	ReceiveCount int    // there
	// FIFO: both queues are FIFO queues. The enqueue time then begins anew, and the
	// deduplication id is replaced.
	FIFO bool
	// DeduplicationID is the new one; "" = the message id.
	DeduplicationID string
}

// Moved returns r as it goes to another queue: the same data and metadata, but
// for what depends on the queue. A message that moved before keeps its first
// message id, and its receives add up. When the metadata would outgrow
// MaxMetadataBytes the attributes go into an envelope; where that cannot be, the
// least needed items are left out, never the message.
func Moved(r Record, p Past) Record {
	h := Header{}
	var m Message
	for i := range r.Metadata {
		m.take(&r.Metadata[i])
	}
	if m.MessageID == "" {
		m.MessageID = p.MessageID
	}
	if m.SentMillis == 0 {
		m.SentMillis = p.SentMillis
	}
	out := Record{Codec: r.Codec, Data: r.Data, ProducerID: r.ProducerID}
	for _, item := range r.Metadata {
		switch item.Key {
		case keyMessageID, keySentMillis, keyDeadLetterSource, keyReceiveCount, keyDelay:
			continue
		case keyDeduplication, keyPrivateDeduplication:
			if p.FIFO {
				continue
			}
		case keyGroup:
			h.GroupID = string(item.Value)
		}
		out.Metadata = append(out.Metadata, item)
	}
	add := func(key, value string) { out.Metadata = append(out.Metadata, Item{Key: key, Value: []byte(value)}) }
	if p.FIFO {
		if h.GroupID == "" && r.ProducerID != "" {
			add(keyGroup, r.ProducerID) // the mover's own id is none of the group's
		}
		add(keyDeduplication, cmp.Or(p.DeduplicationID, m.MessageID))
	}
	add(keyMessageID, m.MessageID)
	if !p.FIFO {
		add(keySentMillis, strconv.FormatInt(m.SentMillis, 10))
	}
	add(keyDelay, "0") // it was served in the first queue
	add(keyDeadLetterSource, p.SourceARN)
	add(keyReceiveCount, strconv.Itoa(m.ReceiveCount+p.ReceiveCount))
	return fit(out)
}

// fit makes the metadata of a moved record small enough.
func fit(r Record) Record {
	if metadataSize(r.Metadata) <= MaxMetadataBytes {
		return r
	}
	if r.Codec == Raw {
		for i, item := range r.Metadata {
			if item.Key != keyAttributes {
				continue
			}
			if attributes, err := decodeAttributes(item.Value); err == nil {
				r.Codec, r.Data = Envelope, seal(attributes, r.Data)
				r.Metadata = append(r.Metadata[:i:i], r.Metadata[i+1:]...)
			}
			break
		}
	}
	for _, key := range []string{keyReceiveCount, keyDelay, keyDeadLetterSource, keySentMillis, keyMessageID} {
		if metadataSize(r.Metadata) <= MaxMetadataBytes {
			break
		}
		for i, item := range r.Metadata {
			if item.Key == key {
				r.Metadata = append(r.Metadata[:i:i], r.Metadata[i+1:]...)
				break
			}
		}
	}
	return r
}

func metadataSize(items []Item) int {
	n := 0
	for _, item := range items {
		n += len(item.Key) + len(item.Value)
	}
	return n
}

// DeadLetterSource is the ARN of the queue a dead letter came from, or "".
func DeadLetterSource(r Record) string {
	for _, item := range r.Metadata {
		if item.Key == keyDeadLetterSource {
			return string(item.Value)
		}
	}
	return ""
}

// Redriven returns a dead letter as it leaves the dead-letter queue: as a new
// message, without its past.
func Redriven(r Record) Record {
	out := Record{Codec: r.Codec, Data: r.Data, ProducerID: r.ProducerID}
	for _, item := range r.Metadata {
		switch item.Key {
		case keyMessageID, keySentMillis, keyDeadLetterSource, keyReceiveCount:
		default:
			out.Metadata = append(out.Metadata, item)
		}
	}
	return out
}
