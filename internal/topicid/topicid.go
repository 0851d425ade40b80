package topicid

import (
	"fmt"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"
)

// Of is the identity of the topic whose entry this is; "" when the server does not
// say when it was created.
func Of(entry *Ydb_Scheme.Entry) string {
	created := entry.GetCreatedAt()
	if created.GetPlanStep() == 0 && created.GetTxId() == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", created.GetPlanStep(), created.GetTxId())
}

// Same reports whether the two identities may be those of one topic.
func Same(a, b string) bool { return a == "" || b == "" || a == b }
