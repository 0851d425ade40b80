//go:build e2e

package e2e

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// TestKill kills the gateway, or the topic server behind it, again and again in
// the middle of a mixed load on a standard and a FIFO queue, or makes it stand
// still. The clients' history must hold: what was answered is true for ever.
func TestKill(t *testing.T) {
	tests := []struct {
		name, deployment string
		rounds           int
		crash            func(t *testing.T, d *Deployment)
	}{
		{"gateway with its store", embedded, 14, func(_ *testing.T, d *Deployment) { d.Kill(); d.Start() }},
		{"topic server under the gateway", separate, 6, func(t *testing.T, d *Deployment) { d.KillTopicd(); d.StartTopicd(); d.awaitReady(t) }},
		{"gateway alone", separate, 6, func(_ *testing.T, d *Deployment) { d.KillGateway(); d.StartGateway() }},
		// Longer than the gateway waits for a journal, shorter than keepalive.
		{"topic server stands still", separate, 2, func(t *testing.T, d *Deployment) { d.stall(t, &d.topicd, 6*time.Second); d.awaitReady(t) }},
		{"gateway stands still", separate, 2, func(t *testing.T, d *Deployment) { d.stall(t, &d.gateway, 4*time.Second) }},
	}
	t.Parallel()
	partitions := attributes{"YdbMinActivePartitions": "3"}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t, test.deployment)
			a := d.Actions(t, jsonProtocol)
			loads := []*load{
				startLoad(t, a.Create(t, "standard", partitions), false),
				startLoad(t, a.Create(t, "ordered.fifo", partitions), true),
			}
			for range test.rounds {
				pass(t, 300*time.Millisecond+time.Duration(rand.IntN(500))*time.Millisecond)
				test.crash(t, d)
			}
			pass(t, time.Second)
			for _, l := range loads {
				l.end()
			}
			t.Run("drain", func(t *testing.T) {
				for i, name := range []string{"standard", "fifo"} {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						loads[i].drain(t)
						loads[i].history.report(t)
					})
				}
			})
		})
	}
}

// stall lets a process stand still for a while.
func (d *Deployment) stall(t *testing.T, which **proc, long time.Duration) {
	t.Helper()
	p := d.proc(which)
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	pass(t, long)
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
