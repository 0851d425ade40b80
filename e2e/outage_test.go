//go:build e2e

package e2e

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// readiness asks /readyz.
func (d *Deployment) readiness(t testing.TB) (status int, why string) {
	t.Helper()
	resp, err := http.Get(d.AdminURL() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// awaitReady waits until a gateway that lost its topic server says that it is
// well again.
func (d *Deployment) awaitReady(t testing.TB) {
	t.Helper()
	eventually(t, 30*time.Second, "the gateway is ready", func() bool {
		status, _ := d.readiness(t)
		return status == http.StatusOK
	})
}

// TestOutage takes the topic server away from a running gateway: it says so,
// refuses requests in time with a retryable error, loses nothing and goes on by
// itself.
func TestOutage(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second
	d := newDeployment(t, separate, "--request-timeout", timeout.String())
	a := d.Actions(t, jsonProtocol)
	q := a.Create(t, "outage")
	ordered := a.Create(t, "outage.fifo")
	q.Send("held")
	held := q.ReceiveOne(visibleAfter(600))
	q.Send("waiting")
	ordered.Send("1", inGroup("g", "1"))

	d.KillTopicd()
	eventually(t, 10*time.Second, "/readyz tells of the loss", func() bool {
		status, why := d.readiness(t)
		return status == http.StatusServiceUnavailable && strings.Contains(why, "connection")
	})
	requests := map[string]func(*testing.T, *Actions) error{
		"send": func(t *testing.T, a *Actions) error {
			_, err := a.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: q.URL, MessageBody: aws.String("during")})
			return err
		},
		"send fifo": func(t *testing.T, a *Actions) error {
			_, err := a.SendMessage(t.Context(), &sqs.SendMessageInput{
				QueueUrl: ordered.URL, MessageBody: aws.String("2"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("2"),
			})
			return err
		},
		"receive": func(t *testing.T, a *Actions) error {
			_, err := a.ReceiveMessage(t.Context(), q.receiving(1, 0))
			return err
		},
		"delete": func(t *testing.T, a *Actions) error {
			_, err := a.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: q.URL, ReceiptHandle: held.ReceiptHandle})
			return err
		},
		"create": func(t *testing.T, a *Actions) error {
			_, err := a.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("new")})
			return err
		},
		"purge": func(t *testing.T, a *Actions) error {
			_, err := a.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: ordered.URL})
			return err
		},
	}
	// All at once and not as parallel tests: those would wait for their turn.
	var asked sync.WaitGroup
	for _, protocol := range []string{jsonProtocol, queryProtocol} {
		for name, request := range requests {
			a := d.Actions(t, protocol)
			asked.Go(func() {
				began := time.Now()
				wantCode(t, name+" in "+protocol, request(t, a), "ServiceUnavailable")
				if took := time.Since(began); took > timeout+3*time.Second {
					t.Errorf("%s in %s answered after %v", name, protocol, took)
				}
			})
		}
	}
	asked.Wait()
	if status, _ := d.readiness(t); status != http.StatusServiceUnavailable {
		t.Errorf("/readyz says %d without a topic server", status)
	}

	d.StartTopicd()
	began := time.Now()
	d.awaitReady(t)
	t.Logf("ready %v after the topic server", time.Since(began))
	// The sends that failed may be there; a retry of the FIFO one adds nothing.
	ordered.Send("2", inGroup("g", "2"))
	if got := bodies(ordered.Receive(10, 10)); strings.Join(got, " ") != "1 2" {
		t.Errorf("the FIFO queue has %v, want 1 2", got)
	}
	q.Delete(held)
	waiting := 0
	for _, m := range q.Receive(10, 5) {
		switch aws.ToString(m.Body) {
		case "waiting":
			waiting++
		case "held":
			t.Errorf("the held message came back, count %d", receiveCount(t, m))
		}
	}
	if waiting != 1 {
		t.Errorf("the message that waited came %d times", waiting)
	}
	d.Stop()
}
