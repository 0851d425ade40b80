package catalog

import (
	"errors"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
)

// Options of a Catalog. Topics and Scheme are required.
type Options struct {
	Topics Ydb_Topic_V1.TopicServiceClient
	Scheme Ydb_Scheme_V1.SchemeServiceClient
	// Database is the absolute path of the database; default "/local".
	Database string
	// QueueRoot is the directory of the topics, relative to Database; default the
	// database itself.
	QueueRoot string
	// StateRoot is the directory of the gateway's own topics, relative to
	// Database; default "sqsgate". No queue lies in it.
	StateRoot string
	// Consumer of queues whose name has no "@"; default "ydb-sqs-consumer".
	Consumer string
	// TopicRetention is how long the topics of new queues keep messages that the
	// queue has finished; default 24 h. Whole seconds.
	TopicRetention time.Duration
	// RefreshInterval is how often topics made or dropped by others are looked
	// for; default 30 s.
	RefreshInterval time.Duration
	// SnapshotAfter is how many records are read before a snapshot is tried;
	// default 1000.
	SnapshotAfter int
	// OnChange, if set, is told of every queue that came, changed (deleted false)
	// or went (deleted true), in log order. It is called by the tail goroutine: it
	// must return soon and not call methods that change queues.
	OnChange func(q Queue, deleted bool)

	// OnForgotten, if set, is told of a queue that this gateway has found without its
	// topic, or a consumer it can use, though nobody deleted it: what else belongs to
	// it may go. Not of one whose topic was made again, which may be in use by now. It
	// must return soon.
	OnForgotten func(q Queue)
	// AutoCreateConsumer has Get make the consumer of a queue whose topic is there
	// without it.
	AutoCreateConsumer bool

	Logger     *slog.Logger          // nil = discard
	Registerer prometheus.Registerer // nil = no metrics are exported
}

func (o Options) withDefaults() Options {
	if o.Database == "" {
		o.Database = "/local"
	}
	if o.StateRoot == "" {
		o.StateRoot = "sqsgate"
	}
	if o.Consumer == "" {
		o.Consumer = "ydb-sqs-consumer"
	}
	if o.TopicRetention == 0 {
		o.TopicRetention = 24 * time.Hour
	}
	if o.RefreshInterval == 0 {
		o.RefreshInterval = 30 * time.Second
	}
	if o.SnapshotAfter == 0 {
		o.SnapshotAfter = 1000
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Topics == nil || o.Scheme == nil:
		return errors.New("catalog: Topics and Scheme are required")
	case !strings.HasPrefix(o.Database, "/"):
		return errors.New("catalog: Database must be an absolute path")
	case !validPart(o.Consumer):
		return errors.New("catalog: Consumer is not a valid name")
	case o.TopicRetention < time.Second:
		return errors.New("catalog: TopicRetention must be at least a second")
	case o.RefreshInterval < 0 || o.SnapshotAfter < 0:
		return errors.New("catalog: RefreshInterval and SnapshotAfter must be positive")
	}
	for _, dir := range []string{o.QueueRoot, o.StateRoot} {
		if dir == "" {
			continue
		}
		for part := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
			if !validPart(part) {
				return errors.New("catalog: QueueRoot and StateRoot must be relative paths of [A-Za-z0-9._-]")
			}
		}
	}
	if n := o.names(); within(n.root, n.state) {
		return errors.New("catalog: QueueRoot must not lie in StateRoot")
	}
	return nil
}

func (o Options) names() names {
	return names{
		root:     path.Join(o.Database, o.QueueRoot),
		state:    path.Join(o.Database, o.StateRoot),
		consumer: o.Consumer,
	}
}
