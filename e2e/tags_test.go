//go:build e2e

package e2e

import (
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// TestTags sets, overwrites and removes tags; they are kept over a kill and go
// with the queue.
func TestTags(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		eachProtocol(t, d, func(t *testing.T, a *Actions) {
			name := queueName(fresh(t, a, "")) + "-tagged"
			created, err := a.CreateQueue(t.Context(), &sqs.CreateQueueInput{
				QueueName: &name, Tags: map[string]string{"team": "blue", "Team": "red"},
			})
			if err != nil {
				t.Fatal(err)
			}
			q := &Queue{Actions: a, t: t, URL: created.QueueUrl}
			wantTags(t, q, map[string]string{"team": "blue", "Team": "red"})

			tags := map[string]string{"team": "green", "cost centre": "", "é/ü": "a+b=c@d:e.f_g-h"}
			if _, err := a.TagQueue(t.Context(), &sqs.TagQueueInput{QueueUrl: q.URL, Tags: tags}); err != nil {
				t.Fatal(err)
			}
			tags["Team"] = "red"
			wantTags(t, q, tags)

			untag := &sqs.UntagQueueInput{QueueUrl: q.URL, TagKeys: []string{"Team", "cost centre", "never there"}}
			if _, err := a.UntagQueue(t.Context(), untag); err != nil {
				t.Fatal(err)
			}
			delete(tags, "Team")
			delete(tags, "cost centre")
			wantTags(t, q, tags)

			other := fresh(t, a, "-untagged")
			wantTags(t, other, nil)
			_, err = a.TagQueue(t.Context(), &sqs.TagQueueInput{QueueUrl: q.URL, Tags: map[string]string{"aws:x": "y"}})
			wantCode(t, "a tag of AWS's own", err, "InvalidParameterValue")
			_, err = a.TagQueue(t.Context(), &sqs.TagQueueInput{QueueUrl: aws.String(*q.URL + "x"), Tags: map[string]string{"a": "b"}})
			wantCode(t, "tagging no queue", err, noQueue)
			_, err = a.UntagQueue(t.Context(), &sqs.UntagQueueInput{QueueUrl: aws.String(*q.URL + "x"), TagKeys: []string{"a"}})
			wantCode(t, "untagging no queue", err, noQueue)
			_, err = a.ListQueueTags(t.Context(), &sqs.ListQueueTagsInput{QueueUrl: aws.String(*q.URL + "x")})
			wantCode(t, "the tags of no queue", err, noQueue)

			// The queue that comes after has none of them.
			gone := a.Create(t, name+"-gone")
			if _, err := a.TagQueue(t.Context(), &sqs.TagQueueInput{QueueUrl: gone.URL, Tags: map[string]string{"a": "b"}}); err != nil {
				t.Fatal(err)
			}
			if _, err := a.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: gone.URL}); err != nil {
				t.Fatal(err)
			}
			wantTags(t, a.Create(t, name+"-gone"), nil)
		})
		kept := d.Actions(t, jsonProtocol).Create(t, "kept")
		if _, err := kept.TagQueue(t.Context(), &sqs.TagQueueInput{QueueUrl: kept.URL, Tags: map[string]string{"a": "b"}}); err != nil {
			t.Fatal(err)
		}
		d.Kill()
		d.Start()
		wantTags(t, kept, map[string]string{"a": "b"})
	})
}

func wantTags(t *testing.T, q *Queue, want map[string]string) {
	t.Helper()
	got, err := q.ListQueueTags(t.Context(), &sqs.ListQueueTagsInput{QueueUrl: q.URL})
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got.Tags, want) {
		t.Errorf("tags %v, want %v", got.Tags, want)
	}
}
