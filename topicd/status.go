package topicd

import (
	"context"
	"errors"
	"fmt"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"sqsgate/topicd/store"
)

// statusError is an answer with a YDB status other than SUCCESS.
type statusError struct {
	code Ydb.StatusIds_StatusCode
	text string
}

func (e *statusError) Error() string { return e.code.String() + ": " + e.text }

func badRequest(format string, args ...any) error {
	return &statusError{Ydb.StatusIds_BAD_REQUEST, fmt.Sprintf(format, args...)}
}

func schemeError(format string, args ...any) error {
	return &statusError{Ydb.StatusIds_SCHEME_ERROR, fmt.Sprintf(format, args...)}
}

func statusf(code Ydb.StatusIds_StatusCode, format string, args ...any) error {
	return &statusError{code, fmt.Sprintf(format, args...)}
}

// errShutdown ends the sessions of a server that is being closed; clients
// reconnect on UNAVAILABLE.
func errShutdown() error {
	return statusf(Ydb.StatusIds_UNAVAILABLE, "the server is shutting down")
}

// statusOf maps any error to the status and text that the client is told.
func statusOf(err error) (Ydb.StatusIds_StatusCode, string) {
	var se *statusError
	switch {
	case err == nil:
		return Ydb.StatusIds_SUCCESS, ""
	case errors.As(err, &se):
		return se.code, se.text
	case errors.Is(err, store.ErrDiskFull):
		return Ydb.StatusIds_OVERLOADED, "Disk is full"
	case errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrFailed):
		return Ydb.StatusIds_UNAVAILABLE, "the topic store is not available"
	case errors.Is(err, context.DeadlineExceeded):
		return Ydb.StatusIds_TIMEOUT, "the deadline of the call has passed"
	case errors.Is(err, context.Canceled):
		return Ydb.StatusIds_CANCELLED, "the call was cancelled"
	default:
		return Ydb.StatusIds_INTERNAL_ERROR, "internal error"
	}
}

func issues(text string) []*Ydb_Issue.IssueMessage {
	if text == "" {
		return nil
	}
	const severityError = 1
	return []*Ydb_Issue.IssueMessage{{Message: text, Severity: severityError}}
}

// operation builds the answer of a unary call: errors travel inside with gRPC
// status OK.
func operation(result proto.Message, err error) *Ydb_Operations.Operation {
	if err == nil && result != nil {
		packed, perr := anypb.New(result)
		if perr == nil {
			return &Ydb_Operations.Operation{Ready: true, Status: Ydb.StatusIds_SUCCESS, Result: packed}
		}
		err = perr
	}
	code, text := statusOf(err)
	return &Ydb_Operations.Operation{Ready: true, Status: code, Issues: issues(text)}
}
