package wire

import "sqsgate/gateway/api"

// maxEntries is how many entries of a batch are kept; more are only counted.
const maxEntries = 1000

// members reads the JSON document of the request.
func (in *Input) members(member func(p *parser, name []byte) error) error {
	p := &parser{buf: in.body}
	return p.document(func(name []byte) error { return member(p, name) })
}

func (p *parser) sendMessage(r *api.SendMessageRequest) error {
	return p.document(func(name []byte) error {
		if string(name) == "QueueUrl" {
			return p.string(&r.QueueURL)
		}
		return p.sendMember(name, &r.SendEntry)
	})
}

func (p *parser) sendMessageBatch(r *api.SendMessageBatchRequest) error {
	return p.document(func(name []byte) error {
		switch string(name) {
		case "QueueUrl":
			return p.string(&r.QueueURL)
		case "Entries":
			return entries(p, &r.Entries, func(e *api.SendEntry, name []byte) error {
				if string(name) == "Id" {
					return p.string(&e.ID)
				}
				return p.sendMember(name, e)
			})
		}
		return p.skip()
	})
}

// entries reads the list of a batch.
func entries[E any](p *parser, to *[]E, member func(e *E, name []byte) error) error {
	*to = (*to)[:0]
	count := 0
	err := p.array(func() error {
		if count++; count > maxEntries {
			return p.skip()
		}
		if cap(*to) == 0 {
			*to = make([]E, 0, api.MaxBatchEntries)
		}
		var zero E
		*to = append(*to, zero)
		e := &(*to)[len(*to)-1]
		_, err := p.object(func(name []byte) error { return member(e, name) })
		return err
	})
	if err == nil && count > maxEntries {
		return api.Errorf(api.TooManyEntriesInBatchRequest, "Maximum number of entries per request are %d. You have sent %d.", api.MaxBatchEntries, count)
	}
	return err
}

func (p *parser) sendMember(name []byte, e *api.SendEntry) error {
	switch string(name) {
	case "MessageBody":
		return p.bytes(&e.Body)
	case "DelaySeconds":
		return p.int(&e.Delay)
	case "MessageAttributes":
		return p.attributes(&e.Attributes)
	case "MessageSystemAttributes":
		return p.attributes(&e.SystemAttributes)
	case "MessageDeduplicationId":
		return p.text(&e.DeduplicationID)
	case "MessageGroupId":
		return p.text(&e.GroupID)
	}
	return p.skip()
}

func (p *parser) attributes(to *[]api.Attribute) error {
	*to = nil
	_, err := p.object(func(name []byte) error {
		a := api.Attribute{Name: string(name)}
		present, err := p.object(func(member []byte) error { return p.attributeMember(member, &a) })
		if err != nil {
			return err
		}
		// The last of a name counts. Many are refused later anyway: not searched.
		for i := range min(len(*to), 2*api.MaxMessageAttributes) {
			if (*to)[i].Name == a.Name {
				*to = append((*to)[:i], (*to)[i+1:]...)
				break
			}
		}
		if present {
			*to = append(*to, a)
		}
		return nil
	})
	return err
}

func (p *parser) attributeMember(name []byte, a *api.Attribute) error {
	var v []byte
	switch string(name) {
	case "DataType":
		return p.string(&a.DataType)
	case "StringValue":
		if err := p.bytes(&v); err != nil {
			return err
		}
		if a.HasString = v != nil; a.HasString || !a.HasBinary {
			a.Value = v
		}
		return nil
	case "BinaryValue":
		if err := p.blob(&v); err != nil {
			return err
		}
		if a.HasBinary = v != nil; a.HasBinary || !a.HasString {
			a.Value = v
		}
		return nil
	case "StringListValues", "BinaryListValues":
		var list []string
		err := p.strings(&list)
		a.HasList = a.HasList || len(list) > 0
		return err
	}
	return p.skip()
}

func (p *parser) receiveMessage(r *api.ReceiveMessageRequest) error {
	return p.document(func(name []byte) error {
		switch string(name) {
		case "QueueUrl":
			return p.string(&r.QueueURL)
		case "AttributeNames":
			return p.strings(&r.AttributeNames)
		case "MessageSystemAttributeNames":
			return p.strings(&r.SystemAttributeNames)
		case "MessageAttributeNames":
			return p.strings(&r.MessageAttributeNames)
		case "MaxNumberOfMessages":
			return p.int(&r.Max)
		case "VisibilityTimeout":
			return p.int(&r.Visibility)
		case "WaitTimeSeconds":
			return p.int(&r.Wait)
		case "ReceiveRequestAttemptId":
			return p.text(&r.AttemptID)
		}
		return p.skip()
	})
}

// handle reads the members of DeleteMessage and ChangeMessageVisibility, alone
// or as an entry.
func (p *parser) handle(name []byte, e *api.HandleEntry) error {
	switch string(name) {
	case "Id":
		return p.string(&e.ID)
	case "ReceiptHandle":
		return p.string(&e.ReceiptHandle)
	case "VisibilityTimeout":
		return p.int(&e.Visibility)
	}
	return p.skip()
}

func (p *parser) handleRequest(queueURL *string, e *api.HandleEntry) error {
	return p.document(func(name []byte) error {
		if string(name) == "QueueUrl" {
			return p.string(queueURL)
		}
		return p.handle(name, e)
	})
}

func (p *parser) handleBatch(r *api.HandleBatchRequest) error {
	return p.document(func(name []byte) error {
		switch string(name) {
		case "QueueUrl":
			return p.string(&r.QueueURL)
		case "Entries":
			return entries(p, &r.Entries, func(e *api.HandleEntry, name []byte) error { return p.handle(name, e) })
		}
		return p.skip()
	})
}
