//go:build e2e

package e2e

import (
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// TestSmoke sends one message through a queue and over a restart.
func TestSmoke(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		client := d.SQS(t)
		created, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("smoke")})
		if err != nil {
			t.Fatal(err)
		}
		sent, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: created.QueueUrl, MessageBody: aws.String("hello")})
		if err != nil {
			t.Fatal(err)
		}
		d.Restart()
		received, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: created.QueueUrl, WaitTimeSeconds: 10})
		if err != nil {
			t.Fatal(err)
		}
		if len(received.Messages) != 1 {
			t.Fatalf("%d messages, want 1", len(received.Messages))
		}
		m := received.Messages[0]
		if aws.ToString(m.Body) != "hello" || aws.ToString(m.MessageId) != aws.ToString(sent.MessageId) {
			t.Errorf("received %q with id %s, sent hello with id %s",
				aws.ToString(m.Body), aws.ToString(m.MessageId), aws.ToString(sent.MessageId))
		}
		if _, err := client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: created.QueueUrl, ReceiptHandle: m.ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
		received, err = client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: created.QueueUrl})
		if err != nil {
			t.Fatal(err)
		}
		if len(received.Messages) != 0 {
			t.Errorf("the deleted message came back")
		}
		d.Stop()
	})
}

// TestAdmin looks at the admin port of a running gateway.
func TestAdmin(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
			resp, err := http.Get(d.AdminURL() + path)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if closeErr := resp.Body.Close(); err == nil {
				err = closeErr
			}
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s (%v)\n%s", path, resp.Status, err, body)
			}
		}
	})
}
