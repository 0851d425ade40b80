package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	defaultConcurrency = 10
	defaultPrefetch    = 10
	defaultWait        = 20 * time.Second
	defaultStopTimeout = 30 * time.Second
	defaultRefresh     = time.Minute

	maxConcurrency = 10_000
	// maxLease is how long after its receive SQS hides a message at most.
	maxLease = 12 * time.Hour
	maxWait  = 20 * time.Second
	// maxBatch is SQS's bound of messages per receive and entries per batch.
	maxBatch = 10
)

// Handler works on one message and says what is to become of it. ctx ends when
// the lease is lost or the Worker stops; context.Cause tells which.
type Handler func(ctx context.Context, m Message) Outcome

// Options are the settings of a Worker. Client, QueueURL and Handler are
// required.
type Options struct {
	Client   SQS
	QueueURL string
	Handler  Handler

	// Concurrency is how many handlers run at once, 1-10000; 0 is 10. In a FIFO
	// queue they are of as many message groups.
	Concurrency int
	// Prefetch is how many messages (FIFO: message groups) are kept ready beyond
	// those in handlers. 0 is 10, or none if the queue has a redrive policy;
	// negative is none.
	Prefetch int
	// Receivers is how many ReceiveMessage calls wait at once; 0 is 1, or up to 4
	// where messages are taken one at a time.
	Receivers int
	// Visibility is the visibility timeout of a receive and of each renewal, whole
	// seconds, 1 s - 12 h. 0 is the queue's, or 30 s if that is 0.
	Visibility time.Duration
	// Wait is how long a receive waits for messages, whole seconds, 1-20 s; 0 is
	// 20 s.
	Wait time.Duration
	// StopTimeout is how long handlers may go on after Run was told to stop. 0 is
	// 30 s; negative cancels them at once. After 12 h, when every lease has ended,
	// they are cancelled anyway.
	StopTimeout time.Duration
	// Refresh is how often the queue's attributes are read again; 0 is 1 minute.
	Refresh time.Duration
	// Decode gives the bytes behind a body with a BodyEncoding, for
	// Message.Decode. nil is a codec.Decoder with its defaults; the method Decode
	// of another one brings other limits and codecs of one's own.
	Decode func(body, encoding string) ([]byte, error)

	Logger     *slog.Logger          // nil discards
	Registerer prometheus.Registerer // nil keeps no metrics
}

func (o Options) withDefaults() Options {
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.Wait == 0 {
		o.Wait = defaultWait
	}
	if o.StopTimeout == 0 {
		o.StopTimeout = defaultStopTimeout
	}
	if o.Refresh == 0 {
		o.Refresh = defaultRefresh
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Client == nil:
		return errors.New("worker: no Client")
	case o.QueueURL == "":
		return errors.New("worker: no QueueURL")
	case o.Handler == nil:
		return errors.New("worker: no Handler")
	case o.Concurrency < 1 || o.Concurrency > maxConcurrency:
		return fmt.Errorf("worker: Concurrency %d is not within 1 and %d", o.Concurrency, maxConcurrency)
	case o.Prefetch > maxConcurrency:
		return fmt.Errorf("worker: Prefetch %d is above %d", o.Prefetch, maxConcurrency)
	case o.Receivers < 0 || o.Receivers > o.Concurrency:
		return fmt.Errorf("worker: Receivers %d is not within 0 and Concurrency, %d", o.Receivers, o.Concurrency)
	case o.Visibility != 0 && (o.Visibility < time.Second || o.Visibility > maxLease || o.Visibility%time.Second != 0):
		return fmt.Errorf("worker: Visibility %s is not whole seconds, 1 s to 12 h", o.Visibility)
	case o.Wait < time.Second || o.Wait > maxWait || o.Wait%time.Second != 0:
		return fmt.Errorf("worker: Wait %s is not whole seconds, 1 s to 20 s", o.Wait)
	case o.Refresh < 0:
		return fmt.Errorf("worker: Refresh %s is negative", o.Refresh)
	}
	return nil
}

// queueName is the last part of the queue's URL, for logs and metrics.
func queueName(url string) string {
	return url[strings.LastIndexByte(url, '/')+1:]
}
