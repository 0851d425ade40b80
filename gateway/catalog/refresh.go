package catalog

import (
	"context"
	"errors"
	"log/slog"
	"path"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"

	"sqsgate/internal/topicid"
)

const (
	walkTimeout = time.Minute
	// halfMade is how long a queue may be without a topic before somebody else
	// than its creator makes it.
	halfMade = time.Minute
	// maxRest is how many walks a topic without the consumer is left alone, at
	// most, before it is described again.
	maxRest = 32
)

// walker looks for topics that others made or dropped.
type walker struct {
	c     *Catalog
	walks int
	// plain remembers the topics that are no queues, so that a database full of
	// other topics is not described again in every walk. It holds no topic that
	// the last walk did not see.
	plain map[string]resting
}

type resting struct {
	identity string
	until    int // the walk that looks again
	rest     int
}

// refresh walks the queue root until ctx ends, at once and then every
// RefreshInterval.
func (c *Catalog) refresh(ctx context.Context) {
	if c.await(ctx) != nil {
		return
	}
	w := walker{c: c, plain: map[string]resting{}}
	ticker := time.NewTicker(c.opts.RefreshInterval)
	defer ticker.Stop()
	for {
		if err := w.walk(ctx); err != nil && ctx.Err() == nil {
			c.metrics.failures.Inc()
			c.logger.LogAttrs(ctx, slog.LevelWarn, "looking for new topics failed", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (w *walker) walk(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, walkTimeout)
	defer cancel()
	w.walks++
	topics, err := w.topics(ctx)
	if err != nil {
		return err
	}
	return errors.Join(w.finishDeletes(ctx), w.checkKnown(ctx, topics), w.adoptNew(ctx, topics))
}

// topics lists every topic below the queue root, with its identity where the
// listing tells it.
func (w *walker) topics(ctx context.Context) (map[string]string, error) {
	topics := map[string]string{}
	dirs := []string{w.c.names.root}
	for len(dirs) > 0 {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		children, err := w.c.server.list(ctx, dir)
		if err != nil {
			return nil, err
		}
		for _, child := range children {
			p := path.Join(dir, child.GetName())
			if hidden(child.GetName()) || within(p, w.c.names.state) {
				continue
			}
			switch child.GetType() { //nolint:exhaustive // every other kind holds no topics
			case Ydb_Scheme.Entry_DIRECTORY:
				dirs = append(dirs, p)
			case Ydb_Scheme.Entry_TOPIC, Ydb_Scheme.Entry_PERS_QUEUE_GROUP:
				topics[p] = topicid.Of(child)
			}
		}
	}
	return topics, nil
}

func (w *walker) finishDeletes(ctx context.Context) (failed error) {
	w.c.mu.RLock()
	var left []string
	for name := range w.c.state.deleting {
		left = append(left, name)
	}
	w.c.mu.RUnlock()
	for _, name := range left {
		err := w.locked(ctx, name, func() error {
			if e, ok := w.c.leaving(name); ok {
				return w.c.finishDelete(ctx, e)
			}
			return nil
		})
		if failed = first(failed, err); ctx.Err() != nil {
			break
		}
	}
	return failed
}

// first keeps the first error: one queue's trouble does not keep the walk from
// the others, and one line in the log is enough.
func first(failed, err error) error {
	if failed == nil && !gone(err) {
		return err
	}
	return failed
}

// checkKnown forgets queues whose topic is gone or another one, and finishes
// those that were left half made.
func (w *walker) checkKnown(ctx context.Context, topics map[string]string) (failed error) {
	w.c.mu.RLock()
	var doubtful []string
	for name, e := range w.c.state.queues {
		identity, listed := topics[e.Topic]
		if !e.bound || !listed || !topicid.Same(identity, e.TopicCreated) {
			doubtful = append(doubtful, name)
		}
	}
	w.c.mu.RUnlock()
	for _, name := range doubtful {
		err := w.locked(ctx, name, func() error {
			e, ok := w.c.known(name)
			switch {
			case !ok:
				return nil
			case e.bound:
				_, err := w.c.verify(ctx, e)
				return err
			case time.Since(time.Unix(e.Created, 0)) < halfMade:
				return nil
			default:
				_, err := w.c.materialize(ctx, e)
				return err
			}
		})
		if failed = first(failed, err); ctx.Err() != nil {
			break
		}
	}
	return failed
}

// adoptNew makes queues of topics that have the default consumer.
func (w *walker) adoptNew(ctx context.Context, topics map[string]string) (failed error) {
	for topic := range w.plain {
		if _, ok := topics[topic]; !ok {
			delete(w.plain, topic)
		}
	}
	for topic, identity := range topics {
		before, ok := w.plain[topic]
		if ok && before.identity == identity && w.walks < before.until {
			continue
		}
		name, parsed, consumer, err := w.c.names.parse(w.c.names.name(topic))
		if err != nil || parsed != topic {
			continue // its name cannot be a queue's
		}
		if _, ok := w.c.known(name); ok {
			continue
		}
		err = w.locked(ctx, name, func() error {
			if _, ok := w.c.known(name); ok {
				return nil
			}
			_, _, err := w.c.adopt(ctx, name, topic, consumer)
			return err
		})
		switch {
		case gone(err):
			rest := min(max(1, 2*before.rest), maxRest)
			w.plain[topic] = resting{identity: identity, until: w.walks + rest, rest: rest}
		case err == nil:
			delete(w.plain, topic)
		}
		if failed = first(failed, err); ctx.Err() != nil {
			break
		}
	}
	return failed
}

func (w *walker) locked(ctx context.Context, name string, f func() error) error {
	unlock, err := w.c.keys.lock(ctx, name)
	if err != nil {
		return unavailable(err)
	}
	defer unlock()
	return f()
}
