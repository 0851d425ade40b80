package gateway

import (
	"context"
	"errors"

	"sqsgate/gateway/api"
	"sqsgate/gateway/catalog"
)

// cancelMessageMoveTask serves CancelMessageMoveTask: a RUNNING task is CANCELLING
// until the messages it is just moving have moved, then CANCELLED. Errors:
// InvalidParameterValue for what is no handle; ResourceNotFoundException for the
// queue, or for a task that is unknown or not RUNNING.
func (s *Server) cancelMessageMoveTask(ctx context.Context, c *call, r *api.CancelMoveTaskRequest) (*api.CancelMoveTaskResult, error) {
	handle, err := api.ParseTaskHandle(r.TaskHandle)
	if err != nil {
		return nil, err
	}
	source, err := s.taskQueue(ctx, c, handle.SourceARN, api.ErrTaskSourceGone)
	if err != nil {
		return nil, err
	}
	c.event.queue = source.Name
	task, err := s.opts.MoveTasks.Cancel(ctx, source.Name, handle.TaskID)
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, api.ErrTaskGone
	}
	if err != nil {
		return nil, err
	}
	return &api.CancelMoveTaskResult{Moved: task.Moved}, nil
}
