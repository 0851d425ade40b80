//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topictypes"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicwriter"

	"sqsgate/codec"
)

// mixedLoad writes one topic with SQS senders and Topic API writers at once, and
// meanwhile has it received through queues and read with the SDK. A message
// belongs to a group that one writer owns, and has a ledger on each reading side.
type mixedLoad struct {
	t     *testing.T
	db    *ydb.Driver
	topic string
	fifo  bool

	writing  sync.WaitGroup
	reading  sync.WaitGroup
	written  atomic.Int64
	finished atomic.Bool // written is all there will be
	goOn     atomic.Bool // writers go on beyond their share
	ledgers  []*ledger
}

const (
	// loadFailure is how long nothing may happen before a load has failed.
	loadFailure = 90 * time.Second
	// sendGroups and sendBatchSize: a batch has one message of each of a sender's groups.
	sendGroups = 10
	// topicBatch is how many messages a Topic API writer hands over at a time.
	topicBatch = 20
	// nobody begins the groups of writers without a producer: their messages go
	// to any partition, in no order.
	nobody = "nobody"
)

// write runs a writer: it is called for its n-th portion until it has written
// its share.
func (l *mixedLoad) write(ctx context.Context, share int, portion func(n int) (int, error), end func() error) {
	l.writing.Go(func() {
		done := 0
		for n := 0; done < share || l.goOn.Load(); n++ {
			wrote, err := portion(n)
			if err != nil {
				if ctx.Err() == nil {
					l.t.Errorf("%s: %v", l.topic, err)
				}
				return
			}
			done += wrote
			l.written.Add(int64(wrote))
		}
		if err := end(); err != nil {
			l.t.Errorf("%s: %v", l.topic, err)
		}
	})
}

func noEnd() error { return nil }

// mixedBody is the body of the n-th message of a group.
func mixedBody(group string, n int) string {
	return groupBody(group, n) + " and some words more, and some words more, and some words more"
}

// sendBatches sends with one SQS client, in batches.
func (l *mixedLoad) sendBatches(ctx context.Context, q *Queue, name string, share int) {
	l.write(ctx, share, func(n int) (int, error) {
		in := &sqs.SendMessageBatchInput{QueueUrl: q.URL}
		for i := range sendGroups {
			group := fmt.Sprint(name, "-", i)
			body := mixedBody(group, n)
			e := types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: &body, MessageGroupId: &group}
			if l.fifo {
				e.MessageDeduplicationId = aws.String(groupBody(group, n))
			}
			in.Entries = append(in.Entries, e)
		}
		out, err := q.SendMessageBatch(ctx, in)
		if err == nil && len(out.Failed) > 0 {
			err = fmt.Errorf("%d entries failed, the first with %s: %s", len(out.Failed), aws.ToString(out.Failed[0].Code), aws.ToString(out.Failed[0].Message))
		}
		return sendGroups, err
	}, noEnd)
}

// sendSingly sends with one SQS client, one message at a time.
func (l *mixedLoad) sendSingly(ctx context.Context, q *Queue, name string, share int) {
	l.write(ctx, share, func(n int) (int, error) {
		in := &sqs.SendMessageInput{QueueUrl: q.URL, MessageBody: aws.String(mixedBody(name, n)), MessageGroupId: &name}
		if l.fifo {
			in.MessageDeduplicationId = aws.String(groupBody(name, n))
		}
		_, err := q.SendMessage(ctx, in)
		return 1, err
	}, noEnd)
}

// writeTopic writes with the SDK. The groups are keys, or with none the producer.
func (l *mixedLoad) writeTopic(ctx context.Context, producer string, number topictypes.Codec, keys, share int) {
	w := openWriter(l.t, l.db, l.topic, producer, number)
	p := newPacker(l.t)
	next := map[string]int{}
	l.write(ctx, share, func(n int) (int, error) {
		var messages []topicwriter.Message
		for i := range topicBatch {
			group, m := producer, topicwriter.Message{}
			if keys > 0 {
				group = fmt.Sprint(producer, "-", (n*topicBatch+i)%keys)
				m.Metadata = map[string][]byte{"__key": []byte(group)}
			}
			body := []byte(mixedBody(group, next[group]))
			next[group]++
			if number != topictypes.CodecGzip { // the SDK's own
				body = p.pack(number, body)
			}
			m.Data = bytes.NewReader(body)
			messages = append(messages, m)
		}
		return topicBatch, w.Write(ctx, messages...)
	}, func() error { return w.Close(ctx) })
}

// writeBare writes without a producer and without metadata, under one codec
// after the other.
func (l *mixedLoad) writeBare(ctx context.Context, name string, share int) {
	w := newBareWriter(l.t, l.db, l.topic, "")
	p := newPacker(l.t)
	numbers := []topictypes.Codec{topictypes.CodecRaw, topictypes.CodecGzip, topictypes.CodecLzop, topictypes.CodecZstd, codecLZ4}
	l.write(ctx, share, func(n int) (int, error) {
		number := numbers[n%len(numbers)]
		var messages []bareMessage
		for i := range topicBatch {
			messages = append(messages, bareMessage{data: p.pack(number, []byte(mixedBody(nobody+name, n*topicBatch+i)))})
		}
		return topicBatch, w.write(ctx, number, messages...)
	}, noEnd)
}

