package sqs

import (
	"fmt"
	"strconv"
	"time"
)

// Outgoing is a message to send. Body, Group and Deduplication must need no
// escape in JSON: the load makes them itself. Empty ones are left out.
type Outgoing struct {
	Body          []byte
	Group         []byte
	Deduplication []byte
}

// Incoming is a received message; its slices are valid until the next call.
type Incoming struct {
	Receipt []byte
	Body    []byte
}

// Refusal is an entry of a batch that failed.
type Refusal struct {
	Index       int
	Code        string
	SenderFault bool // the server knows that it did nothing
}

// Queue is an address in the form that goes into every request.
type Queue struct {
	URL    string
	prefix []byte // {"QueueUrl":"..."
}

// NewQueue prepares a queue's URL.
func NewQueue(url string) Queue {
	return Queue{URL: url, prefix: strconv.AppendQuote([]byte(`{"QueueUrl":`), url)}
}

// Send sends one message. A nil error means that the server has answered for it.
func (c *Conn) Send(q Queue, m Outgoing) error {
	c.payload = append(append(c.payload[:0], q.prefix...), ',')
	c.payload = append(appendMessage(c.payload, m), '}')
	_, err := c.call("SendMessage", 0)
	return err
}

// SendBatch sends up to ten messages and returns those that were refused; the
// rest was answered for. With an error nothing is known of any.
func (c *Conn) SendBatch(q Queue, messages []Outgoing) ([]Refusal, error) {
	b := append(append(c.payload[:0], q.prefix...), `,"Entries":[`...)
	for i, m := range messages {
		b = append(b, `{"Id":"`...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, `",`...)
		b = append(appendMessage(b, m), "},"...)
	}
	b[len(b)-1] = ']' // in place of the last comma
	c.payload = append(b, '}')
	answer, err := c.call("SendMessageBatch", 0)
	if err != nil {
		return nil, err
	}
	return batch(answer, len(messages))
}

func appendMessage(b []byte, m Outgoing) []byte {
	if len(m.Group) > 0 {
		b = append(append(append(b, `"MessageGroupId":"`...), m.Group...), `",`...)
	}
	if len(m.Deduplication) > 0 {
		b = append(append(append(b, `"MessageDeduplicationId":"`...), m.Deduplication...), `",`...)
	}
	return append(append(append(b, `"MessageBody":"`...), m.Body...), '"')
}

// Receive takes up to limit messages and waits up to wait, in whole seconds,
// for the first. The messages are appended to into.
func (c *Conn) Receive(q Queue, limit int, wait time.Duration, into []Incoming) ([]Incoming, error) {
	b := append(append(c.payload[:0], q.prefix...), `,"MaxNumberOfMessages":`...)
	b = strconv.AppendInt(b, int64(limit), 10)
	b = append(b, `,"WaitTimeSeconds":`...)
	b = strconv.AppendInt(b, int64(wait/time.Second), 10)
	c.payload = append(b, '}')
	answer, err := c.call("ReceiveMessage", wait)
	if err != nil {
		return into, err
	}
	in := scanner{data: answer}
	in.object(func(key []byte) {
		if string(key) != "Messages" || in.next() != '[' {
			in.skip()
			return
		}
		in.array(func() { into = append(into, message(&in)) })
	})
	if in.failed {
		return into, fmt.Errorf("%w to ReceiveMessage", ErrAnswer)
	}
	return into, nil
}

func message(in *scanner) (m Incoming) {
	in.object(func(key []byte) {
		switch string(key) {
		case "ReceiptHandle":
			m.Receipt = in.text()
		case "Body":
			m.Body = in.text()
		default:
			in.skip()
		}
	})
	return m
}

// Delete deletes one message.
func (c *Conn) Delete(q Queue, receipt []byte) error {
	b := append(append(c.payload[:0], q.prefix...), `,"ReceiptHandle":"`...)
	c.payload = append(append(b, receipt...), `"}`...)
	_, err := c.call("DeleteMessage", 0)
	return err
}

// DeleteBatch deletes up to ten messages and returns those that were refused.
// With an error nothing is known of any.
func (c *Conn) DeleteBatch(q Queue, messages []Incoming) ([]Refusal, error) {
	b := append(append(c.payload[:0], q.prefix...), `,"Entries":[`...)
	for i, m := range messages {
		b = append(b, `{"Id":"`...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, `","ReceiptHandle":"`...)
		b = append(append(b, m.Receipt...), `"},`...)
	}
	b[len(b)-1] = ']' // in place of the last comma
	c.payload = append(b, '}')
	answer, err := c.call("DeleteMessageBatch", 0)
	if err != nil {
		return nil, err
	}
	return batch(answer, len(messages))
}

// batch reads the answer to a batch of n entries. An entry that is in neither
// list makes the whole answer malformed.
func batch(answer []byte, n int) (refused []Refusal, err error) {
	in := scanner{data: answer}
	done := 0
	in.object(func(key []byte) {
		switch {
		case in.next() != '[': // null
			in.skip()
		case string(key) == "Successful":
			in.array(func() {
				done++
				in.skip()
			})
		case string(key) == "Failed":
			in.array(func() { refused = append(refused, refusal(&in)) })
		default:
			in.skip()
		}
	})
	if in.failed || done+len(refused) != n {
		return nil, fmt.Errorf("%w: a batch of %d has %d successful and %d failed entries", ErrAnswer, n, done, len(refused))
	}
	for _, r := range refused {
		if r.Index < 0 || r.Index >= n {
			return nil, fmt.Errorf("%w: a failed entry that was not sent", ErrAnswer)
		}
	}
	return refused, nil
}

func refusal(in *scanner) Refusal {
	r := Refusal{Index: -1}
	in.object(func(key []byte) {
		switch string(key) {
		case "Id":
			if i, err := strconv.Atoi(string(in.text())); err == nil {
				r.Index = i
			}
		case "Code":
			r.Code = string(in.text())
		case "SenderFault":
			r.SenderFault = in.next() == 't'
			in.skip()
		default:
			in.skip()
		}
	})
	return r
}
