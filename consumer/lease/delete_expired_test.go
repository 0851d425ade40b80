package lease_test

import (
	"testing"

	"sqsgate/consumer/lease"
)

// A message that was deleted after it had expired stays deleted, though the
// retention is longer after a restart.
func TestDeleteOfAnExpiredMessage(t *testing.T) {
	load := lease.Input{Kind: lease.Load, Message: lease.Message{WriteTime: 1}}
	m := lease.New(lease.Config{Retention: 100})
	m.Step(1, load)
	m.Step(1, lease.Input{Kind: lease.Receive, Max: 1, Visibility: 1000})
	m.Step(200, lease.Input{Kind: lease.Tick})
	if got := m.Step(200, lease.Input{Kind: lease.Delete, Attempt: 1}); got[0].Outcome != lease.Done {
		t.Fatalf("the delete: %+v", got)
	}
	again := lease.New(lease.Config{Retention: 1_000_000})
	for _, op := range m.TakeOps(nil) {
		if err := again.Apply(op); err != nil {
			t.Fatal(err)
		}
	}
	again.Replayed(5000)
	if again.Cursor() != 1 {
		t.Error("the message is back")
	}
}
