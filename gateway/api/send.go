package api

import "strconv"

const (
	noDeduplicationText = "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
	wrongTypeText       = "The request include parameter that is not valid for this queue type." // AWS writes "include"
	charactersText      = "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"
)

// SendRules are the attributes of a queue that its messages must obey.
type SendRules struct {
	FIFO         bool
	ContentBased bool // ContentBasedDeduplication
	MaxBytes     int  // MaximumMessageSize
	// ValidText tells whether bytes are the UTF-8 of characters SQS allows.
	ValidText func([]byte) bool
}

// Size is what SQS counts of a message: the body, and the names, data types and
// values of its attributes. System attributes do not count.
func (e *SendEntry) Size() int {
	n := len(e.Body)
	for i := range e.Attributes {
		a := &e.Attributes[i]
		n += len(a.Name) + len(a.DataType) + len(a.Value)
	}
	return n
}

// CheckSend checks one message. batch tells that it is an entry of a batch,
// whose size error reads differently.
func CheckSend(e *SendEntry, r SendRules, batch bool) error {
	if len(e.Body) == 0 {
		return Missing("MessageBody")
	}
	if e.Size() > r.MaxBytes {
		verb := "are invalid"
		if batch {
			verb = "cannot be validated"
		}
		return Errorf(InvalidParameterValue, "One or more parameters %s. Reason: Message must be shorter than %d bytes.", verb, r.MaxBytes)
	}
	if !r.ValidText(e.Body) {
		return &Error{Kind: InvalidMessageContents, Message: charactersText}
	}
	if err := checkDelay(e.Delay, r.FIFO); err != nil {
		return err
	}
	if err := checkAttributes(e.Attributes, r.ValidText); err != nil {
		return err
	}
	if err := checkSystemAttributes(e.SystemAttributes, r.ValidText); err != nil {
		return err
	}
	return checkFIFO(e, r)
}

func checkDelay(delay Int, fifo bool) error {
	switch {
	case !delay.Set:
		return nil
	case fifo && delay.Value != 0:
		// 0 is accepted, and does not override the queue's delay.
		return InvalidValue("DelaySeconds", strconv.FormatInt(delay.Value, 10), wrongTypeText)
	case delay.Value < 0 || delay.Value > MaxDelaySeconds:
		return InvalidValue("DelaySeconds", strconv.FormatInt(delay.Value, 10), "DelaySeconds must be >= 0 and <= 900.")
	}
	return nil
}

func checkFIFO(e *SendEntry, r SendRules) error {
	// Standard queues take a group too: the tenant of a fair queue.
	if e.GroupID.Set && !validID(e.GroupID.Value) {
		return invalidID("MessageGroupId", e.GroupID.Value)
	}
	if !r.FIFO {
		if e.DeduplicationID.Set {
			return InvalidValue("MessageDeduplicationId", e.DeduplicationID.Value, wrongTypeText)
		}
		return nil
	}
	if !e.GroupID.Set {
		return Missing("MessageGroupId")
	}
	if !e.DeduplicationID.Set {
		if r.ContentBased {
			return nil
		}
		return &Error{Kind: InvalidParameterValue, Message: noDeduplicationText}
	}
	if !validID(e.DeduplicationID.Value) {
		return invalidID("MessageDeduplicationId", e.DeduplicationID.Value)
	}
	return nil
}

func invalidID(parameter, value string) error {
	return InvalidValue(parameter, value, parameter+" can only include alphanumeric and punctuation characters. 1 to 128 in length.")
}

// validID: 1-128 ASCII letters, digits and punctuation characters, no spaces.
func validID(id string) bool {
	if id == "" || len(id) > MaxGroupIDLength {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}
