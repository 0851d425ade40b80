//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	v1aws "github.com/aws/aws-sdk-go/aws"
	"github.com/aws/aws-sdk-go/aws/awserr"
	v1credentials "github.com/aws/aws-sdk-go/aws/credentials"
	"github.com/aws/aws-sdk-go/aws/request"
	"github.com/aws/aws-sdk-go/aws/session"
	v1sqs "github.com/aws/aws-sdk-go/service/sqs"
	"github.com/aws/smithy-go"
)

// The protocols of the API, each with the last SDK that speaks it.
const (
	jsonProtocol  = "json"
	queryProtocol = "query"
)

// Actions calls the SQS actions in one protocol. Requests and answers have the
// types of aws-sdk-go-v2, errors are smithy.APIError, whichever SDK is behind it.
// Neither SDK tries again.
type Actions struct {
	json  *sqs.Client
	query *v1sqs.SQS // nil unless it is to be used
}

// eachProtocol runs a test with both SDKs against one deployment.
func eachProtocol(t *testing.T, d *Deployment, test func(t *testing.T, a *Actions)) {
	t.Helper()
	for _, protocol := range []string{jsonProtocol, queryProtocol} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			test(t, d.Actions(t, protocol))
		})
	}
}

// Actions returns a client for one protocol. It follows the gateway over
// restarts.
func (d *Deployment) Actions(t testing.TB, protocol string) *Actions {
	t.Helper()
	if protocol == jsonProtocol {
		return &Actions{json: d.SQS(t, NoRetries)}
	}
	s, err := session.NewSession(&v1aws.Config{
		Region:      v1aws.String("us-east-1"),
		Endpoint:    v1aws.String(d.Endpoint()),
		Credentials: v1credentials.NewStaticCredentials("test", "test", ""),
		HTTPClient:  d.HTTPClient(t),
		MaxRetries:  v1aws.Int(0),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &Actions{query: v1sqs.New(s)}
}

// viaQuery makes a call with the older SDK. Its structs have the same fields,
// but all of them pointers, so they are converted by way of JSON.
func viaQuery[In, Out, In1, Out1 any](ctx context.Context, in *In, do func(context.Context, *In1, ...request.Option) (*Out1, error)) (*Out, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	_, hides := any(in).(*sqs.ChangeMessageVisibilityInput)
	_, hidesMany := any(in).(*sqs.ChangeMessageVisibilityBatchInput)
	dropZeros(fields, hides || hidesMany)
	if raw, err = json.Marshal(fields); err != nil {
		return nil, err
	}
	var older In1
	if err := json.Unmarshal(raw, &older); err != nil {
		return nil, fmt.Errorf("converting %s: %w", raw, err)
	}
	got, err := do(ctx, &older)
	var failed awserr.Error
	if errors.As(err, &failed) {
		return nil, &smithy.GenericAPIError{Code: failed.Code(), Message: failed.Message()}
	}
	if err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(got); err != nil {
		return nil, err
	}
	var out Out
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("converting %s: %w", raw, err)
	}
	return &out, nil
}

// dropZeros removes the numbers that the newer SDK does not send: those that are
// zero, but for a visibility timeout that is the point of the request.
func dropZeros(v any, keepVisibility bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if number, ok := field.(float64); ok && number == 0 && (name != "VisibilityTimeout" || !keepVisibility) {
				delete(v, name)
				continue
			}
			dropZeros(field, keepVisibility)
		}
	case []any:
		for _, element := range v {
			dropZeros(element, keepVisibility)
		}
	}
}

// CreateQueue is the action of that name, and so are the others.
func (a *Actions) CreateQueue(ctx context.Context, in *sqs.CreateQueueInput) (*sqs.CreateQueueOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.CreateQueueInput, sqs.CreateQueueOutput](ctx, in, a.query.CreateQueueWithContext)
	}
	return a.json.CreateQueue(ctx, in)
}

// GetQueueUrl finds a queue.
func (a *Actions) GetQueueUrl(ctx context.Context, in *sqs.GetQueueUrlInput) (*sqs.GetQueueUrlOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.GetQueueUrlInput, sqs.GetQueueUrlOutput](ctx, in, a.query.GetQueueUrlWithContext)
	}
	return a.json.GetQueueUrl(ctx, in)
}

// ListQueues lists the queues.
func (a *Actions) ListQueues(ctx context.Context, in *sqs.ListQueuesInput) (*sqs.ListQueuesOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.ListQueuesInput, sqs.ListQueuesOutput](ctx, in, a.query.ListQueuesWithContext)
	}
	return a.json.ListQueues(ctx, in)
}

