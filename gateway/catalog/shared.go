package catalog

import (
	"fmt"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/encoding/protowire"
)

// SharedConsumerError says that the consumer which would make the topic a queue is
// a shared one: YDB hands out its messages itself, and nobody else can read with it.
type SharedConsumerError struct {
	Topic    string // absolute path
	Consumer string
}

func (e *SharedConsumerError) Error() string {
	return fmt.Sprintf("consumer %s of topic %s is a shared one", e.Consumer, e.Topic)
}

// Is makes it an ErrRefused: a queue that was begun with it is given up.
func (e *SharedConsumerError) Is(target error) bool { return target == ErrRefused }

// The fields of a newer Consumer that say of which type it is. The published
// protocol does not have them yet, so that they come as unknown ones.
const (
	streamingConsumerType = 9
	sharedConsumerType    = 10
)

// shared tells whether a description says that the consumer is a shared one.
func shared(c *Ydb_Topic.Consumer) bool {
	if c == nil {
		return false
	}
	found := false
	for rest := c.ProtoReflect().GetUnknown(); len(rest) > 0; {
		number, kind, n := protowire.ConsumeField(rest)
		if n < 0 {
			return false
		}
		switch {
		case number == streamingConsumerType:
			return false
		case number == sharedConsumerType && kind == protowire.BytesType:
			found = true
		}
		rest = rest[n:]
	}
	return found
}
