package worker

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// SQS is what a Worker calls; *sqs.Client has it. All methods must be safe for
// concurrent use and end when their context does.
type SQS interface {
	// ReceiveMessage leases messages to the caller.
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	// DeleteMessageBatch has deleted, durably, every entry that it does not
	// answer as failed.
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
	// ChangeMessageVisibilityBatch renews leases and gives messages back.
	ChangeMessageVisibilityBatch(context.Context, *sqs.ChangeMessageVisibilityBatchInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityBatchOutput, error)
	// GetQueueAttributes tells the visibility timeout and the redrive policy.
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
}
