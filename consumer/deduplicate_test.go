package consumer

import (
	"errors"
	"testing"

	"sqsgate/consumer/lease"
)

func TestFullDeduplicationWindow(t *testing.T) {
	key := func(i byte) lease.Hash { return lease.Hash{i} }
	window := deduplicationWindow.Milliseconds()
	d := newDeduplicator(2)
	d.add(key(1), 0, 0, 10)
	if claim, other, err := d.begin(key(2), 1); claim.Duplicate || other != nil || err != nil {
		t.Fatalf("second id: %v, %v", claim, err)
	}
	// One id is known and one under way: a third would have to be forgotten.
	if _, _, err := d.begin(key(3), 2); !errors.Is(err, ErrThrottled) {
		t.Errorf("third id: error %v, want ErrThrottled", err)
	}
	if claim, _, err := d.begin(key(1), 3); err != nil || !claim.Duplicate || claim.Offset != 10 {
		t.Errorf("a known id: %+v, %v", claim, err)
	}
	if _, other, err := d.begin(key(2), 3); other == nil || err != nil {
		t.Errorf("an id under way is not waited for: %v", err)
	}
	// The first id counts no longer: there is room.
	if claim, _, err := d.begin(key(3), window); err != nil || claim.Duplicate {
		t.Errorf("third id after the window: %+v, %v", claim, err)
	}
}
