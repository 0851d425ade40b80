package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/durationpb"

	"sqsgate/internal/topicid"
	"sqsgate/internal/ydbstatus"
)

// CreateRequest asks for a queue. Attributes are canonical text and valid; those
// with an empty value count as not given.
type CreateRequest struct {
	Name       string
	FIFO       bool
	Attributes map[string]string
	Tags       map[string]string
}

// Create makes the queue, or returns the one that is there already (created
// false), whose attributes the caller compares. Of several requests for one name,
// anywhere, one creates and all get the same queue. Errors: ErrInvalidName,
// ErrRefused, ErrUnavailable, or the server's own.
func (c *Catalog) Create(ctx context.Context, req CreateRequest) (q Queue, created bool, err error) {
	name, topic, consumer, err := c.names.parse(req.Name)
	if err != nil {
		return Queue{}, false, err
	}
	attributes := maps.Clone(req.Attributes)
	maps.DeleteFunc(attributes, func(_, value string) bool { return value == "" })
	if _, err := settingsOf(attributes, c.opts.TopicRetention); err != nil {
		return Queue{}, false, err
	}
	if err := c.await(ctx); err != nil {
		return Queue{}, false, err
	}
	unlock, err := c.keys.lock(ctx, name)
	if err != nil {
		return Queue{}, false, unavailable(err)
	}
	defer unlock()
	for {
		e, created, done, err := c.tryCreate(ctx, record{
			Op: opCreate, Name: name, Incarnation: newIncarnation(), Time: time.Now().Unix(),
			FIFO: req.FIFO, Set: attributes, Tags: maps.Clone(req.Tags),
		}, topic, consumer)
		if err != nil {
			return Queue{}, false, fmt.Errorf("creating queue %s: %w", name, err)
		}
		if done {
			return e.Queue, created, nil
		}
	}
}

// tryCreate takes one step towards the queue of the record r; done says that it
// was the last one.
func (c *Catalog) tryCreate(ctx context.Context, r record, topic, consumer string) (e entry, created, done bool, err error) {
	if e, ok := c.leaving(r.Name); ok {
		return entry{}, false, false, c.finishDelete(ctx, e)
	}
	if e, ok := c.known(r.Name); ok {
		if !e.bound {
			e, err = c.materialize(ctx, e)
			return e, false, true, err
		}
		alive, err := c.verify(ctx, e)
		return e, false, alive, err
	}
	t, err := c.server.describe(ctx, topic)
	if err != nil {
		return entry{}, false, false, err
	}
	if consumerOf(t, consumer) != nil {
		// Others made it: a queue with default attributes.
		e, done, err = c.adopt(ctx, r.Name, topic, consumer)
		return e, false, done, err
	}
	o, err := c.write(ctx, r)
	if err != nil {
		return entry{}, false, false, err
	}
	switch o.verdict {
	case applied:
		e, err = c.materialize(ctx, o.entry)
		return e, true, true, err
	case exists, busy, absent, outdated:
	}
	return entry{}, false, false, nil
}

// adopt makes a queue of a topic that others created, if it has the consumer.
// Its existence is proof that no create record for it is still to come: topics
// follow their record, so the log has it before this one.
func (c *Catalog) adopt(ctx context.Context, name, topic, consumer string) (e entry, done bool, err error) {
	if _, ok := c.leaving(name); ok {
		return entry{}, false, ErrNotFound
	}
	t, err := c.server.describe(ctx, topic)
	if err != nil {
		return entry{}, false, err
	}
	if c := consumerOf(t, consumer); c == nil {
		return entry{}, false, ErrNotFound
	} else if shared(c) {
		return entry{}, false, &SharedConsumerError{Topic: topic, Consumer: consumer}
	}
	now := time.Now().Unix()
	if made := t.GetSelf().GetCreatedAt().GetPlanStep(); made > 0 {
		now = min(now, int64(made/1000))
	}
	o, err := c.write(ctx, record{
		Op: opCreate, Name: name, Incarnation: newIncarnation(), Time: now, FIFO: fifo(topic),
		Bound: true, TopicCreated: topicid.Of(t.GetSelf()),
	})
	if err != nil {
		return entry{}, false, err
	}
	switch o.verdict {
	case applied:
		// A deletion may have dropped the topic since it was described; its records
		// then lie before ours, so that looking again tells.
		alive, err := c.verify(ctx, o.entry)
		if err == nil && !alive {
			err = ErrNotFound
		}
		return o.entry, true, err
	case exists:
		if !o.entry.bound {
			e, err = c.materialize(ctx, o.entry)
			return e, true, err
		}
		return o.entry, true, nil
	case busy, absent, outdated:
	}
	return entry{}, false, ErrNotFound
}

