package store

import (
	"encoding/binary"
	"math"
)

// FormatVersion is the version of keys and values that this package writes.
const FormatVersion = 1

// Key spaces; the drawing is in FORMAT.md.
const (
	spaceFormat  = 0x01
	spaceEntry   = 0x02
	spaceCounter = 0x03
	spaceTopic   = 0x10
)

// Kinds of keys below one topic.
const (
	kindMessage  = 0x01
	kindProducer = 0x02
	kindState    = 0x03
	kindCommit   = 0x04
	kindChoice   = 0x05
	kindMark     = 0x06
	kindDedup    = 0x07
)

const (
	topicPrefixLen     = 1 + 8 + 1
	partitionPrefixLen = topicPrefixLen + 4
	messageKeyLen      = partitionPrefixLen + 8
)

func formatKey() []byte  { return []byte{spaceFormat} }
func counterKey() []byte { return []byte{spaceCounter} }

func entryKey(path string) []byte {
	return append([]byte{spaceEntry}, path...)
}

func putTopicPrefix(dst []byte, topic uint64, kind byte) {
	dst[0] = spaceTopic
	binary.BigEndian.PutUint64(dst[1:], topic)
	dst[9] = kind
}

func topicKey(topic uint64, kind byte, suffix string) []byte {
	key := make([]byte, topicPrefixLen, topicPrefixLen+len(suffix))
	putTopicPrefix(key, topic, kind)
	return append(key, suffix...)
}

func partitionKey(topic uint64, kind byte, part uint32, suffix string) []byte {
	key := make([]byte, partitionPrefixLen, partitionPrefixLen+len(suffix))
	putTopicPrefix(key, topic, kind)
	binary.BigEndian.PutUint32(key[topicPrefixLen:], part)
	return append(key, suffix...)
}

func putMessageKey(dst []byte, topic uint64, part uint32, offset int64) {
	putTopicPrefix(dst, topic, kindMessage)
	binary.BigEndian.PutUint32(dst[topicPrefixLen:], part)
	binary.BigEndian.PutUint64(dst[partitionPrefixLen:], uint64(offset))
}

func messageKey(topic uint64, part uint32, offset int64) []byte {
	key := make([]byte, messageKeyLen)
	putMessageKey(key, topic, part, offset)
	return key
}

func markKey(topic uint64, part uint32, offset int64) []byte {
	key := messageKey(topic, part, offset)
	key[9] = kindMark
	return key
}

func messageOffset(key []byte) int64 {
	return int64(binary.BigEndian.Uint64(key[partitionPrefixLen:]))
}

// topicSpan returns the bounds of everything kept for one topic.
func topicSpan(topic uint64) (from, to []byte) {
	from = make([]byte, 9)
	from[0] = spaceTopic
	binary.BigEndian.PutUint64(from[1:], topic)
	if topic == math.MaxUint64 {
		return from, []byte{spaceTopic + 1}
	}
	to = make([]byte, 9)
	to[0] = spaceTopic
	binary.BigEndian.PutUint64(to[1:], topic+1)
	return from, to
}

// kindSpan returns the bounds of one kind of keys of one topic.
func kindSpan(topic uint64, kind byte) (from, to []byte) {
	return topicKey(topic, kind, ""), topicKey(topic, kind+1, "")
}
