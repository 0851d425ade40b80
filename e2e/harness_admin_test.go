//go:build e2e

package e2e

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// TagQueue sets tags.
func (a *Actions) TagQueue(ctx context.Context, in *sqs.TagQueueInput) (*sqs.TagQueueOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.TagQueueInput, sqs.TagQueueOutput](ctx, in, a.query.TagQueueWithContext)
	}
	return a.json.TagQueue(ctx, in)
}

// UntagQueue removes tags.
func (a *Actions) UntagQueue(ctx context.Context, in *sqs.UntagQueueInput) (*sqs.UntagQueueOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.UntagQueueInput, sqs.UntagQueueOutput](ctx, in, a.query.UntagQueueWithContext)
	}
	return a.json.UntagQueue(ctx, in)
}

// ListQueueTags reads the tags.
func (a *Actions) ListQueueTags(ctx context.Context, in *sqs.ListQueueTagsInput) (*sqs.ListQueueTagsOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.ListQueueTagsInput, sqs.ListQueueTagsOutput](ctx, in, a.query.ListQueueTagsWithContext)
	}
	return a.json.ListQueueTags(ctx, in)
}

// AddPermission appends a statement to the policy.
func (a *Actions) AddPermission(ctx context.Context, in *sqs.AddPermissionInput) (*sqs.AddPermissionOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.AddPermissionInput, sqs.AddPermissionOutput](ctx, in, a.query.AddPermissionWithContext)
	}
	return a.json.AddPermission(ctx, in)
}

// RemovePermission removes a statement of the policy.
func (a *Actions) RemovePermission(ctx context.Context, in *sqs.RemovePermissionInput) (*sqs.RemovePermissionOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.RemovePermissionInput, sqs.RemovePermissionOutput](ctx, in, a.query.RemovePermissionWithContext)
	}
	return a.json.RemovePermission(ctx, in)
}

// ListDeadLetterSourceQueues lists the queues whose dead-letter queue it is.
func (a *Actions) ListDeadLetterSourceQueues(ctx context.Context, in *sqs.ListDeadLetterSourceQueuesInput) (*sqs.ListDeadLetterSourceQueuesOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.ListDeadLetterSourceQueuesInput, sqs.ListDeadLetterSourceQueuesOutput](ctx, in, a.query.ListDeadLetterSourceQueuesWithContext)
	}
	return a.json.ListDeadLetterSourceQueues(ctx, in)
}

// StartMessageMoveTask starts to move messages out of a dead-letter queue.
func (a *Actions) StartMessageMoveTask(ctx context.Context, in *sqs.StartMessageMoveTaskInput) (*sqs.StartMessageMoveTaskOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.StartMessageMoveTaskInput, sqs.StartMessageMoveTaskOutput](ctx, in, a.query.StartMessageMoveTaskWithContext)
	}
	return a.json.StartMessageMoveTask(ctx, in)
}

// ListMessageMoveTasks lists the tasks of a dead-letter queue, newest first.
func (a *Actions) ListMessageMoveTasks(ctx context.Context, in *sqs.ListMessageMoveTasksInput) (*sqs.ListMessageMoveTasksOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.ListMessageMoveTasksInput, sqs.ListMessageMoveTasksOutput](ctx, in, a.query.ListMessageMoveTasksWithContext)
	}
	return a.json.ListMessageMoveTasks(ctx, in)
}

// CancelMessageMoveTask stops a task.
func (a *Actions) CancelMessageMoveTask(ctx context.Context, in *sqs.CancelMessageMoveTaskInput) (*sqs.CancelMessageMoveTaskOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.CancelMessageMoveTaskInput, sqs.CancelMessageMoveTaskOutput](ctx, in, a.query.CancelMessageMoveTaskWithContext)
	}
	return a.json.CancelMessageMoveTask(ctx, in)
}
