package gateway

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"sqsgate/codec"
	"sqsgate/consumer"
	"sqsgate/gateway/api"
	"sqsgate/gateway/catalog"
	"sqsgate/partition"
)

// maxParsed bounds the cache of parsed queues.
const maxParsed = 10000

// queue is a queue of the catalogue with its attributes parsed. It is immutable.
type queue struct {
	catalog.Queue
	rules      api.SendRules
	delay      int // seconds
	visibility time.Duration
	wait       time.Duration
	spec       consumer.Spec
	// deadLetter is the target of the RedrivePolicy, and undirected the queue
	// without that policy: what counts while the target does not exist.
	deadLetter string
	undirected *queue
}

// now is the queue as it is at present: its messages stay, and go on being
// received, while there is nowhere to move them.
func (q *queue) now(c *catalog.Catalog) *queue {
	if q.undirected != nil && !c.Has(q.deadLetter) {
		return q.undirected
	}
	return q
}

// queues parses the attributes of queues, and remembers the result for as long
// as the catalogue hands out the same attributes.
type queues struct {
	opts Options

	mu     sync.RWMutex
	parsed map[string]*queue
}

func newQueues(opts Options) *queues {
	return &queues{opts: opts, parsed: map[string]*queue{}}
}

// get returns the queue of a name.
func (s *queues) get(ctx context.Context, name string) (*queue, error) {
	if !api.ValidName(name) {
		return nil, catalog.ErrNotFound
	}
	found, err := s.opts.Catalog.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	q := s.parsed[name]
	s.mu.RUnlock()
	if q != nil && q.same(&found) {
		return q.now(s.opts.Catalog), nil
	}
	q = s.parse(found)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.parsed) >= maxParsed {
		for other := range s.parsed {
			delete(s.parsed, other)
			break
		}
	}
	s.parsed[name] = q
	return q.now(s.opts.Catalog), nil
}

func (s *queues) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.parsed, name)
}

// same tells whether found is what q was parsed from. Maps of the catalogue are
// never changed, and q keeps its own alive: the same address is the same map.
func (q *queue) same(found *catalog.Queue) bool {
	return q.Incarnation == found.Incarnation && q.FIFO == found.FIFO && q.Topic == found.Topic && q.TopicCreated == found.TopicCreated &&
		q.Created == found.Created && q.Modified == found.Modified &&
		sameMap(q.Attributes, found.Attributes) && sameMap(q.Tags, found.Tags)
}

func sameMap(a, b map[string]string) bool {
	return len(a) == len(b) && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

func (s *queues) parse(found catalog.Queue) *queue {
	seconds := func(name string) time.Duration {
		return time.Duration(api.QueueInt(found.Attributes, name)) * time.Second
	}
	q := &queue{
		Queue: found,
		rules: api.SendRules{
			FIFO:         found.FIFO,
			ContentBased: api.QueueValue(found.Attributes, api.AttrContentBased) == "true",
			MaxBytes:     int(api.QueueInt(found.Attributes, api.AttrMaximumMessageSize)),
			ValidText:    codec.ValidBody,
		},
		delay:      int(api.QueueInt(found.Attributes, api.AttrDelaySeconds)),
		visibility: seconds(api.AttrVisibilityTimeout),
		wait:       seconds(api.AttrWait),
		spec: consumer.Spec{
			Topic: found.Topic, Consumer: found.Consumer, Incarnation: found.Incarnation, FIFO: found.FIFO,
			TopicCreated: found.TopicCreated,
			Settings: consumer.Settings{
				Delay:                 seconds(api.AttrDelaySeconds),
				Retention:             seconds(api.AttrRetention),
				SourceARN:             s.opts.arn(found.Name),
				DeduplicationPerGroup: found.DeduplicationScope == api.ScopeMessageGroup,
			},
		},
	}
	if policy, err := api.ParseRedrive(found.Attributes[api.AttrRedrivePolicy]); err == nil && policy.MaxReceive > 0 {
		if target := s.opts.nameOfARN(policy.TargetARN); target != "" {
			without := *q
			q.deadLetter, q.undirected = target, &without
			q.spec.Settings.MaxReceiveCount = policy.MaxReceive
			q.spec.Settings.DeadLetterTopic, q.spec.Settings.DeadLetterConsumer = s.topicOf(target)
			q.spec.Settings.DeadLetterTarget = consumer.TargetOf(target)
		}
	}
	return q
}

// Shared returns the shared consumer of a queue, for who moves its messages.
// Errors: catalog.ErrNotFound, catalog.ErrUnavailable.
func (s *Server) Shared(ctx context.Context, name string) (*consumer.Queue, error) {
	q, err := s.queues.get(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.opts.Consumer.Queue(q.spec), nil
}

// topicOf is the topic and the consumer of a queue that may not exist (any more).
func (s *queues) topicOf(name string) (topic, consumer string) {
	topic, consumer = api.SplitName(name)
	if consumer == "" {
		consumer = s.opts.DefaultConsumer
	}
	path := strings.TrimRight(s.opts.Database, "/") + "/"
	if s.opts.QueueRoot != "" {
		path += s.opts.QueueRoot + "/"
	}
	return path + topic, consumer
}

// usedQueue is queue for the actions that make a queue which is not there, where
// AutoCreateQueues is on.
func (s *Server) usedQueue(ctx context.Context, c *call, queueURL string) (*queue, error) {
	q, err := s.queue(ctx, c, queueURL)
	if err == nil || !s.opts.AutoCreateQueues || !errors.Is(err, catalog.ErrNotFound) {
		return q, err
	}
	name, err := s.nameOf(c.request, queueURL)
	if err != nil {
		return nil, err
	}
	return s.autoCreate(ctx, c, name)
}

// autoCreate makes a queue with the attributes of a new one; what cannot be the
// name of a queue to create does not exist.
func (s *Server) autoCreate(ctx context.Context, c *call, name string) (*queue, error) {
	r := api.CreateQueueRequest{QueueName: name}
	if api.IsFIFOName(name) {
		r.Attributes = map[string]string{api.AttrFifoQueue: "true"}
	}
	if _, err := checkNew(&r, api.IsFIFOName(name)); err != nil {
		return nil, catalog.ErrNotFound
	}
	if _, err := s.createQueue(ctx, c, &r); err != nil {
		return nil, err
	}
	return s.queues.get(ctx, name)
}

// queue returns the queue a request is for.
func (s *Server) queue(ctx context.Context, c *call, queueURL string) (*queue, error) {
	name, err := s.nameOf(c.request, queueURL)
	if err != nil {
		return nil, err
	}
	if err := s.mayUse(c, name); err != nil {
		return nil, err
	}
	q, err := s.queues.get(ctx, name)
	if err != nil {
		return nil, err
	}
	c.event.queue = q.Name
	return q, nil
}

// lost looks again for the queue of a request that found its topic or consumer gone,
// so that the catalogue knows at once. A queue that is there, because its topic was
// made again or its consumer supplied, is worth another try.
func (s *Server) lost(c *call, err error) error {
	name := c.event.queue
	if name == "" || !errors.Is(err, consumer.ErrQueueGone) && !errors.Is(err, partition.ErrTopicGone) {
		return err
	}
	switch _, checkErr := s.opts.Catalog.Check(s.deadlines[0].context(), name); {
	case checkErr == nil:
		return fmt.Errorf("%w: it was gone, and is there again", consumer.ErrUnavailable)
	case errors.Is(checkErr, catalog.ErrNotFound):
		s.queues.forget(name)
		return err
	default:
		return checkErr
	}
}
