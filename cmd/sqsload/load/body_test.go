package load

import (
	"bytes"
	"testing"

	"sqsgate/cmd/sqsload/ledger"
)

func TestBodies(t *testing.T) {
	b := newBodies("3w5e11264sgsf", 1024)
	for _, id := range []ledger.ID{{Group: -1}, {Producer: 4095, Seq: 1<<32 - 1, Group: 999_999}} {
		body := b.append(nil, id)
		if len(body) != 1024 {
			t.Errorf("%v: %d bytes", id, len(body))
		}
		got, ours, whole := b.parse(body)
		if got != id || !ours || !whole {
			t.Errorf("%v read as %v, ours %v, whole %v", id, got, ours, whole)
		}
		body[len(body)-1] ^= 1
		if got, ours, whole := b.parse(body); got != id || !ours || whole {
			t.Errorf("damaged %v read as %v, ours %v, whole %v", id, got, ours, whole)
		}
		if _, _, whole := b.parse(body[:1000]); whole {
			t.Error("a shorter body passes for whole")
		}
	}
	for _, foreign := range []string{"", "hello", "sqsload/other/0/0/0/x", "sqsload/3w5e11264sgsf/0/0/", "sqsload/3w5e11264sgsf/-1/0/0/", "sqsload/3w5e11264sgsf/a/0/0/"} {
		if _, ours, _ := b.parse([]byte(foreign)); ours {
			t.Errorf("%q passes for ours", foreign)
		}
	}
}

// The longest name fits into the smallest body, and needs no escape in JSON.
func TestSmallestBody(t *testing.T) {
	b := newBodies("zzzzzzzzzzzzz", minBody)
	body := b.append(nil, ledger.ID{Producer: maxConnections - 1, Seq: 1<<32 - 1, Group: 999_999})
	if len(body) != minBody || bytes.ContainsAny(body, "\"\\\n") {
		t.Errorf("%q", body)
	}
}
