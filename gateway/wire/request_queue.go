package wire

import "sqsgate/gateway/api"

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
		return in.form.int(&r.MaxResults, "MaxResults")
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

// ListSources decodes the request of ListDeadLetterSourceQueues.
func (in *Input) ListSources(r *api.ListSourcesRequest) error {
	if !in.json {
		r.QueueURL, r.NextToken = in.form.get("QueueUrl"), in.form.get("NextToken")
		return in.form.int(&r.MaxResults, "MaxResults")
	}
	return in.members(func(p *parser, name []byte) error {
		switch string(name) {
		case "QueueUrl":
			return p.string(&r.QueueURL)
		case "NextToken":
			return p.string(&r.NextToken)
		case "MaxResults":
			return p.int(&r.MaxResults)
		}
		return p.skip()
	})
}

// AddPermission decodes the request of that action.
func (in *Input) AddPermission(r *api.AddPermissionRequest) error {
	if !in.json {
		var err error
		r.QueueURL, r.Label = in.form.get("QueueUrl"), in.form.get("Label")
		if r.Accounts, err = in.form.strings("AWSAccountId", "AWSAccountIds"); err != nil {
			return err
		}
		r.Actions, err = in.form.strings("ActionName", "Actions")
		return err
	}
	return in.members(func(p *parser, name []byte) error {
		switch string(name) {
		case "QueueUrl":
			return p.string(&r.QueueURL)
		case "Label":
			return p.string(&r.Label)
		case "AWSAccountIds":
			return p.strings(&r.Accounts)
		case "Actions":
			return p.strings(&r.Actions)
		}
		return p.skip()
	})
}

// RemovePermission decodes the request of that action.
func (in *Input) RemovePermission(r *api.RemovePermissionRequest) error {
	if !in.json {
		r.QueueURL, r.Label = in.form.get("QueueUrl"), in.form.get("Label")
		return nil
	}
	return in.members(func(p *parser, name []byte) error {
		switch string(name) {
		case "QueueUrl":
			return p.string(&r.QueueURL)
		case "Label":
			return p.string(&r.Label)
		}
		return p.skip()
	})
}
