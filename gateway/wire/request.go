package wire

import "sqsgate/gateway/api"

// SendMessage decodes the request of that action.
func (in *Input) SendMessage(r *api.SendMessageRequest) error {
	if in.json {
		return (&parser{buf: in.body}).sendMessage(r)
	}
	return in.form.sendMessage(r)
}

// SendMessageBatch decodes the request of that action.
func (in *Input) SendMessageBatch(r *api.SendMessageBatchRequest) error {
	if in.json {
		return (&parser{buf: in.body}).sendMessageBatch(r)
	}
	return in.form.sendMessageBatch(r)
}

// ReceiveMessage decodes the request of that action.
func (in *Input) ReceiveMessage(r *api.ReceiveMessageRequest) error {
	if in.json {
		return (&parser{buf: in.body}).receiveMessage(r)
	}
	return in.form.receiveMessage(r)
}

func (in *Input) handle(queueURL *string, e *api.HandleEntry) error {
	if in.json {
		return (&parser{buf: in.body}).handleRequest(queueURL, e)
	}
	return in.form.handleRequest(queueURL, e)
}

// DeleteMessage decodes the request of that action.
func (in *Input) DeleteMessage(r *api.DeleteMessageRequest) error {
	var e api.HandleEntry
	err := in.handle(&r.QueueURL, &e)
	r.ReceiptHandle = e.ReceiptHandle
	return err
}

// ChangeMessageVisibility decodes the request of that action.
func (in *Input) ChangeMessageVisibility(r *api.ChangeMessageVisibilityRequest) error {
	var e api.HandleEntry
	err := in.handle(&r.QueueURL, &e)
	r.ReceiptHandle, r.Visibility = e.ReceiptHandle, e.Visibility
	return err
}

// DeleteMessageBatch decodes the request of that action.
func (in *Input) DeleteMessageBatch(r *api.HandleBatchRequest) error {
	if in.json {
		return (&parser{buf: in.body}).handleBatch(r)
	}
	return in.form.handleBatch(r, "DeleteMessageBatchRequestEntry", "Entries")
}

// ChangeMessageVisibilityBatch decodes the request of that action.
func (in *Input) ChangeMessageVisibilityBatch(r *api.HandleBatchRequest) error {
	if in.json {
		return (&parser{buf: in.body}).handleBatch(r)
	}
	return in.form.handleBatch(r, "ChangeMessageVisibilityBatchRequestEntry", "Entries")
}

// CreateQueue decodes the request of that action.
func (in *Input) CreateQueue(r *api.CreateQueueRequest) error {
	if !in.json {
		var err error
		r.QueueName = in.form.get("QueueName")
		if r.Attributes, err = in.form.maps("Attribute", "Attributes"); err != nil {
			return err
		}
		r.Tags, err = in.form.maps("Tag", "Tags", "tags")
		return err
	}
	return in.members(func(p *parser, name []byte) error {
		switch string(name) {
		case "QueueName":
			return p.string(&r.QueueName)
		case "Attributes":
			return p.stringMap(&r.Attributes)
		case "tags", "Tags": // the model says tags; both are met
			return p.stringMap(&r.Tags)
		}
		return p.skip()
	})
}

// GetQueueURL decodes the request of GetQueueUrl.
func (in *Input) GetQueueURL(r *api.GetQueueURLRequest) error {
	if !in.json {
		r.QueueName, r.OwnerAccount = in.form.get("QueueName"), in.form.get("QueueOwnerAWSAccountId")
		return nil
	}
	return in.members(func(p *parser, name []byte) error {
		switch string(name) {
		case "QueueName":
			return p.string(&r.QueueName)
		case "QueueOwnerAWSAccountId":
			return p.string(&r.OwnerAccount)
		}
		return p.skip()
	})
}

// ListQueues decodes the request of that action.
func (in *Input) ListQueues(r *api.ListQueuesRequest) error {
	if !in.json {
		r.Prefix, r.NextToken = in.form.get("QueueNamePrefix"), in.form.get("NextToken")
		if max := in.form.get("MaxResults"); max != "" {
			return formInt(&r.MaxResults, "MaxResults", []byte(max))
		}
		return nil
	}
	return in.members(func(p *parser, name []byte) error {
		switch string(name) {
		case "QueueNamePrefix":
			return p.string(&r.Prefix)
		case "NextToken":
			return p.string(&r.NextToken)
		case "MaxResults":
			return p.int(&r.MaxResults)
		}
		return p.skip()
	})
}

// Queue decodes the request of DeleteQueue, PurgeQueue or ListQueueTags.
func (in *Input) Queue(r *api.QueueRequest) error {
	if !in.json {
		r.QueueURL = in.form.get("QueueUrl")
		return nil
	}
	return in.members(func(p *parser, name []byte) error {
		if string(name) == "QueueUrl" {
			return p.string(&r.QueueURL)
		}
		return p.skip()
	})
}

// GetQueueAttributes decodes the request of that action.
func (in *Input) GetQueueAttributes(r *api.GetQueueAttributesRequest) error {
	if !in.json {
		var err error
		r.QueueURL = in.form.get("QueueUrl")
		r.Names, err = in.form.strings("AttributeName", "AttributeNames")
		return err
	}
	return in.members(func(p *parser, name []byte) error {
		switch string(name) {
		case "QueueUrl":
			return p.string(&r.QueueURL)
		case "AttributeNames":
			return p.strings(&r.Names)
		}
		return p.skip()
	})
}

// SetQueueAttributes decodes the request of that action.
func (in *Input) SetQueueAttributes(r *api.SetQueueAttributesRequest) error {
	if !in.json {
		var err error
		r.QueueURL = in.form.get("QueueUrl")
		r.Attributes, err = in.form.maps("Attribute", "Attributes")
		return err
	}
	return in.members(func(p *parser, name []byte) error {
		switch string(name) {
		case "QueueUrl":
			return p.string(&r.QueueURL)
		case "Attributes":
			return p.stringMap(&r.Attributes)
		}
		return p.skip()
	})
}

// TagQueue decodes the request of that action.
func (in *Input) TagQueue(r *api.TagQueueRequest) error {
	if !in.json {
		var err error
		r.QueueURL = in.form.get("QueueUrl")
		r.Tags, err = in.form.maps("Tag", "Tags")
		return err
	}
	return in.members(func(p *parser, name []byte) error {
		switch string(name) {
		case "QueueUrl":
			return p.string(&r.QueueURL)
		case "Tags":
			return p.stringMap(&r.Tags)
		}
		return p.skip()
	})
}

// UntagQueue decodes the request of that action.
func (in *Input) UntagQueue(r *api.UntagQueueRequest) error {
	if !in.json {
		var err error
		r.QueueURL = in.form.get("QueueUrl")
		r.Keys, err = in.form.strings("TagKey", "TagKeys")
		return err
	}
	return in.members(func(p *parser, name []byte) error {
		switch string(name) {
		case "QueueUrl":
			return p.string(&r.QueueURL)
		case "TagKeys":
			return p.strings(&r.Keys)
		}
		return p.skip()
	})
}
