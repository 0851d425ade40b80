package ydbstatus

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Issue"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
)

func TestOperation(t *testing.T) {
	result, err := anypb.New(&Ydb_Topic.DescribeTopicResult{RetentionStorageMb: 7})
	if err != nil {
		t.Fatal(err)
	}
	var got Ydb_Topic.DescribeTopicResult
	if err := Operation(&Ydb_Operations.Operation{Ready: true, Status: Ydb.StatusIds_SUCCESS, Result: result}, nil, &got); err != nil || got.GetRetentionStorageMb() != 7 {
		t.Errorf("result %v, error %v", &got, err)
	}
	failed := &Ydb_Operations.Operation{
		Ready: true, Status: Ydb.StatusIds_SCHEME_ERROR,
		Issues: []*Ydb_Issue.IssueMessage{{Message: "outer", Issues: []*Ydb_Issue.IssueMessage{{Message: "inner"}}}},
	}
	err = fmt.Errorf("describing q: %w", Operation(failed, nil, &got))
	if !Is(err, Ydb.StatusIds_SCHEME_ERROR) || Is(err, Ydb.StatusIds_NOT_FOUND) {
		t.Errorf("status of %v", err)
	}
	if want := "describing q: ydb: SCHEME_ERROR: outer; inner"; err.Error() != want {
		t.Errorf("text %q, want %q", err, want)
	}
	if err := Operation(&Ydb_Operations.Operation{}, nil, nil); err == nil {
		t.Error("an operation that is not ready counts as done")
	}
	transport := status.Error(codes.Unavailable, "gone")
	if err := Operation(nil, transport, nil); !errors.Is(err, transport) {
		t.Errorf("transport error became %v", err)
	}
}

func TestMissing(t *testing.T) {
	for code, want := range map[Ydb.StatusIds_StatusCode]bool{
		Ydb.StatusIds_SCHEME_ERROR: true, Ydb.StatusIds_NOT_FOUND: true, Ydb.StatusIds_BAD_REQUEST: false,
	} {
		if err := fmt.Errorf("describing q: %w", Check(code, nil)); Missing(err) != want {
			t.Errorf("Missing(%v) = %v", err, !want)
		}
	}
	if Missing(nil) {
		t.Error("no error says that something is missing")
	}
}

func TestRetryable(t *testing.T) {
	for err, want := range map[error]bool{
		&Error{Code: Ydb.StatusIds_OVERLOADED}:          true,
		&Error{Code: Ydb.StatusIds_UNAVAILABLE}:         true,
		&Error{Code: Ydb.StatusIds_SCHEME_ERROR}:        false,
		&Error{Code: Ydb.StatusIds_BAD_REQUEST}:         false,
		status.Error(codes.Unavailable, ""):             true,
		status.Error(codes.Unauthenticated, ""):         false,
		status.FromContextError(context.Canceled).Err(): true,
		errors.New("other"):                             false,
	} {
		if got := Retryable(fmt.Errorf("calling: %w", err)); got != want {
			t.Errorf("Retryable(%v) = %v, want %v", err, got, want)
		}
	}
}
