package catalog

import "errors"

var (
	// ErrNotFound says that there is no queue of this name.
	ErrNotFound = errors.New("queue does not exist")
	// ErrUnavailable says that the topic server or the catalogue could not be reached in
	// time. A change may have been made or not; the call may be repeated.
	ErrUnavailable = errors.New("catalogue is not available")
	// ErrInvalidName says that the name cannot be one of a topic and a consumer.
	ErrInvalidName = errors.New("queue name is not valid")
	// ErrRefused says that the topic server does not accept the settings that the
	// attributes ask for, or the path is taken by something else than a topic.
	ErrRefused = errors.New("topic settings are refused")
)

// Queue is one queue as of one moment. Its maps are shared: never change them.
type Queue struct {
	// Name as clients say it: "orders", "dir/orders@c", "a.fifo".
	Name string
	// Topic is the absolute path of the queue's topic.
	Topic string
	// Consumer is the queue's consumer on the topic.
	Consumer string
	// TopicCreated tells the topic from a later one at the same path; "" when the
	// server does not say.
	TopicCreated string
	FIFO         bool
	// Incarnation is random and new when the queue, or its topic, was made again.
	Incarnation uint64
	// DeduplicationScope of a FIFO queue is the one it was created with, "queue" or
	// "messageGroup". Setting the attribute later changes what is shown, and no
	// more: so AWS was seen to do it.
	DeduplicationScope string
	// Created and Modified are epoch seconds. Modified is the last change of
	// attributes.
	Created  int64
	Modified int64
	// Attributes as they were set, in canonical text; what was never set is not
	// there.
	Attributes map[string]string
	Tags       map[string]string
}
