package topicid_test

import (
	"testing"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"

	"sqsgate/internal/topicid"
)

func TestIdentity(t *testing.T) {
	entry := func(step, tx uint64) *Ydb_Scheme.Entry {
		return &Ydb_Scheme.Entry{Name: "q", CreatedAt: &Ydb.VirtualTimestamp{PlanStep: step, TxId: tx}}
	}
	first, again, unknown := topicid.Of(entry(7, 1)), topicid.Of(entry(7, 2)), topicid.Of(&Ydb_Scheme.Entry{Name: "q"})
	if unknown != "" || topicid.Of(nil) != "" || topicid.Of(entry(0, 0)) != "" {
		t.Errorf("an identity without a time of creation: %q", unknown)
	}
	if topicid.Same(first, again) || !topicid.Same(first, topicid.Of(entry(7, 1))) || !topicid.Same(first, unknown) || !topicid.Same(unknown, again) {
		t.Errorf("identities %q, %q and %q", first, again, unknown)
	}
}
