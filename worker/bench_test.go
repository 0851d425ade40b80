package worker_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"sqsgate/worker"
)

// BenchmarkWorker has handlers that do nothing empty a queue of a gateway in the
// same process. An operation is 1000 messages received, handled and deleted, in a
// FIFO queue 10 of each group.
func BenchmarkWorker(b *testing.B) {
	const each = 1000
	for _, suffix := range []string{"", ".fifo"} {
		for _, concurrency := range []int{10, 100} {
			b.Run(fmt.Sprintf("q%s/concurrency=%d", suffix, concurrency), func(b *testing.B) {
				s, closeAll, err := open(slog.New(slog.DiscardHandler))
				must(b, err)
				s.t = b
				var idle func()
				s.client, idle, _ = s.dial()
				url := s.create("q"+suffix, nil)
				round := 0
				for b.Loop() {
					b.StopTimer()
					s.fill(url, suffix != "", each, round)
					round++
					b.StartTimer()
					s.empty(url, each, concurrency)
				}
				b.ReportMetric(float64(b.N*each)/b.Elapsed().Seconds(), "messages/s")
				idle()
				must(b, closeAll())
			})
		}
	}
}

// fill sends messages in batches of ten.
func (s *stack) fill(url string, fifo bool, messages, round int) {
	s.t.Helper()
	for n := 0; n < messages; n += 10 {
		in := &sqs.SendMessageBatchInput{QueueUrl: &url}
		for i := range 10 {
			e := types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String("a message of a benchmark")}
			if fifo {
				e.MessageGroupId = aws.String(strconv.Itoa((n + i) % (messages / 10)))
				e.MessageDeduplicationId = aws.String(fmt.Sprint(round, "-", n+i))
			}
			in.Entries = append(in.Entries, e)
		}
		out, err := s.client.SendMessageBatch(s.t.Context(), in)
		must(s.t, err)
		if len(out.Failed) > 0 {
			s.t.Fatalf("%d messages were not taken", len(out.Failed))
		}
	}
}

// empty runs a Worker until it has handled so many messages.
func (s *stack) empty(url string, messages, concurrency int) {
	s.t.Helper()
	ctx, stop := context.WithCancel(s.t.Context())
	defer stop()
	var handled atomic.Int64
	w, err := worker.New(worker.Options{
		Client: s.client, QueueURL: url, Concurrency: concurrency, Receivers: 4,
		Handler: func(context.Context, worker.Message) worker.Outcome {
			if handled.Add(1) == int64(messages) {
				stop()
			}
			return worker.Ack()
		},
	})
	must(s.t, err)
	must(s.t, w.Run(ctx))
}
