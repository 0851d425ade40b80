package worker_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"sqsgate/codec"
	"sqsgate/worker"
)

// A loop over a standard queue. In a program ctx comes from signal.NotifyContext:
// then an interrupt stops the loop gracefully.
func Example() {
	client, url, done := exampleQueue("orders", "book", "pen")
	defer done()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	orders := make(chan string, 2)
	w, err := worker.New(worker.Options{
		Client:   client, // *sqs.Client, made with config.LoadDefaultConfig
		QueueURL: url,
		Handler: func(_ context.Context, m worker.Message) worker.Outcome {
			orders <- m.Body
			return worker.Ack()
		},
		Concurrency: 4,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		a, b := <-orders, <-orders
		fmt.Println(min(a, b), max(a, b))
		stop()
	}()
	if err := w.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output: book pen
}

// Messages that a Topic API writer has compressed are decoded like all others. One
// that can never be decoded is dropped. To have it in the dead-letter queue instead,
// return Retry: after its last allowed receive it is there.
func ExampleMessage_Decode() {
	client, url, done := exampleQueue("events", gzipped(`{"kind":"created","id":7}`))
	defer done()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	w, err := worker.New(worker.Options{
		Client: client, QueueURL: url,
		Handler: func(_ context.Context, m worker.Message) worker.Outcome {
			data, err := m.Decode()
			if errors.Is(err, codec.ErrCorrupted) || errors.Is(err, codec.ErrTooLarge) {
				return worker.Drop()
			}
			if err != nil { // an encoding this program does not know, yet
				return worker.RetryAfter(10 * time.Minute)
			}
			var event struct{ Kind string }
			if json.Unmarshal(data, &event) != nil {
				return worker.Drop()
			}
			fmt.Println(m.BodyEncoding, event.Kind)
			stop()
			return worker.Ack()
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := w.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output: gzip created
}

// In a FIFO queue the messages of a group come one after the other. While one is
// to be tried again, its successors wait; other groups do not.
func Example_fifo() {
	client, url, done := exampleQueue("account.fifo", "open", "deposit", "close")
	defer done()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	w, err := worker.New(worker.Options{
		Client: client, QueueURL: url,
		Handler: func(_ context.Context, m worker.Message) worker.Outcome {
			fmt.Println(m.GroupID, m.Body)
			switch {
			case m.Body == "deposit" && m.ReceiveCount == 1:
				return worker.RetryAfter(time.Second)
			case m.Body == "close":
				stop()
			}
			return worker.Ack()
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := w.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// group open
	// group deposit
	// group deposit
	// group close
}

// gzipped is what a Topic API writer with codec gzip sends.
type gzipped string

func (g gzipped) record() (codec.Record, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(g))
	err = errors.Join(err, z.Close())
	return codec.Record{Codec: codec.Gzip, Data: b.Bytes()}, err
}

// exampleQueue starts a gateway in memory with a queue that holds messages: texts
// sent through SQS, and what a Topic API writer has compressed.
func exampleQueue(name string, messages ...any) (client *sqs.Client, url string, done func()) {
	s, closeAll, err := open(slog.New(slog.DiscardHandler))
	check(err)
	client, idle, _ := s.dial()
	ctx := context.Background()
	in := &sqs.CreateQueueInput{QueueName: &name}
	fifo := name == "account.fifo"
	if fifo {
		in.Attributes = map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"}
	}
	out, err := client.CreateQueue(ctx, in)
	check(err)
	for _, one := range messages {
		switch m := one.(type) {
		case gzipped:
			r, err := m.record()
			check(errors.Join(err, s.write(ctx, name, r)))
		case string:
			send := &sqs.SendMessageInput{QueueUrl: out.QueueUrl, MessageBody: &m}
			if fifo {
				send.MessageGroupId = aws.String("group")
			}
			_, err := client.SendMessage(ctx, send)
			check(err)
		}
	}
	return client, *out.QueueUrl, func() {
		idle()
		check(closeAll())
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
