package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// SetAttributes changes attributes of the queue; an empty value removes one. The
// topic is altered first where it is concerned, so that settings the server does
// not accept are not recorded. Errors as of Get, and ErrRefused.
func (c *Catalog) SetAttributes(ctx context.Context, name string, set map[string]string) (Queue, error) {
	return c.Update(ctx, name, func(Queue) (map[string]string, error) { return set, nil })
}

// Update is SetAttributes with values that depend on the present ones: change is
// given the queue and returns what to set, nothing if it is empty. No other change
// of this gateway comes between; one of another gateway can. Errors as of
// SetAttributes, or change's own.
func (c *Catalog) Update(ctx context.Context, name string, change func(Queue) (map[string]string, error)) (Queue, error) {
	e, err := c.get(ctx, name)
	if err != nil {
		return Queue{}, err
	}
	unlock, err := c.keys.lock(ctx, e.Name)
	if err != nil {
		return Queue{}, unavailable(err)
	}
	defer unlock()
	e, ok := c.known(e.Name)
	if !ok {
		return Queue{}, fmt.Errorf("setting attributes of queue %s: %w", name, ErrNotFound)
	}
	set, err := change(e.Queue)
	if err != nil || len(set) == 0 {
		return e.Queue, err
	}
	if e, err = c.setAttributes(ctx, e, set); err != nil {
		return Queue{}, fmt.Errorf("setting attributes of queue %s: %w", name, err)
	}
	return e.Queue, nil
}

func (c *Catalog) setAttributes(ctx context.Context, e entry, set map[string]string) (entry, error) {
	values := map[string]string{}
	var remove []string
	for key, value := range set {
		if value == "" {
			remove = append(remove, key)
		} else {
			values[key] = value
		}
	}
	slices.Sort(remove)
	wanted := merged(e.Attributes, values, remove)
	if err := c.conform(ctx, e, e.Attributes, wanted); err != nil {
		return entry{}, err
	}
	o, err := c.write(ctx, record{
		Op: opSet, Name: e.Name, Incarnation: e.Incarnation, Time: time.Now().Unix(), Set: values, Remove: remove,
	})
	if err != nil {
		return entry{}, err
	}
	if o.verdict != applied {
		return entry{}, ErrNotFound
	}
	// Another gateway's change may lie between; the topic follows the log.
	return o.entry, c.conform(ctx, o.entry, wanted, o.entry.Attributes)
}

// conform alters the queue's topic from what the attributes had ask of it to what
// want asks.
func (c *Catalog) conform(ctx context.Context, e entry, had, want map[string]string) error {
	if maps.Equal(had, want) {
		return nil
	}
	before, err := settingsOf(had, c.opts.TopicRetention)
	if err != nil {
		return err
	}
	after, err := settingsOf(want, c.opts.TopicRetention)
	if err != nil {
		return err
	}
	if before == after {
		return nil
	}
	t, err := c.server.describe(ctx, e.Topic)
	if err != nil {
		return err
	}
	consumer := consumerOf(t, e.Consumer)
	if consumer == nil {
		return ErrNotFound
	}
	req := after.alter(before, e.Topic, e.Consumer, consumer.GetImportant())
	if req == nil {
		return nil
	}
	err = c.server.alter(ctx, req)
	if refused(err) && req.AlterConsumers != nil {
		// Perhaps only the availability period is unknown here.
		without := after
		without.availability = before.availability
		err = nil
		if req := without.alter(before, e.Topic, e.Consumer, true); req != nil {
			err = c.server.alter(ctx, req)
		}
	}
	if refused(err) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err != nil || after.availability == before.availability {
		return err
	}
	if t, err = c.server.describe(ctx, e.Topic); err != nil || t == nil {
		return err
	}
	return c.keepLongEnough(ctx, t, e, after)
}

// SetTags sets and removes tags of the queue. Errors as of Get.
func (c *Catalog) SetTags(ctx context.Context, name string, set map[string]string, remove []string) (Queue, error) {
	e, err := c.get(ctx, name)
	if err != nil {
		return Queue{}, err
	}
	o, err := c.write(ctx, record{
		Op: opTag, Name: e.Name, Incarnation: e.Incarnation, Set: maps.Clone(set), Remove: slices.Clone(remove),
	})
	if err == nil && o.verdict != applied {
		err = ErrNotFound
	}
	if err != nil {
		return Queue{}, fmt.Errorf("setting tags of queue %s: %w", name, err)
	}
	return o.entry.Queue, nil
}
