//go:build e2e

package e2e

import (
	"testing"
	"time"
)

// TestLongOutage: however long the topic server was away, the gateway is back
// soon after it.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, separate)
	q := d.Actions(t, jsonProtocol).Create(t, "outage")
	d.KillTopicd()
	pass(t, 30*time.Second)
	d.StartTopicd()
	began := time.Now()
	d.awaitReady(t)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("ready %v after the topic server", took)
	}
	q.Send("m")
	q.ReceiveOne()
}
