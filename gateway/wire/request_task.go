package wire

import "sqsgate/gateway/api"

// StartMoveTask decodes the request of StartMessageMoveTask.
func (in *Input) StartMoveTask(r *api.StartMoveTaskRequest) error {
	const rate = "MaxNumberOfMessagesPerSecond"
	if !in.json {
		r.SourceARN, r.DestinationARN = in.form.get("SourceArn"), in.form.get("DestinationArn")
		return in.form.int(&r.Rate, rate)
	}
	return in.members(func(p *parser, name []byte) error {
		switch string(name) {
		case "SourceArn":
			return p.string(&r.SourceARN)
		case "DestinationArn":
			return p.string(&r.DestinationARN)
		case rate:
			return p.int(&r.Rate)
		}
		return p.skip()
	})
}

// CancelMoveTask decodes the request of CancelMessageMoveTask.
func (in *Input) CancelMoveTask(r *api.CancelMoveTaskRequest) error {
	if !in.json {
		r.TaskHandle = in.form.get("TaskHandle")
		return nil
	}
	return in.members(func(p *parser, name []byte) error {
		if string(name) == "TaskHandle" {
			return p.string(&r.TaskHandle)
		}
		return p.skip()
	})
}

// ListMoveTasks decodes the request of ListMessageMoveTasks.
func (in *Input) ListMoveTasks(r *api.ListMoveTasksRequest) error {
	if !in.json {
		r.SourceARN = in.form.get("SourceArn")
		return in.form.int(&r.MaxResults, "MaxResults")
	}
	return in.members(func(p *parser, name []byte) error {
		switch string(name) {
		case "SourceArn":
			return p.string(&r.SourceARN)
		case "MaxResults":
			return p.int(&r.MaxResults)
		}
		return p.skip()
	})
}
