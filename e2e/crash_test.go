//go:build e2e

package e2e

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicoptions"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topictypes"
)

// TestKill kills the gateway, or the topic server behind it, again and again in
// the middle of a mixed load on a standard and a FIFO queue, or makes it stand
// still, while partitions split. The clients' history must hold: what was
// answered is true for ever.
func TestKill(t *testing.T) {
	tests := []struct {
		name, deployment string
		rounds           int
		crash            func(t *testing.T, d *Deployment)
	}{
		{"gateway with its store", embedded, 20, func(_ *testing.T, d *Deployment) { d.Kill(); d.Start() }},
		{"topic server under the gateway", separate, 9, func(t *testing.T, d *Deployment) { d.KillTopicd(); d.StartTopicd(); d.awaitReady(t) }},
		{"gateway alone", separate, 9, func(_ *testing.T, d *Deployment) { d.KillGateway(); d.StartGateway() }},
		// Longer than the gateway waits for a journal, shorter than keepalive.
		{"topic server stands still", separate, 4, func(t *testing.T, d *Deployment) { d.stall(t, &d.topicd, 6*time.Second); d.awaitReady(t) }},
		{"gateway stands still", separate, 8, func(t *testing.T, d *Deployment) { d.stall(t, &d.gateway, 4*time.Second) }},
	}
	t.Parallel()
	partitions := attributes{"YdbMinActivePartitions": "2", "YdbMaxActivePartitions": "8"}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t, test.deployment)
			a := d.Actions(t, jsonProtocol)
			loads := []*load{
				startLoad(t, a.Create(t, "standard", partitions), false),
				startLoad(t, a.Create(t, "ordered.fifo", partitions), true),
			}
			splitSoon(t, d, "standard")
			splitSoon(t, d, "ordered.fifo")
			for range test.rounds {
				pass(t, 300*time.Millisecond+time.Duration(rand.IntN(500))*time.Millisecond)
				test.crash(t, d)
			}
			pass(t, time.Second)
			for _, l := range loads {
				l.end()
			}
			if n := partitionsOf(t, d, "standard") + partitionsOf(t, d, "ordered.fifo"); n <= 4 {
				t.Errorf("the topics have %d partitions: none was split", n)
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

// splitSoon lets the partitions of a topic split under the load of the test.
func splitSoon(t *testing.T, d *Deployment, topic string) {
	t.Helper()
	err := d.YDB(t).Topic().Alter(t.Context(), topic,
		topicoptions.AlterWithAutoPartitioningStrategy(topictypes.AutoPartitioningStrategyScaleUp),
		topicoptions.AlterWithAutoPartitioningWriteSpeedStabilizationWindow(2*time.Second),
		topicoptions.AlterWithAutoPartitioningWriteSpeedUpUtilizationPercent(1),
		topicoptions.AlterWithPartitionWriteSpeedBytesPerSecond(16<<10),
		topicoptions.AlterWithPartitionWriteBurstBytes(64<<10),
	)
	if err != nil {
		t.Fatalf("altering %s: %v", topic, err)
	}
}

func partitionsOf(t *testing.T, d *Deployment, topic string) int {
	t.Helper()
	description, err := d.YDB(t).Topic().Describe(t.Context(), topic)
	if err != nil {
		t.Fatalf("describing %s: %v", topic, err)
	}
	return len(description.Partitions)
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
