//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// TestKillWhileQueuesChange kills the processes while queues are made, changed
// and deleted: what was answered is so afterwards.
func TestKillWhileQueuesChange(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		a := d.Actions(t, jsonProtocol)
		// What must be, by name: the DelaySeconds, or that the queue is gone. Names
		// whose last request has no answer are in neither.
		var mu sync.Mutex
		delays, gone := map[string]string{}, map[string]bool{}
		var answered atomic.Int64 // or asked; it shows that things go on
		for round := range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			for w := range 3 {
				running.Go(func() {
					for i := 0; ctx.Err() == nil; i++ {
						name := fmt.Sprintf("q%d-%d-%d", round, w, i)
						if changeQueue(t, a, name, i, func(delay string, deleted bool) {
							mu.Lock()
							defer mu.Unlock()
							delete(delays, name)
							if delay != "" {
								delays[name] = delay
							}
							gone[name] = deleted
							answered.Add(1)
						}) != nil {
							return
						}
					}
				})
			}
			enough := answered.Load() + int64(10+rand.IntN(20))
			eventually(t, 30*time.Second, "queues are made", func() bool { return answered.Load() >= enough })
			d.Kill()
			cancel()
			running.Wait()
			d.Start()
		}
		listed := map[string]bool{}
		out, err := a.ListQueues(t.Context(), &sqs.ListQueuesInput{})
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range out.QueueUrls {
			listed[url[strings.LastIndexByte(url, '/')+1:]] = true
		}
		for name, delay := range delays {
			got := (&Queue{Actions: a, t: t, URL: &name}).Attributes() // a bare name will do
			if !listed[name] || got["DelaySeconds"] != delay {
				t.Errorf("%s: listed %v, DelaySeconds %s, want %s", name, listed[name], got["DelaySeconds"], delay)
			}
		}
		deletions := 0
		for name, deleted := range gone {
			if !deleted {
				continue
			}
			deletions++
			_, err := a.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
			wantCode(t, "the deleted queue "+name, err, noQueue)
			if listed[name] {
				t.Errorf("%s was deleted and is listed", name)
			}
		}
		t.Logf("%d queues, %d deletions, listed %d", len(delays), deletions, len(listed))
		if len(delays) == 0 || deletions == 0 || len(listed) >= 1000 {
			t.Fatal("this was no test")
		}
		// They work.
		names := slices.Sorted(maps.Keys(delays))
		last := &Queue{Actions: a, t: t, URL: &names[len(names)-1]}
		last.Send("m", delayed(0))
	})
}

// changeQueue makes a queue, changes every second one and deletes every third.
// known is called before each request with nothing, and after it with what holds.
func changeQueue(t *testing.T, a *Actions, name string, i int, known func(delay string, deleted bool)) error {
	call, cancel := context.WithTimeout(t.Context(), requestTimeout)
	defer cancel()
	out, err := a.CreateQueue(call, &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{"DelaySeconds": "1"}})
	if err != nil {
		return err
	}
	known("1", false)
	if i%2 == 0 {
		known("", false)
		if _, err := a.SetQueueAttributes(call, &sqs.SetQueueAttributesInput{QueueUrl: out.QueueUrl, Attributes: map[string]string{"DelaySeconds": "2"}}); err != nil {
			return err
		}
		known("2", false)
	}
	if i%3 == 0 {
		known("", false)
		if _, err := a.DeleteQueue(call, &sqs.DeleteQueueInput{QueueUrl: out.QueueUrl}); err != nil {
			return err
		}
		known("", true)
	}
	return nil
}