// materialize makes the topic and the consumer of a queue that is in the log, and
// records that they exist. It may run anywhere and any number of times. Settings
// that the server refuses end the queue.
func (c *Catalog) materialize(ctx context.Context, e entry) (entry, error) {
	t, err := c.ensureTopic(ctx, e)
	if err != nil {
		if !refused(err) {
			return entry{}, err
		}
		if now, ok := c.known(e.Name); ok && !now.bound && now.Incarnation == e.Incarnation {
			if _, ferr := c.write(ctx, record{Op: opForget, Name: e.Name, Incarnation: e.Incarnation}); ferr != nil {
				return entry{}, ferr
			}
		}
		if errors.Is(err, ErrRefused) {
			return entry{}, err
		}
		return entry{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	o, err := c.write(ctx, record{
		Op: opBind, Name: e.Name, Incarnation: e.Incarnation, TopicCreated: topicid.Of(t.GetSelf()),
	})
	if err != nil {
		return entry{}, err
	}
	if o.verdict != applied {
		return entry{}, ErrNotFound // deleted in the meantime
	}
	return o.entry, nil
}

func (c *Catalog) ensureTopic(ctx context.Context, e entry) (*Ydb_Topic.DescribeTopicResult, error) {
	s, err := settingsOf(e.Attributes, c.opts.TopicRetention)
	if err != nil {
		return nil, err
	}
	t, err := c.server.describe(ctx, e.Topic)
	if err != nil {
		return nil, err
	}
	if t == nil {
		err := c.server.create(ctx, s.create(e.Topic, e.Consumer, true))
		if refused(err) {
			err = c.server.create(ctx, s.create(e.Topic, e.Consumer, false))
		}
		if err != nil {
			return nil, err
		}
		if t, err = c.server.describe(ctx, e.Topic); err != nil {
			return nil, err
		}
	}
	if shared(consumerOf(t, e.Consumer)) {
		return nil, &SharedConsumerError{Topic: e.Topic, Consumer: e.Consumer}
	}
	if t != nil && consumerOf(t, e.Consumer) == nil {
		// A topic of others: only what was asked for by name is changed on it.
		plain, _ := settingsOf(nil, c.opts.TopicRetention)
		plain.availability = s.availability
		if req := s.alter(plain, e.Topic, e.Consumer, false); req != nil {
			if err := c.server.alter(ctx, req); err != nil {
				return nil, err
			}
		}
		if err := c.addConsumer(ctx, e.Topic, e.Consumer, s); err != nil {
			return nil, err
		}
		if t, err = c.server.describe(ctx, e.Topic); err != nil {
			return nil, err
		}
	}
	if t == nil {
		return nil, unavailable(fmt.Errorf("topic %s is gone again", e.Topic))
	}
	return t, c.keepLongEnough(ctx, t, e, s)
}

// keepLongEnough raises the retention of the topic where the server keeps no
// availability period for the consumer, as older ones do not.
func (c *Catalog) keepLongEnough(ctx context.Context, t *Ydb_Topic.DescribeTopicResult, e entry, s settings) error {
	consumer := consumerOf(t, e.Consumer)
	if consumer == nil || consumer.GetImportant() || consumer.GetAvailabilityPeriod() != nil ||
		t.GetRetentionPeriod().AsDuration() >= s.availability {
		return nil
	}
	c.logger.LogAttrs(ctx, slog.LevelWarn, "server keeps no availability period, topic retention is raised",
		slog.String("topic", e.Topic), slog.Duration("retention", s.availability))
	return c.server.alter(ctx, &Ydb_Topic.AlterTopicRequest{
		Path: e.Topic, SetRetentionPeriod: durationpb.New(s.availability),
	})
}

// addConsumer is no error when the consumer is there already.
func (c *Catalog) addConsumer(ctx context.Context, topic, consumer string, s settings) error {
	err := c.alterConsumers(ctx, topic, s.consumer(consumer, true))
	if refused(err) { // the server may be too old for an availability period
		err = c.alterConsumers(ctx, topic, s.consumer(consumer, false))
	}
	return err
}

func (c *Catalog) alterConsumers(ctx context.Context, topic string, add *Ydb_Topic.Consumer) error {
	err := c.server.alter(ctx, &Ydb_Topic.AlterTopicRequest{Path: topic, AddConsumers: []*Ydb_Topic.Consumer{add}})
	if ydbstatus.Is(err, Ydb.StatusIds_ALREADY_EXISTS) {
		return nil
	}
	return err
}

// supply makes the consumer of a topic that others created, where that is wished. It
// is no error when there is no such topic.
func (c *Catalog) supply(ctx context.Context, name, topic, consumer string) error {
	if _, leaving := c.leaving(name); leaving || !c.opts.AutoCreateConsumer {
		return nil
	}
	t, err := c.server.describe(ctx, topic)
	if err != nil || t == nil || consumerOf(t, consumer) != nil {
		return err
	}
	s, err := settingsOf(nil, c.opts.TopicRetention)
	if err != nil {
		return err
	}
	err = c.addConsumer(ctx, topic, consumer, s)
	switch {
	case ydbstatus.Missing(err):
		return nil // the topic has gone
	case refused(err):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case err == nil:
		c.logger.LogAttrs(ctx, slog.LevelInfo, "consumer made", slog.String("topic", topic), slog.String("consumer", consumer))
	}
	return err
}

// newIncarnation is never zero.
func newIncarnation() uint64 { return rand.Uint64() | 1 }
