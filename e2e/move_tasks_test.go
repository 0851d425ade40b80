//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// redriven makes a queue whose messages go to dead after one receive.
func redriven(t *testing.T, a *Actions, suffix string, dead *Queue) *Queue {
	t.Helper()
	return fresh(t, a, suffix, attributes{
		"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":1}`, *dead.arn()), "VisibilityTimeout": "0",
	})
}

func (q *Queue) arn() *string { return aws.String(q.Attributes()["QueueArn"]) }

// die lets the messages that wait in the queue become dead letters.
func (q *Queue) die(dead *Queue, want string) {
	q.t.Helper()
	eventually(q.t, 20*time.Second, "the messages are dead letters", func() bool {
		q.Receive(10, 0)
		return q.Counts()[0] == "0" && dead.Counts()[0] == want
	})
}

// tasks lists the move tasks of a dead-letter queue.
func (q *Queue) tasks() []types.ListMessageMoveTasksResultEntry {
	q.t.Helper()
	out, err := q.ListMessageMoveTasks(q.t.Context(), &sqs.ListMessageMoveTasksInput{SourceArn: q.arn(), MaxResults: aws.Int32(10)})
	if err != nil {
		q.t.Fatal(err)
	}
	return out.Results
}

// ended waits for the latest task to have a state.
func (q *Queue) ended(state string) types.ListMessageMoveTasksResultEntry {
	q.t.Helper()
	var last types.ListMessageMoveTasksResultEntry
	eventually(q.t, 20*time.Second, "the task is "+state, func() bool {
		if list := q.tasks(); len(list) > 0 {
			last = list[0]
		}
		return aws.ToString(last.Status) == state
	})
	return last
}

// TestDeadLetterSources lists the sources of a dead-letter queue, in pages.
func TestDeadLetterSources(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		eachProtocol(t, d, func(t *testing.T, a *Actions) {
			dead := fresh(t, a, "-dead")
			var want []string
			for i := range 5 {
				want = append(want, *redriven(t, a, fmt.Sprint("-q", i), dead).URL)
			}
			all, err := a.ListDeadLetterSourceQueues(t.Context(), &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: dead.URL})
			if err != nil || !slices.Equal(all.QueueUrls, want) || all.NextToken != nil {
				t.Errorf("sources %+v, %v; want %v", all, err, want)
			}
			var sizes []int
			var got []string
			ask := &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: dead.URL, MaxResults: aws.Int32(2)}
			for {
				page, err := a.ListDeadLetterSourceQueues(t.Context(), ask)
				if err != nil {
					t.Fatal(err)
				}
				sizes, got = append(sizes, len(page.QueueUrls)), append(got, page.QueueUrls...)
				if ask.NextToken = page.NextToken; page.NextToken == nil {
					break
				}
			}
			if !slices.Equal(got, want) || !slices.Equal(sizes, []int{2, 2, 1}) {
				t.Errorf("pages of %v: %v, want %v", sizes, got, want)
			}
			none, err := a.ListDeadLetterSourceQueues(t.Context(), &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &want[0]})
			if err != nil || len(none.QueueUrls) > 0 {
				t.Errorf("sources of a queue that is no dead-letter queue: %+v, %v", none, err)
			}
			_, err = a.ListDeadLetterSourceQueues(t.Context(), &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: aws.String(*dead.URL + "x")})
			wantCode(t, "sources of no queue", err, noQueue)
			_, err = a.ListDeadLetterSourceQueues(t.Context(), &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: dead.URL, MaxResults: aws.Int32(1001)})
			wantCode(t, "1001 sources", err, "InvalidParameterValue")
		})
	})
}

// TestMoveTasks moves dead letters back to their sources and to another queue,
// and stops a task that is under way.
func TestMoveTasks(t *testing.T) {
	tests := map[string]func(t *testing.T, a *Actions){
		"to_sources":     moveToSources,
		"to_destination": moveToDestination,
		"cancel":         moveCancelled,
		"refused":        moveRefused,
	}
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		eachProtocol(t, d, func(t *testing.T, a *Actions) {
			for name, test := range tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, a)
				})
			}
		})
	})
}

func moveToSources(t *testing.T, a *Actions) {
	dead := fresh(t, a, "-dead")
	first, second := redriven(t, a, "-1", dead), redriven(t, a, "-2", dead)
	one := first.Send("of the first")
	first.die(dead, "1")
	second.Send("of the second")
	second.die(dead, "2")
	started, err := a.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{SourceArn: dead.arn()})
	if err != nil || aws.ToString(started.TaskHandle) == "" {
		t.Fatalf("%+v, %v", started, err)
	}
	done := dead.ended("COMPLETED")
	if done.ApproximateNumberOfMessagesMoved != 2 || aws.ToString(done.SourceArn) != *dead.arn() || done.StartedTimestamp == 0 ||
		done.TaskHandle != nil || done.DestinationArn != nil || done.MaxNumberOfMessagesPerSecond != nil || done.FailureReason != nil {
		t.Errorf("the task has ended as %+v", done)
	}
	for q, want := range map[*Queue]string{first: "of the first", second: "of the second"} {
		m := q.ReceiveOne(visibleAfter(30))
		if aws.ToString(m.Body) != want || receiveCount(t, m) != 1 {
			t.Errorf("back in its source: %q, received %s times", aws.ToString(m.Body), m.Attributes["ApproximateReceiveCount"])
		}
		if q == first && aws.ToString(m.MessageId) == aws.ToString(one.MessageId) {
			t.Error("a message that was moved back is a new one, and has the old id")
		}
		q.Delete(m)
	}
	dead.WantNone(0)
}

func moveToDestination(t *testing.T, a *Actions) {
	dead, other := fresh(t, a, "-dead"), fresh(t, a, "-other")
	q := redriven(t, a, "", dead)
	for i := range 20 {
		q.Send(fmt.Sprint(i))
	}
	q.die(dead, "20")
	_, err := a.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{
		SourceArn: dead.arn(), DestinationArn: other.arn(), MaxNumberOfMessagesPerSecond: aws.Int32(500),
	})
	if err != nil {
		t.Fatal(err)
	}
	done := dead.ended("COMPLETED")
	if done.ApproximateNumberOfMessagesMoved != 20 || aws.ToString(done.DestinationArn) != *other.arn() || aws.ToInt32(done.MaxNumberOfMessagesPerSecond) != 500 {
		t.Errorf("the task has ended as %+v", done)
	}
	got := bodies(other.ReceiveAll(20))
	slices.Sort(got)
	if len(slices.Compact(got)) != 20 {
		t.Errorf("received %v", got)
	}
	q.WantNone(0)
}

func moveCancelled(t *testing.T, a *Actions) {
	dead := fresh(t, a, "-dead")
	q := redriven(t, a, "", dead)
	for i := range 30 {
		q.Send(fmt.Sprint(i))
	}
	q.die(dead, "30")
	ask := &sqs.StartMessageMoveTaskInput{SourceArn: dead.arn(), MaxNumberOfMessagesPerSecond: aws.Int32(1)}
	started, err := a.StartMessageMoveTask(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.StartMessageMoveTask(t.Context(), ask)
	wantCode(t, "a second task", err, "InvalidParameterValue")
	running := dead.ended("RUNNING")
	if aws.ToString(running.TaskHandle) != *started.TaskHandle || aws.ToInt64(running.ApproximateNumberOfMessagesToMove) != 30 {
		t.Errorf("the task runs as %+v; its handle is %s", running, *started.TaskHandle)
	}
	eventually(t, 20*time.Second, "the first message has moved", func() bool { return q.Counts()[0] != "0" })
	stopped, err := a.CancelMessageMoveTask(t.Context(), &sqs.CancelMessageMoveTaskInput{TaskHandle: started.TaskHandle})
	if err != nil || stopped.ApproximateNumberOfMessagesMoved > 29 {
		t.Fatalf("%+v, %v", stopped, err)
	}
	done := dead.ended("CANCELLED")
	if done.TaskHandle != nil {
		t.Errorf("a task that has ended shows its handle: %+v", done)
	}
	moved := int(done.ApproximateNumberOfMessagesMoved)
	if back, left := q.Counts(), dead.Counts(); moved == 0 || moved == 30 || back[0] != fmt.Sprint(moved) || left[0] != fmt.Sprint(30-moved) {
		t.Errorf("%d of 30 moved: %v in the source, %v left", moved, back, left)
	}
	_, err = a.CancelMessageMoveTask(t.Context(), &sqs.CancelMessageMoveTaskInput{TaskHandle: started.TaskHandle})
	wantCode(t, "cancelling what has ended", err, "ResourceNotFoundException")
}

func moveRefused(t *testing.T, a *Actions) {
	const absent = "arn:aws:sqs:us-east-1:000000000000:absent"
	dead, plain, ordered := fresh(t, a, "-dead"), fresh(t, a, "-plain"), fresh(t, a, ".fifo")
	redriven(t, a, "", dead)
	tests := []struct {
		name                string
		source, destination *string
		rate                int32
		want                string
	}{
		{"no such source", aws.String(absent), nil, 0, "ResourceNotFoundException"},
		{"no dead-letter queue", plain.arn(), nil, 0, "InvalidParameterValue"},
		{"no such destination", dead.arn(), aws.String(absent), 0, "ResourceNotFoundException"},
		{"the source as destination", dead.arn(), dead.arn(), 0, "InvalidParameterValue"},
		{"another type of queue", dead.arn(), ordered.arn(), 0, "InvalidParameterValue"},
		{"501 messages a second", dead.arn(), nil, 501, "InvalidParameterValue"},
	}
	for _, test := range tests {
		in := &sqs.StartMessageMoveTaskInput{SourceArn: test.source, DestinationArn: test.destination}
		if test.rate > 0 {
			in.MaxNumberOfMessagesPerSecond = &test.rate
		}
		_, err := a.StartMessageMoveTask(t.Context(), in)
		wantCode(t, test.name, err, test.want)
	}
	if list := dead.tasks(); len(list) > 0 {
		t.Errorf("tasks after that: %+v", list)
	}
	_, err := a.ListMessageMoveTasks(t.Context(), &sqs.ListMessageMoveTasksInput{SourceArn: aws.String(absent)})
	wantCode(t, "tasks of no queue", err, "ResourceNotFoundException")
	_, err = a.ListMessageMoveTasks(t.Context(), &sqs.ListMessageMoveTasksInput{SourceArn: dead.arn(), MaxResults: aws.Int32(11)})
	wantCode(t, "11 tasks", err, "InvalidParameterValue")
	_, err = a.CancelMessageMoveTask(t.Context(), &sqs.CancelMessageMoveTaskInput{TaskHandle: aws.String(strings.Repeat("x", 40))})
	wantCode(t, "no handle", err, "InvalidParameterValue")
}
