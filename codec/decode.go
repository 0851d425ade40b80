package codec

// Decode makes an SQS message of any record of a topic.
//
// A Raw body of valid SQS characters is the text itself; every other body is
// base64 of the stored bytes, with BodyEncoding saying what they are. Metadata
// items that do not decode are left out; problems counts them, and a damaged
// envelope. GroupID is the record's own group: Record.Group adds the fallback to
// the producer. The result may alias r.Data and r.Metadata.
func (e Encodings) Decode(r Record) (m Message, problems int) {
	m.DelaySeconds = -1
	for i := range r.Metadata {
		if !m.take(&r.Metadata[i]) {
			problems++
		}
	}
	body := r.Data
	switch r.Codec {
	case 0, Raw:
	case Envelope:
		attributes, inner, err := open(r.Data)
		if err != nil {
			m.Body, m.BodyEncoding = base64Body(r.Data), e.Name(Envelope)
			return m, problems + 1
		}
		m.Attributes, body = attributes, inner
	default:
		m.Body, m.BodyEncoding = base64Body(r.Data), e.Name(r.Codec)
		return m, problems
	}
	if ValidBody(body) {
		m.Body = body
	} else {
		m.Body, m.BodyEncoding = base64Body(body), encodingBase64
	}
	return m, problems
}

// take reads one metadata item into m and reports whether it was understood.
// Keys of other writers are none of our business and count as understood; of an
// item given twice the first one counts.
func (m *Message) take(item *Item) bool {
	switch item.Key {
	case keyGroup:
		return takeText(&m.GroupID, item.Value, MaxMetadataBytes)
	case keyDeduplication:
		return takeText(&m.DeduplicationID, item.Value, MaxMetadataBytes)
	case keyPrivateDeduplication:
		if m.DeduplicationID == "" {
			m.PrivateDeduplication = takeText(&m.DeduplicationID, item.Value, MaxMetadataBytes)
			return m.PrivateDeduplication
		}
		return true
	case keyDelay:
		v, ok := parseNumber(item.Value, maxDelaySeconds)
		if ok && m.DelaySeconds < 0 {
			m.DelaySeconds = int(v)
		}
		return ok
	case keyAttributes:
		list, err := decodeAttributes(item.Value)
		if err == nil && m.Attributes == nil {
			m.Attributes = list
		}
		return err == nil
	case keyTraceHeader:
		return takeText(&m.TraceHeader, item.Value, MaxMetadataBytes)
	case keySenderID:
		return takeText(&m.SenderID, item.Value, maxTextBytes)
	case keyMessageID:
		return takeText(&m.MessageID, item.Value, maxTextBytes)
	case keyDeadLetterSource:
		return takeText(&m.DeadLetterSource, item.Value, maxTextBytes)
	case keySentMillis:
		v, ok := parseNumber(item.Value, maxSentMillis)
		if ok && m.SentMillis == 0 {
			m.SentMillis = v
		}
		return ok
	case keyReceiveCount:
		v, ok := parseNumber(item.Value, maxReceiveCount)
		if ok && m.ReceiveCount == 0 {
			m.ReceiveCount = int(v)
		}
		return ok
	default:
		return true
	}
}

func takeText(to *string, value []byte, most int) bool {
	if len(value) > most || !ValidBody(value) {
		return false
	}
	if *to == "" {
		*to = string(value)
	}
	return true
}
