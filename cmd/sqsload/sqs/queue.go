package sqs

import (
	"encoding/json"
	"fmt"
)

// CreateQueue makes a queue, or finds one with the same attributes.
func (c *Conn) CreateQueue(name string, attributes map[string]string) (Queue, error) {
	var out struct{ QueueUrl string }
	err := c.Call("CreateQueue", map[string]any{"QueueName": name, "Attributes": attributes}, &out)
	if err != nil {
		return Queue{}, fmt.Errorf("creating queue %s: %w", name, err)
	}
	return NewQueue(out.QueueUrl), nil
}

// DeleteQueue deletes a queue with everything in it.
func (c *Conn) DeleteQueue(q Queue) error {
	return c.Call("DeleteQueue", map[string]any{"QueueUrl": q.URL}, nil)
}

// Call does any action, at leisure. out may be nil.
func (c *Conn) Call(action string, parameters map[string]any, out any) error {
	payload, err := json.Marshal(parameters)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", action, err)
	}
	c.payload = append(c.payload[:0], payload...)
	answer, err := c.call(action, 0)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%w to %s: %w", ErrAnswer, action, err)
	}
	return nil
}
