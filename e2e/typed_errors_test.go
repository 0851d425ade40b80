//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go/aws/awserr"
	v1sqs "github.com/aws/aws-sdk-go/service/sqs"
	"github.com/aws/smithy-go"
)

// as tells whether an error is one of the newer SDK's types.
func as[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// TestTypedErrors: every error of the model that can happen here arrives as the
// SDK's own type, by which applications tell errors apart, and under the older
// SDK's code.
func TestTypedErrors(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		v2, v1 := d.SQS(t, NoRetries), d.Actions(t, queryProtocol).query
		q := d.Actions(t, jsonProtocol).Create(t, "typed")
		gone := d.Actions(t, jsonProtocol).Create(t, "typed-gone")
		purge := func(ctx context.Context) error {
			_, err := v2.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: q.URL})
			return err
		}
		if err := purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := v2.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: gone.URL}); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for i := range 11 {
			ids = append(ids, fmt.Sprint("id", i))
		}
		send := func(bodyBytes int, ids ...string) func(context.Context) error {
			return func(ctx context.Context) error {
				in := &sqs.SendMessageBatchInput{QueueUrl: q.URL, Entries: []types.SendMessageBatchRequestEntry{}}
				for _, id := range ids {
					in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: aws.String(strings.Repeat("x", bodyBytes))})
				}
				_, err := v2.SendMessageBatch(ctx, in)
				return err
			}
		}
		create := func(name, attribute, value string) func(context.Context) error {
			return func(ctx context.Context) error {
				_, err := v2.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{attribute: value}})
				return err
			}
		}
		tests := []struct {
			call func(ctx context.Context) error
			is   func(error) bool
			code string
		}{
			{func(ctx context.Context) error {
				_, err := v2.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("absent")})
				return err
			}, as[*types.QueueDoesNotExist], v1sqs.ErrCodeQueueDoesNotExist},
			{create("typed", "DelaySeconds", "5"), as[*types.QueueNameExists], v1sqs.ErrCodeQueueNameExists},
			{create("typed-gone", "DelaySeconds", "0"), as[*types.QueueDeletedRecently], v1sqs.ErrCodeQueueDeletedRecently},
			{purge, as[*types.PurgeQueueInProgress], v1sqs.ErrCodePurgeQueueInProgress},
			{create("typed-new", "Colour", "red"), as[*types.InvalidAttributeName], v1sqs.ErrCodeInvalidAttributeName},
			{create("typed-new", "DelaySeconds", "901"), as[*types.InvalidAttributeValue], "InvalidAttributeValue"},
			{func(ctx context.Context) error {
				_, err := v2.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: q.URL, MessageBody: aws.String("a\x01")})
				return err
			}, as[*types.InvalidMessageContents], v1sqs.ErrCodeInvalidMessageContents},
			{func(ctx context.Context) error {
				_, err := v2.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: q.URL, ReceiptHandle: aws.String("garbage")})
				return err
			}, as[*types.ReceiptHandleIsInvalid], v1sqs.ErrCodeReceiptHandleIsInvalid},
			{send(1), as[*types.EmptyBatchRequest], v1sqs.ErrCodeEmptyBatchRequest},
			{send(1, ids...), as[*types.TooManyEntriesInBatchRequest], v1sqs.ErrCodeTooManyEntriesInBatchRequest},
			{send(1, "a", "a"), as[*types.BatchEntryIdsNotDistinct], v1sqs.ErrCodeBatchEntryIdsNotDistinct},
			{send(1, "a!"), as[*types.InvalidBatchEntryId], v1sqs.ErrCodeInvalidBatchEntryId},
			{send(600<<10, "a", "b"), as[*types.BatchRequestTooLong], v1sqs.ErrCodeBatchRequestTooLong},
			{func(ctx context.Context) error {
				_, err := v2.AddPermission(ctx, &sqs.AddPermissionInput{
					QueueUrl: q.URL, Label: aws.String("l"), AWSAccountIds: []string{"111111111111"},
					Actions: []string{"SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes", "GetQueueUrl", "PurgeQueue", "ListDeadLetterSourceQueues"},
				})
				return err
			}, as[*types.OverLimit], v1sqs.ErrCodeOverLimit},
			{func(ctx context.Context) error {
				_, err := v2.ListMessageMoveTasks(ctx, &sqs.ListMessageMoveTasksInput{SourceArn: aws.String("arn:aws:sqs:us-east-1:000000000000:absent")})
				return err
			}, as[*types.ResourceNotFoundException], "ResourceNotFoundException"},
		}
		for _, test := range tests {
			err := test.call(t.Context())
			var api smithy.APIError
			if !errors.As(err, &api) || !test.is(err) || api.ErrorCode() != test.code || api.ErrorMessage() == "" {
				t.Errorf("%T %v, want %s and a type of its own", err, err, test.code)
			}
		}
		// The older SDK knows codes and statuses alone.
		_, err := v1.GetQueueUrlWithContext(t.Context(), &v1sqs.GetQueueUrlInput{QueueName: aws.String("absent")})
		var failed awserr.RequestFailure
		if !errors.As(err, &failed) || failed.Code() != v1sqs.ErrCodeQueueDoesNotExist || failed.StatusCode() != 400 || failed.RequestID() == "" {
			t.Errorf("through the older SDK: %v", err)
		}
		_, err = v1.PurgeQueueWithContext(t.Context(), &v1sqs.PurgeQueueInput{QueueUrl: q.URL})
		if !errors.As(err, &failed) || failed.Code() != v1sqs.ErrCodePurgeQueueInProgress || failed.StatusCode() != 403 {
			t.Errorf("through the older SDK: %v", err)
		}
	}, "--aws-cooldowns")
}
