//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"sqsgate/worker"
)

// TestWorker has Workers empty a FIFO queue while the gateway is killed and comes
// back: nothing is lost, a group stays in order, and the message that nobody can
// handle is in the dead-letter queue, once.
func TestWorker(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		const groups, each = 5, 12
		a := d.Actions(t, "json")
		dead := a.Create(t, "dead.fifo")
		q := a.Create(t, "work.fifo", attributes{
			"VisibilityTimeout": "3", "RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":"20"}`,
		})
		for n := range each {
			for g := range groups {
				q.Send(strconv.Itoa(n), inGroup(fmt.Sprint("g", g), fmt.Sprint(g, "-", n)))
			}
		}
		q.Send("poison", inGroup("p", "p"))

		var mu sync.Mutex
		next := map[string]int{}
		handler := func(_ context.Context, m worker.Message) worker.Outcome {
			mu.Lock()
			defer mu.Unlock()
			if m.Body == "poison" {
				if m.ReceiveCount < 20 {
					return worker.Retry()
				}
				return worker.Drop()
			}
			switch n, err := strconv.Atoi(m.Body); {
			case err != nil || n > next[m.GroupID]:
				t.Errorf("message %q of %s before %d", m.Body, m.GroupID, next[m.GroupID])
			case n == next[m.GroupID]: // else it comes again, after a delete whose answer was lost
				next[m.GroupID]++
			}
			return worker.Ack()
		}
		ctx, stop := context.WithCancel(t.Context())
		var workers sync.WaitGroup
		for range 2 {
			w, err := worker.New(worker.Options{Client: d.SQS(t), QueueURL: *q.URL, Handler: handler, Concurrency: 2, Wait: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			workers.Go(func() {
				if err := w.Run(ctx); err != nil {
					t.Errorf("Run: %v", err)
				}
			})
		}
		handled := func() (n int) {
			mu.Lock()
			defer mu.Unlock()
			for _, done := range next {
				n += done
			}
			return n
		}
		eventually(t, 30*time.Second, "some messages are handled", func() bool { return handled() > groups })
		d.KillGateway()
		d.StartGateway()
		eventually(t, 60*time.Second, "all messages are handled", func() bool { return handled() == groups*each })
		var letters []string
		eventually(t, 30*time.Second, "the poison is given up", func() bool {
			for _, m := range dead.Receive(10, 1) {
				letters = append(letters, *m.Body)
				dead.Delete(m)
			}
			return len(letters) > 0
		})
		stop()
		workers.Wait()
		if got := q.Receive(10, 5); len(got) > 0 {
			t.Errorf("left in the queue: %d messages", len(got))
		}
		if more := dead.Receive(10, 2); len(more) > 0 || len(letters) != 1 || letters[0] != "poison" {
			t.Errorf("dead letters %q and %d more", letters, len(more))
		}
	})
}
