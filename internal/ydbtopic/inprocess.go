package ydbtopic

import (
	"context"
	"fmt"
	"reflect"

	"github.com/fullstorydev/grpchan/inprocgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// databaseHeader tells a YDB server which database a relative path belongs to.
const databaseHeader = "x-ydb-database"

// InProcess returns a connection to services in this process; register is
// called once to add them.
//
// Messages pass by reference. A sender must not change a message, nor anything
// it points to, after handing it over, and a receiver must treat what it gets
// as read-only. The message struct itself is the receiver's own.
func InProcess(database string, register func(grpc.ServiceRegistrar)) *Conn {
	ch := new(inprocgrpc.Channel).WithCloner(handOver{})
	register(ch)
	return newConn(database, &withDatabase{cc: ch, database: database}, nil)
}

// withDatabase adds the database header, as the SDK's driver does.
type withDatabase struct {
	cc       grpc.ClientConnInterface
	database string
}

func (w *withDatabase) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return w.cc.Invoke(metadata.AppendToOutgoingContext(ctx, databaseHeader, w.database), method, args, reply, opts...)
}

func (w *withDatabase) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return w.cc.NewStream(metadata.AppendToOutgoingContext(ctx, databaseHeader, w.database), desc, method, opts...)
}

// handOver is the Cloner that does not clone.
type handOver struct{}

// Clone is called with each message sent on a stream.
func (handOver) Clone(in any) (any, error) { return in, nil }

// Copy is called with the message the receiver has allocated and the one that
// was sent. It assigns the fields and leaves out the message state and the
// unknown fields, the unexported parts of a generated struct: the state is
// written atomically by whoever looks at the message first, so copying it would
// be a data race when one message goes to two receivers.
func (handOver) Copy(out, in any) error {
	dst, src := reflect.ValueOf(out), reflect.ValueOf(in)
	if dst.Type() != src.Type() || dst.Kind() != reflect.Pointer {
		return fmt.Errorf("handing over a message: got %T, receiver wants %T", in, out)
	}
	dst, src = dst.Elem(), src.Elem()
	assigned := false
	for i := range dst.NumField() {
		if f := dst.Field(i); f.CanSet() {
			f.Set(src.Field(i))
			assigned = true
		}
	}
	if assigned {
		return nil
	}
	// No exported field: an empty message, or one of the opaque API.
	outMsg, ok1 := out.(proto.Message)
	inMsg, ok2 := in.(proto.Message)
	if !ok1 || !ok2 {
		return fmt.Errorf("handing over a message: %T is not a protobuf message", in)
	}
	proto.Merge(outMsg, inMsg)
	return nil
}
