//go:build e2e

package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// TestStopUnderLoad stops the gateway gracefully in the middle of a load: the
// same history must hold as after a kill, and the process ends well in time
// (Stop checks the status).
func TestStopUnderLoad(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		a := d.Actions(t, jsonProtocol)
		loads := []*load{
			startLoad(t, a.Create(t, "standard"), false),
			startLoad(t, a.Create(t, "ordered.fifo"), true),
		}
		for range 3 {
			pass(t, 700*time.Millisecond)
			began := time.Now()
			d.Stop()
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the stop took %v", took)
			}
			d.Start()
		}
		pass(t, 500*time.Millisecond)
		for _, l := range loads {
			l.end()
		}
		for i, name := range []string{"standard", "fifo"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				loads[i].drain(t)
				loads[i].history.report(t)
			})
		}
	})
}

// TestStopEndsPolls: long polls are answered, empty and without an error.
func TestStopEndsPolls(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		a := d.Actions(t, jsonProtocol)
		q, ordered := a.Create(t, "polled"), a.Create(t, "polled.fifo")
		var polls []*poll
		for range 5 {
			polls = append(polls, q.poll(t.Context(), 20), ordered.poll(t.Context(), 20))
		}
		pass(t, parked)
		began := time.Now()
		d.Stop()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the stop took %v", took)
		}
		for _, p := range polls {
			<-p.done
			if p.err != nil || len(p.messages) > 0 {
				t.Errorf("a poll ended with %v, %v", bodies(p.messages), p.err)
			}
		}
	})
}

// TestStateSurvives: leases, receive counts, delays, deletes and the
// deduplication window are the same after a stop and after a kill.
func TestStateSurvives(t *testing.T) {
	restarts := map[string]func(d *Deployment){
		"stop": (*Deployment).Restart,
		"kill": func(d *Deployment) { d.Kill(); d.Start() },
	}
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		for _, name := range []string{"stop", "kill"} {
			stateSurvives(t, d, name, restarts[name])
		}
		d.Stop()
	})
}

func stateSurvives(t *testing.T, d *Deployment, name string, restart func(d *Deployment)) {
	a := d.Actions(t, jsonProtocol)
	q := a.Create(t, name)
	explicit := a.Create(t, name+"-explicit.fifo")
	byBody := a.Create(t, name+"-by-body.fifo", attributes{"ContentBasedDeduplication": "true"})

	began := time.Now()
	for _, body := range []string{"deleted", "held", "extended", "given back"} {
		q.Send(body)
	}
	held := map[string]string{}
	for len(held) < 4 {
		for _, m := range q.Receive(10, 10, visibleAfter(5)) {
			held[aws.ToString(m.Body)] = aws.ToString(m.ReceiptHandle)
			switch aws.ToString(m.Body) {
			case "deleted":
				q.Delete(m)
			case "extended":
				q.Hide(m, 600)
			case "given back":
				q.Hide(m, 600)
				q.Hide(m, 0)
			}
		}
	}
	delaySet := time.Now()
	q.Send("delayed", delayed(4))
	first := explicit.Send("a", inGroup("g", "d"))
	firstByBody := byBody.Send("a", inGroup("g", ""))
	explicit.Delete(explicit.ReceiveOne())

	restart(d)

	again := explicit.Send("b", inGroup("g", "d"))
	againByBody := byBody.Send("a", inGroup("g", ""))
	if *again.MessageId != *first.MessageId || *again.SequenceNumber != *first.SequenceNumber || *againByBody.MessageId != *firstByBody.MessageId {
		t.Errorf("after the %s the repeats got other ids", name)
	}
	explicit.WantNone(0)
	if got := bodies(byBody.Receive(10, 10)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("after the %s: %v of the queue with deduplication by body", name, got)
	}
	// What comes, how often it was received then, and not before when.
	counts := map[string]int{"given back": 2, "delayed": 1, "held": 2}
	ends := map[string]time.Time{"given back": began, "delayed": delaySet.Add(4 * time.Second), "held": began.Add(5 * time.Second)}
	for len(ends) > 0 {
		m := q.ReceiveOne()
		body := aws.ToString(m.Body)
		end, expected := ends[body]
		switch {
		case !expected:
			t.Fatalf("after the %s %q came", name, body)
		case time.Now().Before(end.Add(-slack)):
			t.Errorf("after the %s %q came %v too early", name, body, time.Until(end))
		case receiveCount(t, m) != counts[body]:
			t.Errorf("after the %s the count of %q is %d, want %d", name, body, receiveCount(t, m), counts[body])
		}
		q.Delete(m)
		delete(ends, body)
	}
	if got := q.Counts(); got != [3]string{"0", "1", "0"} {
		t.Errorf("counts %v, want the extended one in flight", got)
	}
}
