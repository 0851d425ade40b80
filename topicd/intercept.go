package topicd

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Direction says which way a message goes.
type Direction int

// Directions of a Passing message.
const (
	FromClient Direction = iota
	FromServer
)

// Passing is a message on its way through the server's edge: the request or
// the reply of a unary call, or one message of a stream.
type Passing struct {
	Method    string // such as "CreateTopic" or "StreamWrite"
	Direction Direction
	Message   proto.Message // not to be changed
}

// Fault is what happens to a message. The zero value lets it pass. Delay comes
// first; of the others the first that is set counts, in the order of the fields.
type Fault struct {
	Delay time.Duration // before anything else; later messages of the stream wait behind it
	// Err ends the call with a gRPC error, as a broken connection does.
	Err error
	// Status ends the call with a YDB status: as its reply, or as the last
	// message of the stream.
	Status Ydb.StatusIds_StatusCode
	// Answer goes to the client instead: of the reply, of the message from the
	// server, or of serving the one from the client.
	Answer proto.Message
	// Drop loses the message. A unary call is then never answered.
	Drop bool
}

// Intercept asks f about every message from now on, until remove is called. f
// may be called concurrently and must not block. Of several the latest that
// does not let the message pass counts.
func (c *Control) Intercept(f func(Passing) Fault) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hook := &f
	c.hooks = append(c.hooks, hook)
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hooks = slices.DeleteFunc(c.hooks, func(h *func(Passing) Fault) bool { return h == hook })
	})
}

// ask returns the fault for a message, its delay already served.
func (c *Control) ask(ctx context.Context, method string, d Direction, m any) Fault {
	c.mu.Lock()
	hooks := slices.Clone(c.hooks)
	c.mu.Unlock()
	if len(hooks) == 0 {
		return Fault{}
	}
	message, ok := m.(proto.Message)
	if !ok {
		return Fault{}
	}
	p := Passing{Method: leafOf(method), Direction: d, Message: message}
	for _, hook := range slices.Backward(hooks) {
		f := (*hook)(p)
		if f == (Fault{}) {
			continue
		}
		if f.Delay > 0 {
			timer := time.NewTimer(f.Delay)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				f.Err = ctx.Err()
			}
		}
		return f
	}
	return Fault{}
}

// faulty returns the service with every message shown to the control.
func (c *Control) faulty(desc *grpc.ServiceDesc) *grpc.ServiceDesc {
	out := *desc
	out.Methods = slices.Clone(desc.Methods)
	for i := range out.Methods {
		method, serve := "/"+desc.ServiceName+"/"+out.Methods[i].MethodName, out.Methods[i].Handler
		out.Methods[i].Handler = func(srv any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			return serve(srv, ctx, decode, func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
				call := func(ctx context.Context, req any) (any, error) { return c.unary(ctx, method, req, next) }
				if intercept == nil {
					return call(ctx, req)
				}
				return intercept(ctx, req, info, call)
			})
		}
	}
	out.Streams = slices.Clone(desc.Streams)
	for i := range out.Streams {
		method, serve := "/"+desc.ServiceName+"/"+out.Streams[i].StreamName, out.Streams[i].Handler
		out.Streams[i].Handler = func(srv any, stream grpc.ServerStream) error {
			s := &faultyStream{ServerStream: stream, control: c, method: method}
			if err := serve(srv, s); s.broken() == nil {
				return err
			}
			return s.broken()
		}
	}
	return &out
}

func (c *Control) unary(ctx context.Context, method string, req any, next grpc.UnaryHandler) (any, error) {
	var reply any
	var err error
	f := c.ask(ctx, method, FromClient, req)
	if f.passes() {
		if reply, err = next(ctx, req); err != nil {
			return reply, err
		}
		if f = c.ask(ctx, method, FromServer, reply); f.passes() {
			return reply, nil
		}
	}
	switch {
	case f.Err != nil:
		return nil, f.Err
	case f.Status != 0:
		return failure(method, f.Status), nil
	case f.Answer != nil:
		return f.Answer, nil
	default:
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

func (f Fault) passes() bool {
	f.Delay = 0
	return f == Fault{}
}

var errInjected = errors.New("the stream was ended by an injected fault")

// faultyStream is a stream whose messages are shown to the control.
type faultyStream struct {
	grpc.ServerStream
	control *Control
	method  string

	mu    sync.Mutex // one sender at a time: faults send beside the handler
	ended bool
	err   error // what the stream ends with
}

func (s *faultyStream) broken() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// RecvMsg passes the client's next message on that no fault takes away.
func (s *faultyStream) RecvMsg(m any) error {
	for {
		if err := s.ServerStream.RecvMsg(m); err != nil {
			return err
		}
		f := s.control.ask(s.Context(), s.method, FromClient, m)
		if f.passes() {
			return nil
		}
		if err := s.suffer(f); err != nil {
			return err
		}
	}
}

// SendMsg passes a message on to the client unless a fault takes it away.
func (s *faultyStream) SendMsg(m any) error {
	f := s.control.ask(s.Context(), s.method, FromServer, m)
	if f.passes() {
		return s.send(m)
	}
	return s.suffer(f)
}

func (s *faultyStream) send(m any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errInjected
	}
	return s.ServerStream.SendMsg(m)
}

// suffer does what the fault says instead of passing a message on. It returns
// an error when the stream has ended.
func (s *faultyStream) suffer(f Fault) error {
	switch {
	case f.Err != nil:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended, s.err = true, f.Err
		return errInjected
	case f.Status != 0:
		err := s.send(failure(s.method, f.Status))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = true
		return errors.Join(err, io.ErrClosedPipe)
	case f.Answer != nil:
		return s.send(f.Answer)
	default:
		return nil
	}
}

// failure makes the message that ends a call with a status: a reply with a
// finished operation, or a message of a stream.
func failure(method string, code Ydb.StatusIds_StatusCode) proto.Message {
	if method == describePartitionMethod {
		return &Ydb_Topic.DescribePartitionResponse{Operation: operation(nil, statusf(code, "injected fault"))}
	}
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	desc, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		panic("topicd: " + err.Error()) // all services are generated
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(desc.(protoreflect.MethodDescriptor).Output().FullName()) //nolint:errcheck // it is a method's name
	if err != nil {
		panic("topicd: " + err.Error())
	}
	m := kind.New()
	if field := m.Descriptor().Fields().ByName("operation"); field != nil {
		m.Set(field, protoreflect.ValueOfMessage(operation(nil, statusf(code, "injected fault")).ProtoReflect()))
		return m.Interface()
	}
	m.Set(m.Descriptor().Fields().ByName("status"), protoreflect.ValueOfEnum(protoreflect.EnumNumber(code)))
	list := m.Mutable(m.Descriptor().Fields().ByName("issues")).List()
	for _, issue := range issues("injected fault") {
		list.Append(protoreflect.ValueOfMessage(issue.ProtoReflect()))
	}
	return m.Interface()
}
