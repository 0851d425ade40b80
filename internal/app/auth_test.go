package app

import (
	"slices"
	"strings"
	"testing"

	"sqsgate/config"
	"sqsgate/consumer"
	"sqsgate/gateway"
	"sqsgate/gateway/catalog"
	"sqsgate/partition"
)

// What a key may be limited to is what the gateway serves: the configuration
// imports nothing, so it has a list of its own.
func TestKeysKnowTheActions(t *testing.T) {
	t.Parallel()
	edge, err := gateway.New(gateway.Options{Catalog: new(catalog.Catalog), Consumer: new(consumer.Consumer), Pool: new(partition.Pool)})
	if err != nil {
		t.Fatal(err)
	}
	served := edge.Actions()
	if len(served) != 23 {
		t.Errorf("%d actions are served: %v", len(served), served)
	}
	var single []string
	for _, action := range served {
		one, batch := strings.CutSuffix(action, "Batch")
		if !batch {
			single = append(single, action)
		} else if !slices.Contains(served, one) {
			t.Errorf("%s has no action for one message, whose name keys could have", action)
		}
	}
	if known := config.Actions(); !slices.Equal(known, single) {
		t.Errorf("keys may be limited to\n%v, but without batches there are\n%v", known, single)
	}
}
