package catalog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/internal/ydbstatus"
)

const (
	firstBackoff = 20 * time.Millisecond
	lastBackoff  = time.Second
)

// server makes the unary calls. Each repeats itself while the failure is
// retryable and the context lasts, and then fails with ErrUnavailable.
type server struct {
	topics Ydb_Topic_V1.TopicServiceClient
	scheme Ydb_Scheme_V1.SchemeServiceClient
}

// describe returns the topic, or nil when there is no topic at the path.
func (s server) describe(ctx context.Context, topic string) (*Ydb_Topic.DescribeTopicResult, error) {
	var result Ydb_Topic.DescribeTopicResult
	err := retry(ctx, func() error {
		resp, err := s.topics.DescribeTopic(ctx, &Ydb_Topic.DescribeTopicRequest{Path: topic})
		return ydbstatus.Operation(resp.GetOperation(), err, &result)
	})
	if ydbstatus.Missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describing %s: %w", topic, err)
	}
	return &result, nil
}

// create makes the topic with its directories; it is no error when it is there.
func (s server) create(ctx context.Context, req *Ydb_Topic.CreateTopicRequest) error {
	if err := s.makeDirectory(ctx, path.Dir(req.GetPath())); err != nil {
		return err
	}
	err := retry(ctx, func() error {
		resp, err := s.topics.CreateTopic(ctx, req)
		return ydbstatus.Operation(resp.GetOperation(), err, nil)
	})
	if err != nil && !ydbstatus.Is(err, Ydb.StatusIds_ALREADY_EXISTS) {
		return fmt.Errorf("creating topic %s: %w", req.GetPath(), err)
	}
	return nil
}

func (s server) alter(ctx context.Context, req *Ydb_Topic.AlterTopicRequest) error {
	err := retry(ctx, func() error {
		resp, err := s.topics.AlterTopic(ctx, req)
		return ydbstatus.Operation(resp.GetOperation(), err, nil)
	})
	if err != nil {
		return fmt.Errorf("altering topic %s: %w", req.GetPath(), err)
	}
	return nil
}

// drop removes the topic; it is no error when it is gone already.
func (s server) drop(ctx context.Context, topic string) error {
	err := retry(ctx, func() error {
		resp, err := s.topics.DropTopic(ctx, &Ydb_Topic.DropTopicRequest{Path: topic})
		return ydbstatus.Operation(resp.GetOperation(), err, nil)
	})
	if err != nil && !ydbstatus.Missing(err) {
		return fmt.Errorf("dropping topic %s: %w", topic, err)
	}
	return nil
}

// committed tells the committed offset of partition 0 for the consumer.
func (s server) committed(ctx context.Context, topic, consumer string) (int64, error) {
	var result Ydb_Topic.DescribeConsumerResult
	err := retry(ctx, func() error {
		resp, err := s.topics.DescribeConsumer(ctx, &Ydb_Topic.DescribeConsumerRequest{
			Path: topic, Consumer: consumer, IncludeStats: true,
		})
		return ydbstatus.Operation(resp.GetOperation(), err, &result)
	})
	if err != nil {
		return 0, fmt.Errorf("describing consumer %s of %s: %w", consumer, topic, err)
	}
	for _, p := range result.GetPartitions() {
		if p.GetPartitionId() == 0 {
			return p.GetPartitionConsumerStats().GetCommittedOffset(), nil
		}
	}
	return 0, nil
}

func (s server) commit(ctx context.Context, topic, consumer string, offset int64) error {
	err := retry(ctx, func() error {
		resp, err := s.topics.CommitOffset(ctx, &Ydb_Topic.CommitOffsetRequest{
			Path: topic, Consumer: consumer, Offset: offset,
		})
		return ydbstatus.Operation(resp.GetOperation(), err, nil)
	})
	if err != nil {
		return fmt.Errorf("committing offset %d of %s: %w", offset, topic, err)
	}
	return nil
}

func (s server) makeDirectory(ctx context.Context, dir string) error {
	err := retry(ctx, func() error {
		resp, err := s.scheme.MakeDirectory(ctx, &Ydb_Scheme.MakeDirectoryRequest{Path: dir})
		return ydbstatus.Operation(resp.GetOperation(), err, nil)
	})
	if err != nil && !ydbstatus.Is(err, Ydb.StatusIds_ALREADY_EXISTS) {
		return fmt.Errorf("making directory %s: %w", dir, err)
	}
	return nil
}

// list returns the children of the directory; none when it does not exist.
func (s server) list(ctx context.Context, dir string) ([]*Ydb_Scheme.Entry, error) {
	var result Ydb_Scheme.ListDirectoryResult
	err := retry(ctx, func() error {
		resp, err := s.scheme.ListDirectory(ctx, &Ydb_Scheme.ListDirectoryRequest{Path: dir})
		return ydbstatus.Operation(resp.GetOperation(), err, &result)
	})
	if ydbstatus.Missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", dir, err)
	}
	return result.GetChildren(), nil
}

// refused reports that the server understood the request and will never fulfil
// it.
func refused(err error) bool {
	if errors.Is(err, ErrRefused) {
		return true
	}
	for _, code := range []Ydb.StatusIds_StatusCode{
		Ydb.StatusIds_BAD_REQUEST, Ydb.StatusIds_SCHEME_ERROR, Ydb.StatusIds_PRECONDITION_FAILED,
		Ydb.StatusIds_UNSUPPORTED, Ydb.StatusIds_GENERIC_ERROR,
	} {
		if ydbstatus.Is(err, code) {
			return true
		}
	}
	return false
}

// retry calls f until it succeeds, fails for good, or ctx ends.
func retry(ctx context.Context, f func() error) error {
	for n := 0; ; n++ {
		err := f()
		if err == nil || !ydbstatus.Retryable(err) {
			return err
		}
		if !sleep(ctx, n) {
			return unavailable(err)
		}
	}
}

func unavailable(cause error) error { return fmt.Errorf("%w: %w", ErrUnavailable, cause) }

// sleep waits before the n-th repetition, with jitter; false when ctx ended.
func sleep(ctx context.Context, n int) bool {
	d := min(firstBackoff<<min(n, 10), lastBackoff)
	timer := time.NewTimer(d/2 + rand.N(d/2))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func consumerOf(topic *Ydb_Topic.DescribeTopicResult, name string) *Ydb_Topic.Consumer {
	for _, c := range topic.GetConsumers() {
		if c.GetName() == name {
			return c
		}
	}
	return nil
}

// hidden reports whether an entry of a directory belongs to YDB itself.
func hidden(name string) bool { return strings.HasPrefix(name, ".") }
