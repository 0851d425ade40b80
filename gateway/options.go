package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sqsgate/codec"
	"sqsgate/consumer"
	"sqsgate/gateway/catalog"
	"sqsgate/gateway/movetask"
	"sqsgate/gateway/sigv4"
	"sqsgate/partition"
)

// Options of a Server. Catalog, Consumer and Pool are required.
type Options struct {
	Catalog  *catalog.Catalog
	Consumer *consumer.Consumer
	Pool     *partition.Pool
	// Auth verifies who sends a request, and with it what they may do; nil lets
	// everybody do everything.
	Auth *sigv4.Verifier
	// Encodings names the codecs of message bodies.
	Encodings codec.Encodings

	// MoveTasks runs the tasks of StartMessageMoveTask; without it that action and
	// its two sisters answer UnsupportedOperation.
	MoveTasks *movetask.Runner

	// Database is the absolute path of the database; default "/local".
	Database string
	// QueueRoot is the directory of the queues' topics below the database, and
	// DefaultConsumer their consumer, as the catalogue has them: both are needed
	// to read native queue URLs only. Defaults "" and "ydb-sqs-consumer".
	QueueRoot       string
	DefaultConsumer string

	// Region and Account are those of ARNs and queue URLs. Defaults "us-east-1"
	// and "000000000000".
	Region  string
	Account string
	// PublicURL is the front of queue URLs, "https://sqs.example.org"; by default
	// it comes from each request's Host and X-Forwarded headers.
	PublicURL string

	// RequestTimeout bounds the work of a request, beside the wait of a long
	// poll; default 20 s.
	RequestTimeout time.Duration
	// PurgeCooldown is how long after a PurgeQueue the next one of the same queue
	// is refused, and DeleteCooldown how long after a DeleteQueue its name cannot
	// be created again. AWS has 60 s for both; 0 = none. Each gateway counts for
	// itself.
	PurgeCooldown  time.Duration
	DeleteCooldown time.Duration
	// AutoCreateQueues makes the queue that SendMessage, its batch, ReceiveMessage
	// or GetQueueUrl name when it is not there, and its name can be a queue's.
	AutoCreateQueues bool
	// MaxInFlight bounds the requests at work, waiting long polls included;
	// default 20,000. More are answered with ServiceUnavailable.
	MaxInFlight int
	// MaxInFlightBytes bounds the bodies of requests at work; default 256 MiB.
	MaxInFlightBytes int64

	// Logger; nil discards.
	Logger *slog.Logger
	// Registerer of the metrics; nil keeps them unregistered.
	Registerer prometheus.Registerer
	// Now is the clock of cooldowns and durations; default time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	set := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	set(&o.Database, "/local")
	set(&o.DefaultConsumer, "ydb-sqs-consumer")
	set(&o.Region, "us-east-1")
	set(&o.Account, "000000000000")
	o.QueueRoot = strings.Trim(o.QueueRoot, "/")
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	if o.RequestTimeout == 0 {
		o.RequestTimeout = 20 * time.Second
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = 20000
	}
	if o.MaxInFlightBytes == 0 {
		o.MaxInFlightBytes = 256 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func (o Options) validate() error {
	if o.Catalog == nil || o.Consumer == nil || o.Pool == nil {
		return errors.New("gateway: catalog, consumer and pool are required")
	}
	if !strings.HasPrefix(o.Database, "/") {
		return fmt.Errorf("gateway: database %q is not an absolute path", o.Database)
	}
	if !isAccount(o.Account) {
		return fmt.Errorf("gateway: account %q is not 12 digits", o.Account)
	}
	if o.PublicURL != "" {
		u, err := url.Parse(o.PublicURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("gateway: public URL %q is not http[s]://host[:port][/path]", o.PublicURL)
		}
	}
	if o.RequestTimeout < 0 || o.PurgeCooldown < 0 || o.DeleteCooldown < 0 || o.MaxInFlight < 0 || o.MaxInFlightBytes < maxBody {
		return fmt.Errorf("gateway: a timeout or limit is out of range (in-flight bytes are at least %d)", maxBody)
	}
	return nil
}
