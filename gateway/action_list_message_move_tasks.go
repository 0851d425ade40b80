package gateway

import (
	"context"

	"sqsgate/gateway/api"
	"sqsgate/gateway/catalog"
)

// listMessageMoveTasks serves ListMessageMoveTasks: the newest tasks of a queue,
// newest first, 1-10 of them and one unless MaxResults says otherwise. Only a
// RUNNING task shows its handle. Errors: ResourceNotFoundException.
func (s *Server) listMessageMoveTasks(ctx context.Context, c *call, r *api.ListMoveTasksRequest) (*api.ListMoveTasksResult, error) {
	most, err := api.CheckListMoveTasks(r)
	if err != nil {
		return nil, err
	}
	source, err := s.taskQueue(ctx, c, r.SourceARN, api.ErrTaskSourceGone)
	if err != nil {
		return nil, err
	}
	c.event.queue = source.Name
	res := &api.ListMoveTasksResult{}
	tasks := s.opts.Catalog.Tasks(source.Name)
	for _, t := range tasks[:min(most, len(tasks))] {
		shown := api.MoveTask{
			Status: string(t.Status), SourceARN: s.opts.arn(t.Source), Rate: int64(t.Rate),
			Moved: t.Moved, ToMove: t.ToMove, FailureReason: t.Reason, Started: t.Started,
		}
		if t.Destination != "" {
			shown.DestinationARN = s.opts.arn(t.Destination)
		}
		if t.Status == catalog.TaskRunning {
			shown.TaskHandle = s.taskHandle(&t)
		}
		res.Tasks = append(res.Tasks, shown)
	}
	return res, nil
}