// DeleteQueue deletes a queue.
func (a *Actions) DeleteQueue(ctx context.Context, in *sqs.DeleteQueueInput) (*sqs.DeleteQueueOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.DeleteQueueInput, sqs.DeleteQueueOutput](ctx, in, a.query.DeleteQueueWithContext)
	}
	return a.json.DeleteQueue(ctx, in)
}

// PurgeQueue empties a queue.
func (a *Actions) PurgeQueue(ctx context.Context, in *sqs.PurgeQueueInput) (*sqs.PurgeQueueOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.PurgeQueueInput, sqs.PurgeQueueOutput](ctx, in, a.query.PurgeQueueWithContext)
	}
	return a.json.PurgeQueue(ctx, in)
}

// GetQueueAttributes reads attributes.
func (a *Actions) GetQueueAttributes(ctx context.Context, in *sqs.GetQueueAttributesInput) (*sqs.GetQueueAttributesOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.GetQueueAttributesInput, sqs.GetQueueAttributesOutput](ctx, in, a.query.GetQueueAttributesWithContext)
	}
	return a.json.GetQueueAttributes(ctx, in)
}

// SetQueueAttributes changes attributes.
func (a *Actions) SetQueueAttributes(ctx context.Context, in *sqs.SetQueueAttributesInput) (*sqs.SetQueueAttributesOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.SetQueueAttributesInput, sqs.SetQueueAttributesOutput](ctx, in, a.query.SetQueueAttributesWithContext)
	}
	return a.json.SetQueueAttributes(ctx, in)
}

// SendMessage sends one message.
func (a *Actions) SendMessage(ctx context.Context, in *sqs.SendMessageInput) (*sqs.SendMessageOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.SendMessageInput, sqs.SendMessageOutput](ctx, in, a.query.SendMessageWithContext)
	}
	return a.json.SendMessage(ctx, in)
}

// SendMessageBatch sends several messages.
func (a *Actions) SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput) (*sqs.SendMessageBatchOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.SendMessageBatchInput, sqs.SendMessageBatchOutput](ctx, in, a.query.SendMessageBatchWithContext)
	}
	return a.json.SendMessageBatch(ctx, in)
}

// ReceiveMessage receives messages.
func (a *Actions) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput) (*sqs.ReceiveMessageOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.ReceiveMessageInput, sqs.ReceiveMessageOutput](ctx, in, a.query.ReceiveMessageWithContext)
	}
	return a.json.ReceiveMessage(ctx, in)
}

// DeleteMessage deletes one message.
func (a *Actions) DeleteMessage(ctx context.Context, in *sqs.DeleteMessageInput) (*sqs.DeleteMessageOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.DeleteMessageInput, sqs.DeleteMessageOutput](ctx, in, a.query.DeleteMessageWithContext)
	}
	return a.json.DeleteMessage(ctx, in)
}

// DeleteMessageBatch deletes several messages.
func (a *Actions) DeleteMessageBatch(ctx context.Context, in *sqs.DeleteMessageBatchInput) (*sqs.DeleteMessageBatchOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.DeleteMessageBatchInput, sqs.DeleteMessageBatchOutput](ctx, in, a.query.DeleteMessageBatchWithContext)
	}
	return a.json.DeleteMessageBatch(ctx, in)
}

// ChangeMessageVisibility changes when one message comes back.
func (a *Actions) ChangeMessageVisibility(ctx context.Context, in *sqs.ChangeMessageVisibilityInput) (*sqs.ChangeMessageVisibilityOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.ChangeMessageVisibilityInput, sqs.ChangeMessageVisibilityOutput](ctx, in, a.query.ChangeMessageVisibilityWithContext)
	}
	return a.json.ChangeMessageVisibility(ctx, in)
}

// ChangeMessageVisibilityBatch does so for several messages.
func (a *Actions) ChangeMessageVisibilityBatch(ctx context.Context, in *sqs.ChangeMessageVisibilityBatchInput) (*sqs.ChangeMessageVisibilityBatchOutput, error) {
	if a.query != nil {
		return viaQuery[sqs.ChangeMessageVisibilityBatchInput, sqs.ChangeMessageVisibilityBatchOutput](ctx, in, a.query.ChangeMessageVisibilityBatchWithContext)
	}
	return a.json.ChangeMessageVisibilityBatch(ctx, in)
}
