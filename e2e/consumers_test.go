//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// fill sends count messages in batches: body i, in group i modulo groups.
func fill(t *testing.T, q *Queue, count, groups int) {
	t.Helper()
	var senders sync.WaitGroup
	for group := range groups {
		senders.Go(func() {
			name := fmt.Sprintf("g%d", group)
			for n := 0; n < count/groups; n += 10 {
				in := &sqs.SendMessageBatchInput{QueueUrl: q.URL}
				for i := n; i < min(n+10, count/groups); i++ {
					body := groupBody(name, i)
					e := types.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), MessageBody: &body, MessageGroupId: &name}
					if q.isFIFO() {
						e.MessageDeduplicationId = &body
					}
					in.Entries = append(in.Entries, e)
				}
				out, err := q.SendMessageBatch(t.Context(), in)
				if err != nil || len(out.Failed) > 0 {
					t.Errorf("sending to %s: %+v, %v", name, out, err)
					return
				}
			}
		})
	}
	senders.Wait()
}

func (q *Queue) isFIFO() bool { return strings.HasSuffix(*q.URL, ".fifo") }

// TestParallelReceivers: 32 receivers share 1000 messages; each message goes to
// one of them, once.
func TestParallelReceivers(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		const count, receivers = 1000, 32
		a := d.Actions(t, jsonProtocol)
		q := a.Create(t, "shared", attributes{"VisibilityTimeout": "600", "YdbMinActivePartitions": "3"})
		fill(t, q, count, 10)
		var mu sync.Mutex
		by := map[string]string{}
		var running sync.WaitGroup
		for r := range receivers {
			running.Go(func() {
				for {
					out, err := q.ReceiveMessage(t.Context(), q.receiving(int32(1+r%10), 2))
					if err != nil {
						t.Errorf("receiving: %v", err)
						return
					}
					if len(out.Messages) == 0 {
						return
					}
					mu.Lock()
					for _, m := range out.Messages {
						id := aws.ToString(m.MessageId)
						if other, taken := by[id]; taken {
							t.Errorf("%s went to receiver %d with count %s, before to %s", id, r, m.Attributes["ApproximateReceiveCount"], other)
						}
						by[id] = fmt.Sprint(r)
					}
					mu.Unlock()
				}
			})
		}
		running.Wait()
		if len(by) != count {
			t.Errorf("%d messages were received, want %d", len(by), count)
		}
		if got := q.Counts(); got != [3]string{"0", fmt.Sprint(count), "0"} {
			t.Errorf("counts %v", got)
		}
	})
}

// TestParallelGroups: several consumers of a FIFO queue see every group in its
// order, and no two of them a part of one group at a time.
func TestParallelGroups(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		const count, groups, consumers = 600, 12, 6
		a := d.Actions(t, jsonProtocol)
		q := a.Create(t, "groups.fifo", attributes{"VisibilityTimeout": "600", "YdbMinActivePartitions": "3"})
		fill(t, q, count, groups)
		var mu sync.Mutex
		seen := map[string][]int{}
		holder := map[string]int{}
		var running sync.WaitGroup
		for c := range consumers {
			running.Go(func() {
				for {
					out, err := q.ReceiveMessage(t.Context(), q.receiving(int32(1+c), 2))
					if err != nil {
						t.Errorf("receiving: %v", err)
						return
					}
					if len(out.Messages) == 0 {
						return
					}
					mu.Lock()
					for _, m := range out.Messages {
						group, n := parseBody(aws.ToString(m.Body))
						if h, held := holder[group]; held && h != c {
							t.Errorf("consumer %d got %s while %d holds a part of the group", c, aws.ToString(m.Body), h)
						}
						holder[group] = c
						seen[group] = append(seen[group], n)
					}
					mu.Unlock()
					for i, m := range out.Messages {
						group, _ := parseBody(aws.ToString(m.Body))
						// The group is free from the moment its last message here is asked to go.
						if !slices.ContainsFunc(out.Messages[i+1:], func(later types.Message) bool {
							laterGroup, _ := parseBody(aws.ToString(later.Body))
							return laterGroup == group
						}) {
							mu.Lock()
							delete(holder, group)
							mu.Unlock()
						}
						if _, err := q.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: q.URL, ReceiptHandle: m.ReceiptHandle}); err != nil {
							t.Errorf("deleting: %v", err)
							return
						}
					}
				}
			})
		}
		running.Wait()
		total := 0
		for group, order := range seen {
			total += len(order)
			if !slices.IsSorted(order) || len(order) != count/groups {
				t.Errorf("group %s came as %v", group, order)
			}
		}
		if total != count {
			t.Errorf("%d messages were received, want %d", total, count)
		}
	})
}
