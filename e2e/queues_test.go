//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

const noQueue = "AWS.SimpleQueueService.NonExistentQueue"

// TestQueues makes, finds, changes, lists and deletes queues.
func TestQueues(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		eachProtocol(t, d, func(t *testing.T, a *Actions) {
			for _, kind := range []string{"standard", "kind.fifo"} {
				name := t.Name()[strings.LastIndex(t.Name(), "/")+1:] + "-queue-" + kind
				queueLife(t, a, name)
			}
		})
	})
}

func queueLife(t *testing.T, a *Actions, name string) {
	q := a.Create(t, name, attributes{"VisibilityTimeout": "7"})
	if !strings.HasSuffix(*q.URL, "/000000000000/"+name) {
		t.Errorf("URL %s", *q.URL)
	}
	if again := a.Create(t, name, attributes{"VisibilityTimeout": "7"}); *again.URL != *q.URL {
		t.Errorf("made again: %s, before %s", *again.URL, *q.URL)
	}
	differs := map[string]string{"VisibilityTimeout": "8"}
	if strings.HasSuffix(name, ".fifo") {
		differs["FifoQueue"] = "true"
	}
	_, err := a.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: differs})
	wantCode(t, "made again with another attribute", err, "QueueAlreadyExists")

	found, err := a.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil || *found.QueueUrl != *q.URL {
		t.Errorf("looking up: %+v, %v; want %s", found, err, *q.URL)
	}
	listed, err := a.ListQueues(t.Context(), &sqs.ListQueuesInput{QueueNamePrefix: &name})
	if err != nil || !slices.Equal(listed.QueueUrls, []string{*q.URL}) {
		t.Errorf("listing: %+v, %v; want %s alone", listed, err, *q.URL)
	}

	_, err = a.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: q.URL, Attributes: map[string]string{"VisibilityTimeout": "9", "DelaySeconds": "0"},
	})
	if err != nil {
		t.Errorf("setting attributes: %v", err)
	}
	got := q.Attributes()
	want := attributes{
		"VisibilityTimeout": "9", "DelaySeconds": "0", "MaximumMessageSize": "1048576", "MessageRetentionPeriod": "345600",
		"QueueArn": "arn:aws:sqs:us-east-1:000000000000:" + name, "ApproximateNumberOfMessages": "0",
		"ApproximateNumberOfMessagesNotVisible": "0", "ApproximateNumberOfMessagesDelayed": "0",
	}
	if strings.HasSuffix(name, ".fifo") {
		want["FifoQueue"], want["ContentBasedDeduplication"] = "true", "false"
	}
	for attribute, value := range want {
		if got[attribute] != value {
			t.Errorf("attribute %s is %q, want %q", attribute, got[attribute], value)
		}
	}

	if _, err := a.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: q.URL}); err != nil {
		t.Errorf("deleting: %v", err)
	}
	_, err = a.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	wantCode(t, "looking up the deleted queue", err, noQueue)
	_, err = a.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: q.URL, MessageBody: aws.String("x"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("d")})
	wantCode(t, "sending to the deleted queue", err, noQueue)
}

// TestQueuesSurviveRestart keeps attributes over a stop and over a kill, also of
// a queue that somebody waits at.
func TestQueuesSurviveRestart(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		a := d.Actions(t, jsonProtocol)
		q := a.Create(t, "kept.fifo", attributes{"VisibilityTimeout": "11", "ContentBasedDeduplication": "true"})
		gone := a.Create(t, "gone")
		if _, err := a.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: gone.URL}); err != nil {
			t.Fatal(err)
		}
		waited := a.Create(t, "waited-at", attributes{"ReceiveMessageWaitTimeSeconds": "10"})
		for _, restart := range []func(){d.Restart, func() { d.Kill(); d.Start() }} {
			p := waited.poll(t.Context(), 20)
			pass(t, parked)
			restart()
			<-p.done
			if wait := waited.Attributes()["ReceiveMessageWaitTimeSeconds"]; wait != "10" {
				t.Errorf("the queue that was waited at has the wait %q", wait)
			}
			got := q.Attributes()
			if got["VisibilityTimeout"] != "11" || got["ContentBasedDeduplication"] != "true" || got["FifoQueue"] != "true" {
				t.Errorf("attributes after a restart: %v", got)
			}
			_, err := a.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("gone")})
			wantCode(t, "the deleted queue after a restart", err, noQueue)
		}
	})
}

// TestPurge removes what waits, what is in flight and what is delayed, and
// nothing that is sent later.
func TestPurge(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		eachProtocol(t, d, func(t *testing.T, a *Actions) {
			q := a.Create(t, t.Name()[strings.LastIndex(t.Name(), "/")+1:]+"-purged")
			for range 5 {
				q.Send("waiting")
			}
			held := q.ReceiveOne()
			q.Send("delayed", delayed(1))
			if _, err := a.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: q.URL}); err != nil {
				t.Fatal(err)
			}
			if got := q.Counts(); got != [3]string{"0", "0", "0"} {
				t.Errorf("counts after the purge: %v", got)
			}
			if _, err := a.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: q.URL}); err != nil {
				t.Errorf("a second purge, with no pause asked for between two: %v", err)
			}
			q.Send("later")
			got := q.ReceiveAll(1)
			if bodies(got)[0] != "later" {
				t.Errorf("after the purge: %v", bodies(got))
			}
			q.Delete(held, got[0]) // a handle of a purged message is still one
			q.WantNone(2)
		})
		d.Kill()
		d.Start()
		for _, protocol := range []string{jsonProtocol, queryProtocol} {
			d.Actions(t, protocol).Create(t, protocol+"-purged").WantNone(0)
		}
	})
}
