package wire

import "sqsgate/gateway/api"

// formSend collects a message while its parameters come.
type formSend struct {
	entry      api.SendEntry
	attributes list[api.Attribute]
	system     list[api.Attribute]
}

func (s *formSend) member(key string, value []byte) error {
	e := &s.entry
	switch key {
	case "Id":
		e.ID = string(value)
	case "MessageBody":
		e.Body = value
	case "DelaySeconds":
		return formInt(&e.Delay, key, value)
	case "MessageDeduplicationId":
		e.DeduplicationID = api.Text{Value: string(value), Set: true}
	case "MessageGroupId":
		e.GroupID = api.Text{Value: string(value), Set: true}
	default:
		if n, part, ok := member(key, value, "MessageAttribute", "MessageAttributes"); ok {
			return formAttribute(&s.attributes, n, part, value)
		}
		if n, part, ok := member(key, value, "MessageSystemAttribute", "MessageSystemAttributes"); ok {
			return formAttribute(&s.system, n, part, value)
		}
	}
	return nil
}

func (s *formSend) result() api.SendEntry {
	s.entry.Attributes, s.entry.SystemAttributes = s.attributes.sorted(), s.system.sorted()
	return s.entry
}

func (f *form) sendMessage(r *api.SendMessageRequest) error {
	var s formSend
	if err := f.each(s.member); err != nil {
		return err
	}
	r.QueueURL, r.SendEntry = f.get("QueueUrl"), s.result()
	r.ID = ""
	return nil
}

func (f *form) sendMessageBatch(r *api.SendMessageBatchRequest) error {
	var l list[formSend]
	err := f.each(func(key string, value []byte) error {
		n, rest, ok := member(key, value, "SendMessageBatchRequestEntry", "Entries")
		if !ok {
			return nil
		}
		s, err := l.at(n)
		if err != nil {
			return err
		}
		return s.member(rest, value)
	})
	if err != nil {
		return err
	}
	r.QueueURL = f.get("QueueUrl")
	sends := l.sorted()
	r.Entries = make([]api.SendEntry, len(sends))
	for i := range sends {
		r.Entries[i] = sends[i].result()
	}
	return nil
}

func (f *form) receiveMessage(r *api.ReceiveMessageRequest) error {
	var attributes, system, message list[string]
	r.QueueURL = f.get("QueueUrl")
	err := f.each(func(key string, value []byte) error {
		switch key {
		case "MaxNumberOfMessages":
			return formInt(&r.Max, key, value)
		case "VisibilityTimeout":
			return formInt(&r.Visibility, key, value)
		case "WaitTimeSeconds":
			return formInt(&r.Wait, key, value)
		case "ReceiveRequestAttemptId":
			r.AttemptID = api.Text{Value: string(value), Set: true}
			return nil
		}
		if n, _, ok := member(key, value, "AttributeName", "AttributeNames"); ok {
			return formStrings(&attributes, n, value)
		}
		if n, _, ok := member(key, value, "MessageSystemAttributeName", "MessageSystemAttributeNames"); ok {
			return formStrings(&system, n, value)
		}
		if n, _, ok := member(key, value, "MessageAttributeName", "MessageAttributeNames"); ok {
			return formStrings(&message, n, value)
		}
		return nil
	})
	r.AttributeNames, r.SystemAttributeNames, r.MessageAttributeNames = attributes.sorted(), system.sorted(), message.sorted()
	return err
}

func formHandle(e *api.HandleEntry, key string, value []byte) error {
	switch key {
	case "Id":
		e.ID = string(value)
	case "ReceiptHandle":
		e.ReceiptHandle = string(value)
	case "VisibilityTimeout":
		return formInt(&e.Visibility, key, value)
	}
	return nil
}

func (f *form) handleRequest(queueURL *string, e *api.HandleEntry) error {
	*queueURL = f.get("QueueUrl")
	return f.each(func(key string, value []byte) error { return formHandle(e, key, value) })
}

// handleBatch reads a batch of receipt handles; names are those of its list.
func (f *form) handleBatch(r *api.HandleBatchRequest, names ...string) error {
	var l list[api.HandleEntry]
	r.QueueURL = f.get("QueueUrl")
	err := f.each(func(key string, value []byte) error {
		n, rest, ok := member(key, value, names...)
		if !ok {
			return nil
		}
		e, err := l.at(n)
		if err != nil {
			return err
		}
		return formHandle(e, rest, value)
	})
	r.Entries = l.sorted()
	return err
}

// maps reads a map of strings whose list has one of names.
func (f *form) maps(names ...string) (map[string]string, error) {
	var l list[api.Pair]
	err := f.each(func(key string, value []byte) error {
		if n, part, ok := member(key, value, names...); ok {
			return formPairs(&l, n, part, value)
		}
		return nil
	})
	return toMap(l.members), err
}

// strings reads a list of strings that has one of names.
func (f *form) strings(names ...string) ([]string, error) {
	var l list[string]
	err := f.each(func(key string, value []byte) error {
		if n, _, ok := member(key, value, names...); ok {
			return formStrings(&l, n, value)
		}
		return nil
	})
	return l.sorted(), err
}

// int reads an optional integer; an empty one counts as absent.
func (f *form) int(to *api.Int, name string) error {
	if value := f.get(name); value != "" {
		return formInt(to, name, []byte(value))
	}
	return nil
}
