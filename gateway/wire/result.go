package wire

import "sqsgate/gateway/api"

// QueueURL writes the result of CreateQueue or GetQueueUrl.
func (e *Encoder) QueueURL(r *api.QueueURLResult) {
	e.begin()
	e.str("QueueUrl", r.QueueURL)
	e.end()
}

// ListQueues writes the result of that action.
func (e *Encoder) ListQueues(r *api.ListQueuesResult) {
	e.begin()
	e.strings("QueueUrls", "QueueUrl", r.QueueURLs)
	e.optional("NextToken", r.NextToken)
	e.end()
}

// ListSources writes the result of ListDeadLetterSourceQueues, whose list has a
// small first letter, and in XML the element of ListQueues.
func (e *Encoder) ListSources(r *api.ListSourcesResult) {
	e.begin()
	e.strings("queueUrls", "QueueUrl", r.QueueURLs)
	e.optional("NextToken", r.NextToken)
	e.end()
}

// StartMoveTask writes the result of StartMessageMoveTask.
func (e *Encoder) StartMoveTask(r *api.StartMoveTaskResult) {
	e.begin()
	e.str("TaskHandle", r.TaskHandle)
	e.end()
}

// CancelMoveTask writes the result of CancelMessageMoveTask.
func (e *Encoder) CancelMoveTask(r *api.CancelMoveTaskResult) {
	e.begin()
	e.int("ApproximateNumberOfMessagesMoved", r.Moved)
	e.end()
}

// ListMoveTasks writes the result of ListMessageMoveTasks.
func (e *Encoder) ListMoveTasks(r *api.ListMoveTasksResult) {
	const entry = "ListMessageMoveTasksResultEntry"
	e.begin()
	if len(r.Tasks) > 0 {
		e.list("Results")
		for i := range r.Tasks {
			t := &r.Tasks[i]
			e.item(entry)
			e.optional("TaskHandle", t.TaskHandle)
			e.str("Status", t.Status)
			e.str("SourceArn", t.SourceARN)
			e.optional("DestinationArn", t.DestinationARN)
			if t.Rate > 0 {
				e.int("MaxNumberOfMessagesPerSecond", t.Rate)
			}
			e.int("ApproximateNumberOfMessagesMoved", t.Moved)
			e.int("ApproximateNumberOfMessagesToMove", t.ToMove)
			e.optional("FailureReason", t.FailureReason)
			e.int("StartedTimestamp", t.Started)
			e.endItem(entry)
		}
		e.endList()
	}
	e.end()
}

// Attributes writes the result of GetQueueAttributes.
func (e *Encoder) Attributes(r *api.AttributesResult) {
	e.begin()
	e.pairs("Attributes", "Attribute", "Name", r.Attributes)
	e.end()
}

// Tags writes the result of ListQueueTags.
func (e *Encoder) Tags(r *api.TagsResult) {
	e.begin()
	e.pairs("Tags", "Tag", "Key", r.Tags)
	e.end()
}

func (e *Encoder) send(r *api.SendResult) {
	e.str("MD5OfMessageBody", r.BodyMD5)
	e.optional("MD5OfMessageAttributes", r.AttributesMD5)
	e.optional("MD5OfMessageSystemAttributes", r.SystemAttributesMD5)
	e.str("MessageId", r.MessageID)
	e.optional("SequenceNumber", r.SequenceNumber)
}

// SendMessage writes the result of that action.
func (e *Encoder) SendMessage(r *api.SendResult) {
	e.begin()
	e.send(r)
	e.end()
}

// SendMessageBatch writes the result of that action.
func (e *Encoder) SendMessageBatch(r *api.SendMessageBatchResult) {
	const entry = "SendMessageBatchResultEntry"
	e.begin()
	if len(r.Successful) > 0 {
		e.list("Successful")
		for i := range r.Successful {
			e.item(entry)
			e.str("Id", r.Successful[i].ID)
			e.send(&r.Successful[i])
			e.endItem(entry)
		}
		e.endList()
	}
	e.failed(r.Failed)
	e.end()
}

// DeleteMessageBatch writes the result of that action.
func (e *Encoder) DeleteMessageBatch(r *api.BatchResult) {
	e.batch(r, "DeleteMessageBatchResultEntry")
}

// ChangeMessageVisibilityBatch writes the result of that action.
func (e *Encoder) ChangeMessageVisibilityBatch(r *api.BatchResult) {
	e.batch(r, "ChangeMessageVisibilityBatchResultEntry")
}

func (e *Encoder) batch(r *api.BatchResult, entry string) {
	e.begin()
	if len(r.Successful) > 0 {
		e.list("Successful")
		for _, id := range r.Successful {
			e.item(entry)
			e.str("Id", id)
			e.endItem(entry)
		}
		e.endList()
	}
	e.failed(r.Failed)
	e.end()
}

func (e *Encoder) failed(failed []api.BatchError) {
	if len(failed) == 0 {
		return
	}
	const entry = "BatchResultErrorEntry"
	e.list("Failed")
	for i := range failed {
		f := &failed[i]
		e.item(entry)
		e.str("Id", f.ID)
		e.bool("SenderFault", f.SenderFault)
		e.str("Code", f.Code)
		e.optional("Message", f.Message)
		e.endItem(entry)
	}
	e.endList()
}

// ReceiveMessage writes the result of that action.
func (e *Encoder) ReceiveMessage(r *api.ReceiveMessageResult) {
	e.begin()
	if len(r.Messages) > 0 {
		if e.format == QueryJSON {
			e.list("messages")
		} else {
			e.list("Messages")
		}
		for i := range r.Messages {
			e.item("Message")
			e.message(&r.Messages[i])
			e.endItem("Message")
		}
		e.endList()
	}
	e.end()
}

func (e *Encoder) message(m *api.ReceivedMessage) {
	e.str("MessageId", m.MessageID)
	e.str("ReceiptHandle", m.ReceiptHandle)
	e.str("MD5OfBody", m.BodyMD5)
	e.bytes("Body", m.Body)
	e.pairs("Attributes", "Attribute", "Name", m.Attributes)
	e.optional("MD5OfMessageAttributes", m.AttributesMD5)
	e.messageAttributes(m.MessageAttributes)
}

func (e *Encoder) messageAttributes(attributes []api.ReceivedAttribute) {
	if len(attributes) == 0 {
		return
	}
	if e.format == JSON {
		e.key("MessageAttributes")
		e.raw("{")
		for i := range attributes {
			e.comma()
			e.quote(attributes[i].Name)
			e.raw(":{")
			e.attributeValue(&attributes[i])
			e.raw("}")
		}
		e.raw("}")
		return
	}
	e.list("MessageAttributes")
	for i := range attributes {
		e.item("MessageAttribute")
		e.str("Name", attributes[i].Name)
		if e.format == XML {
			e.tag("Value")
		} else {
			e.key("Value")
			e.raw("{")
		}
		e.attributeValue(&attributes[i])
		e.endItem("Value")
		e.endItem("MessageAttribute")
	}
	e.endList()
}

func (e *Encoder) attributeValue(a *api.ReceivedAttribute) {
	if a.Binary {
		e.blob("BinaryValue", a.Value)
	} else {
		e.bytes("StringValue", a.Value)
	}
	e.str("DataType", a.DataType)
}