// receive has clients receive all messages of a queue, check and delete them, and
// now and then give some back.
func (l *mixedLoad) receive(ctx context.Context, q *Queue, clients int) {
	led := newLedger("queue "+queueName(q), l.fifo)
	l.ledgers = append(l.ledgers, led)
	for c := range clients {
		l.reading.Go(func() {
			for n := 1; ctx.Err() == nil && !l.through(led); n++ {
				err := l.receiveOnce(ctx, q, led, fmt.Sprint(c, "/", n), n%23 == 0)
				if err != nil && ctx.Err() == nil {
					l.t.Errorf("%s: %v", led.name, err)
					return
				}
			}
		})
	}
}

func (l *mixedLoad) receiveOnce(ctx context.Context, q *Queue, led *ledger, answer string, giveBack bool) error {
	out, err := q.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: q.URL, MaxNumberOfMessages: 10, WaitTimeSeconds: 1,
		AttributeNames: []types.QueueAttributeName{"MessageGroupId"}, //nolint:staticcheck // known to both SDKs
	})
	if err != nil || len(out.Messages) == 0 {
		return err
	}
	var got []string
	for _, m := range out.Messages {
		body, err := codec.Decode(aws.ToString(m.Body), m.Attributes["BodyEncoding"])
		if err != nil {
			return err
		}
		group, _ := parseBody(string(body))
		if said, there := m.Attributes["MessageGroupId"]; said != group && (l.fifo && !led.free(group) || there) {
			return fmt.Errorf("%q came in group %q", body, said)
		}
		got = append(got, string(body))
	}
	led.take(answer, got)
	if giveBack {
		led.giveBack(got)
		return l.giveBack(ctx, q, out.Messages)
	}
	led.finish(got)
	return l.deleteAll(ctx, q, out.Messages)
}

func (l *mixedLoad) giveBack(ctx context.Context, q *Queue, messages []types.Message) error {
	in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: q.URL}
	for i, m := range messages {
		in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle})
	}
	out, err := q.ChangeMessageVisibilityBatch(ctx, in)
	if err == nil && len(out.Failed) > 0 {
		err = fmt.Errorf("giving back: %s", aws.ToString(out.Failed[0].Message))
	}
	return err
}

func (l *mixedLoad) deleteAll(ctx context.Context, q *Queue, messages []types.Message) error {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: q.URL}
	for i, m := range messages {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle})
	}
	out, err := q.DeleteMessageBatch(ctx, in)
	if err == nil && len(out.Failed) > 0 {
		err = fmt.Errorf("deleting: %s", aws.ToString(out.Failed[0].Message))
	}
	return err
}

// read reads the topic with the SDK, through a consumer of its own.
func (l *mixedLoad) read(ctx context.Context, consumer string) {
	led := newLedger("reader of "+l.topic, true)
	l.ledgers = append(l.ledgers, led)
	r := openReader(l.t, l.db, l.topic, consumer)
	l.reading.Go(func() {
		for n := 0; !l.through(led); n++ {
			call, cancel := context.WithTimeout(ctx, time.Second) // to see that it is through
			batch, err := r.ReadMessagesBatch(call)
			cancel()
			if err != nil {
				if ctx.Err() != nil {
					return
				}
				if call.Err() == nil {
					l.t.Errorf("%s: %v", led.name, err)
					return
				}
				continue
			}
			var got []string
			for _, m := range batch.Messages {
				body, err := io.ReadAll(m)
				if err != nil {
					l.t.Errorf("%s: %v", led.name, err)
					return
				}
				got = append(got, string(body))
			}
			led.take(strconv.Itoa(n), got)
			led.finish(got)
			if err := r.Commit(ctx, batch); err != nil && ctx.Err() == nil {
				l.t.Errorf("%s: committing: %v", led.name, err)
				return
			}
		}
	})
}

// through tells whether a side has had everything.
func (l *mixedLoad) through(led *ledger) bool {
	return l.finished.Load() && led.done() >= l.written.Load() || led.broken()
}

// wait returns when all is written and all sides are through, or nothing goes on.
func (l *mixedLoad) wait(cancel context.CancelFunc) {
	l.t.Helper()
	all := make(chan struct{})
	go func() {
		defer close(all)
		l.writing.Wait()
		l.finished.Store(true)
		l.reading.Wait()
	}()
	defer func() {
		cancel()
		<-all
		for _, led := range l.ledgers {
			led.report(l.t, l.written.Load())
		}
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, since := "", time.Now()
	for {
		select {
		case <-all:
			return
		case <-tick.C:
		}
		if now := l.progress(); now != last {
			last, since = now, time.Now()
		} else if time.Since(since) > loadFailure {
			l.t.Errorf("nothing for %v: %s", loadFailure, now)
			return
		}
	}
}

func (l *mixedLoad) progress() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d written", l.written.Load())
	for _, led := range l.ledgers {
		fmt.Fprintf(&b, ", %s has %d", led.name, led.done())
	}
	return b.String()
}
