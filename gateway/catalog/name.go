package catalog

import (
	"fmt"
	"path"
	"strings"
)

const (
	fifoSuffix = ".fifo"
	// maxPart is YDB's limit for one part of a path.
	maxPart = 255
)

// names translates between queue names and topics.
type names struct {
	root     string // absolute path of the directory of the topics
	state    string // absolute path of the state root, which holds no queues
	consumer string // consumer of queues that name none
}

// parse returns the canonical form of a queue name, its topic and its consumer.
// "orders@ydb-sqs-consumer" is "orders" when that is the default consumer.
func (n names) parse(name string) (canonical, topic, consumer string, err error) {
	canonical, consumer = name, n.consumer
	if at := strings.LastIndexByte(name, '@'); at >= 0 {
		canonical, consumer = name[:at], name[at+1:]
	}
	if !validPart(consumer) {
		return "", "", "", fmt.Errorf("%w: consumer of %q", ErrInvalidName, name)
	}
	for part := range strings.SplitSeq(canonical, "/") {
		if !validPart(part) || part[0] == '.' {
			return "", "", "", fmt.Errorf("%w: %q", ErrInvalidName, name)
		}
	}
	topic = path.Join(n.root, canonical)
	if within(topic, n.state) {
		return "", "", "", fmt.Errorf("%w: %q lies in the state directory", ErrInvalidName, name)
	}
	if consumer != n.consumer {
		canonical += "@" + consumer
	}
	return canonical, topic, consumer, nil
}

// name returns the queue name of a topic's default consumer.
func (n names) name(topic string) string {
	return strings.TrimPrefix(strings.TrimPrefix(topic, n.root), "/")
}

// fifo reports whether a queue that nobody declared is a FIFO queue.
func fifo(topic string) bool { return strings.HasSuffix(topic, fifoSuffix) }

// within reports whether p is dir or lies below it.
func within(p, dir string) bool {
	rest, ok := strings.CutPrefix(p, dir)
	return ok && (rest == "" || rest[0] == '/')
}

// validPart checks the characters YDB allows in path parts; consumers use the
// same ones.
func validPart(part string) bool {
	if part == "" || part == "." || part == ".." || len(part) > maxPart {
		return false
	}
	for _, c := range []byte(part) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
