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
