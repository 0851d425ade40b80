package ydbstatus

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Error is an answer of YDB with a status other than SUCCESS.
type Error struct {
	Code   Ydb.StatusIds_StatusCode
	Issues string // issue texts, joined; may be empty
}

func (e *Error) Error() string {
	if e.Issues == "" {
		return "ydb: " + e.Code.String()
	}
	return "ydb: " + e.Code.String() + ": " + e.Issues
}

// Check returns nil for SUCCESS and an *Error otherwise. It serves stream
// messages, which carry status and issues themselves.
func Check(code Ydb.StatusIds_StatusCode, issues []*Ydb_Issue.IssueMessage) error {
	if code == Ydb.StatusIds_SUCCESS {
		return nil
	}
	return &Error{Code: code, Issues: text(issues)}
}

// Operation reads the outcome of a unary call: err is the gRPC error of the
// call, op its operation. A result, when not nil, receives the operation's
// result.
func Operation(op *Ydb_Operations.Operation, err error, result proto.Message) error {
	if err != nil {
		return err
	}
	if !op.GetReady() {
		return errors.New("ydb: operation is not ready")
	}
	if err := Check(op.GetStatus(), op.GetIssues()); err != nil {
		return err
	}
	if result == nil {
		return nil
	}
	if err := op.GetResult().UnmarshalTo(result); err != nil {
		return fmt.Errorf("ydb: decoding %s: %w", result.ProtoReflect().Descriptor().Name(), err)
	}
	return nil
}

// Is reports whether err carries the YDB status code.
func Is(err error, code Ydb.StatusIds_StatusCode) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// Missing reports whether err says that what the call was about does not exist:
// YDB answers SCHEME_ERROR, newer servers NOT_FOUND in places.
func Missing(err error) bool {
	return Is(err, Ydb.StatusIds_SCHEME_ERROR) || Is(err, Ydb.StatusIds_NOT_FOUND)
}

// Retryable reports whether the call that failed with err may succeed when it
// is made again: the server was overloaded, restarting or out of reach.
func Retryable(err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return slices.Contains([]Ydb.StatusIds_StatusCode{
			Ydb.StatusIds_UNAVAILABLE, Ydb.StatusIds_OVERLOADED, Ydb.StatusIds_ABORTED,
			Ydb.StatusIds_UNDETERMINED, Ydb.StatusIds_BAD_SESSION, Ydb.StatusIds_SESSION_EXPIRED,
			Ydb.StatusIds_SESSION_BUSY, Ydb.StatusIds_TIMEOUT,
		}, e.Code)
	}
	return slices.Contains([]codes.Code{
		codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.Internal, codes.Canceled, codes.DeadlineExceeded,
	}, status.Code(err))
}

func text(issues []*Ydb_Issue.IssueMessage) string {
	var parts []string
	var walk func([]*Ydb_Issue.IssueMessage)
	walk = func(list []*Ydb_Issue.IssueMessage) {
		for _, i := range list {
			if m := i.GetMessage(); m != "" {
				parts = append(parts, m)
			}
			walk(i.GetIssues())
		}
	}
	walk(issues)
	return strings.Join(parts, "; ")
}
