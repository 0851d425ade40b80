package codec

// Header is what the shared consumer has to know of a record before anybody asks
// for its body.
type Header struct {
	// GroupID and DeduplicationID are the stored bytes, valid text or not: they
	// order and compare messages. Empty = none.
	GroupID         string
	DeduplicationID string
	// Delay in seconds, -1 = none given.
	Delay int
	// SentMillis is the enqueue time of a moved message, 0 on others.
	SentMillis int64
	// DeadLetter: a redrive policy has moved it here.
	DeadLetter bool
}

// Peek reads the Header of r. It does not look at the data and allocates the two
// strings only.
func Peek(r Record) Header {
	h := Header{Delay: -1}
	for i := range r.Metadata {
		item := &r.Metadata[i]
		switch item.Key {
		case keyGroup:
			if h.GroupID == "" {
				h.GroupID = string(item.Value)
			}
		case keyDeduplication, keyPrivateDeduplication:
			if h.DeduplicationID == "" {
				h.DeduplicationID = string(item.Value)
			}
		case keyDelay:
			if v, ok := parseNumber(item.Value, maxDelaySeconds); ok && h.Delay < 0 {
				h.Delay = int(v)
			}
		case keyDeadLetterSource:
			h.DeadLetter = true
		case keySentMillis:
			if v, ok := parseNumber(item.Value, maxSentMillis); ok && h.SentMillis == 0 {
				h.SentMillis = v
			}
		}
	}
	return h
}

// Group returns the group that orders this record: its own, else, with
// producerFallback (FIFO queues), the id of the producer that wrote it. So the
// messages of a plain Topic API writer stay in the writer's order.
func (h *Header) Group(r *Record, producerFallback bool) string {
	if h.GroupID == "" && producerFallback {
		return r.ProducerID
	}
	return h.GroupID
}
