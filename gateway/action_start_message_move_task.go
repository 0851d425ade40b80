package gateway

import (
	"context"
	"errors"

	"sqsgate/gateway/api"
	"sqsgate/gateway/catalog"
)

// startMessageMoveTask serves StartMessageMoveTask: the messages of a dead-letter
// queue move to another queue, or each back to where it came from.
//
// Limits: 1-500 messages a second if a rate is given; one active task a source
// and 100 in all. Errors: ResourceNotFoundException for either queue (404), and
// InvalidParameterValue when no queue has the source for its dead-letter queue,
// or a task of it is active.
func (s *Server) startMessageMoveTask(ctx context.Context, c *call, r *api.StartMoveTaskRequest) (*api.StartMoveTaskResult, error) {
	if err := api.CheckStartMoveTask(r); err != nil {
		return nil, err
	}
	source, err := s.taskQueue(ctx, c, r.SourceARN, api.ErrTaskSourceGone)
	if err != nil {
		return nil, err
	}
	c.event.queue = source.Name
	if len(s.opts.Catalog.Select("", 1, s.opts.redrivesTo(source.Name))) == 0 {
		return nil, api.ErrTaskSourceNoDLQ
	}
	task := catalog.Task{ID: newRequestID(), Source: source.Name, Rate: int(r.Rate.Value)}
	if r.DestinationARN != "" {
		destination, err := s.taskQueue(ctx, c, r.DestinationARN, api.ErrTaskDestinationGone)
		switch {
		case err != nil:
			return nil, err
		case destination.Name == source.Name:
			return nil, api.ErrTaskToItself
		case destination.FIFO != source.FIFO:
			return nil, api.ErrTaskQueueType
		}
		task.Destination = destination.Name
	}
	counts, err := s.opts.Consumer.Queue(source.spec).Counts(ctx)
	if err != nil {
		return nil, err
	}
	task.ToMove = counts.Visible
	switch task, err = s.opts.MoveTasks.Start(ctx, task); {
	case errors.Is(err, catalog.ErrTaskActive):
		return nil, api.ErrTaskActive
	case errors.Is(err, catalog.ErrTooManyTasks):
		return nil, api.Errorf(api.RequestThrottled, "Too many message move tasks are active. Try again later.")
	case errors.Is(err, catalog.ErrNotFound):
		return nil, api.ErrTaskSourceGone
	case err != nil:
		return nil, err
	}
	return &api.StartMoveTaskResult{TaskHandle: s.taskHandle(&task)}, nil
}

// taskQueue returns the queue of an ARN, or the error gone.
func (s *Server) taskQueue(ctx context.Context, c *call, arn string, gone error) (*queue, error) {
	name := s.opts.nameOfARN(arn)
	if name == "" {
		return nil, gone
	}
	if err := s.mayUse(c, name); err != nil {
		return nil, err
	}
	q, err := s.queues.get(ctx, name)
	if errors.Is(err, catalog.ErrNotFound) || errors.Is(err, catalog.ErrInvalidName) {
		return nil, gone
	}
	return q, err
}

func (s *Server) taskHandle(t *catalog.Task) string {
	return api.TaskHandle{TaskID: t.ID, SourceARN: s.opts.arn(t.Source)}.String()
}
