package store

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
)

// Batch collects what the ops of one round write. It becomes durable as a
// whole or not at all. Its methods are called from Op.Apply only.
type Batch struct {
	b *pebble.Batch
	// states holds the last state of each partition in the round: a partition
	// that many ops write to is stored once.
	states map[stateKey]State
	// err is the first error of building the batch. Building fails only when a
	// batch outgrows 4 GiB, which the bounded queue excludes; the committer
	// treats it as a failed store.
	err error
	// freed is the size of what the round deletes, as far as the ops told.
	freed int64
}

func (b *Batch) set(key, value []byte) {
	if err := b.b.Set(key, value, nil); err != nil && b.err == nil {
		b.err = err
	}
}

func (b *Batch) keep(err error) {
	if err != nil && b.err == nil {
		b.err = err
	}
}

// PutMessage stores m at m.Offset of the partition.
func (b *Batch) PutMessage(topic uint64, part uint32, m *Message) {
	n := m.encodedLen()
	op := b.b.SetDeferred(messageKeyLen, n)
	putMessageKey(op.Key, topic, part, m.Offset)
	if got := len(m.appendTo(op.Value[:0])); got != n {
		panic("store: message record has another length than computed")
	}
	b.keep(op.Finish())
}

// Producer is what is remembered of a producer id on a partition.
type Producer struct {
	SeqNo   int64 // highest sequence number written
	WriteMs int64 // time of its last write, Unix milliseconds
}

// PutProducer stores the state of a producer on the partition.
func (b *Batch) PutProducer(topic uint64, part uint32, id string, p Producer) {
	value := []byte{FormatVersion}
	value = binary.AppendUvarint(value, uint64(p.SeqNo))
	value = binary.AppendUvarint(value, uint64(p.WriteMs))
	b.set(partitionKey(topic, kindProducer, part, id), value)
}

// State is the durable state of a partition.
type State struct {
	Start     int64 // first offset kept
	End       int64 // offset of the next message
	WrittenMs int64 // write time of the last message, Unix milliseconds
	Bytes     int64 // bytes of data ever written
	Dropped   int64 // bytes of data before Start
}

type stateKey struct {
	topic uint64
	part  uint32
}

// PutState stores the state of a partition; of several in one round the last.
func (b *Batch) PutState(topic uint64, part uint32, s State) {
	if b.states == nil {
		b.states = make(map[stateKey]State)
	}
	b.states[stateKey{topic, part}] = s
}

// finish writes what was held back for the end of the round.
func (b *Batch) finish() {
	for k, s := range b.states {
		b.putState(k.topic, k.part, s)
	}
}

func (b *Batch) putState(topic uint64, part uint32, s State) {
	value := []byte{FormatVersion}
	value = binary.AppendUvarint(value, uint64(s.Start))
	value = binary.AppendUvarint(value, uint64(s.End))
	value = binary.AppendUvarint(value, uint64(s.WrittenMs))
	value = binary.AppendUvarint(value, uint64(s.Bytes))
	value = binary.AppendUvarint(value, uint64(s.Dropped))
	b.set(partitionKey(topic, kindState, part, ""), value)
}

// PutMark remembers how many bytes of data the partition has before an
// offset. Marks are what finds an offset by size.
func (b *Batch) PutMark(topic uint64, part uint32, offset, bytes int64) {
	b.set(markKey(topic, part, offset), binary.AppendUvarint([]byte{FormatVersion}, uint64(bytes)))
}

// DeleteMessages removes messages and marks with offsets in [from, to), whose
// data has this many bytes, by range deletions.
func (b *Batch) DeleteMessages(topic uint64, part uint32, from, to, bytes int64) {
	b.keep(b.b.DeleteRange(messageKey(topic, part, from), messageKey(topic, part, to), nil))
	b.keep(b.b.DeleteRange(markKey(topic, part, 0), markKey(topic, part, to), nil))
	b.freed += bytes
}

// DedupID is the hash of a message's deduplication id.
type DedupID [16]byte

// PutDedup remembers that a message with the id was written at ms (Unix milliseconds).
func (b *Batch) PutDedup(topic uint64, part uint32, id DedupID, ms int64) {
	b.set(partitionKey(topic, kindDedup, part, string(id[:])), binary.AppendUvarint([]byte{FormatVersion}, uint64(ms)))
}

// DeleteDedup forgets the id.
func (b *Batch) DeleteDedup(topic uint64, part uint32, id DedupID) {
	b.keep(b.b.Delete(partitionKey(topic, kindDedup, part, string(id[:])), nil))
}

// PutCommit stores the committed offset of a consumer on the partition.
func (b *Batch) PutCommit(topic uint64, part uint32, consumer string, offset int64) {
	b.set(partitionKey(topic, kindCommit, part, consumer), binary.AppendUvarint([]byte{FormatVersion}, uint64(offset)))
}

// DeleteCommit forgets the committed offset of a consumer on the partition.
func (b *Batch) DeleteCommit(topic uint64, part uint32, consumer string) {
	b.keep(b.b.Delete(partitionKey(topic, kindCommit, part, consumer), nil))
}

// PutChoice remembers the partition a producer id was bound to.
func (b *Batch) PutChoice(topic uint64, producer string, part uint32) {
	b.set(topicKey(topic, kindChoice, producer), binary.AppendUvarint([]byte{FormatVersion}, uint64(part)))
}

// PutEntry stores a scheme entry under its path. The value is the caller's.
func (b *Batch) PutEntry(path string, value []byte) { b.set(entryKey(path), value) }

// DeleteEntry removes the scheme entry.
func (b *Batch) DeleteEntry(path string) { b.keep(b.b.Delete(entryKey(path), nil)) }

// PutCounter stores the last number given to a scheme entry.
func (b *Batch) PutCounter(n uint64) {
	b.set(counterKey(), binary.AppendUvarint([]byte{FormatVersion}, n))
}

// DropTopic removes everything kept for the topic by one range deletion; the
// space comes back with the next compactions.
func (b *Batch) DropTopic(topic uint64) {
	for k := range b.states {
		if k.topic == topic {
			delete(b.states, k)
		}
	}
	from, to := topicSpan(topic)
	b.keep(b.b.DeleteRange(from, to, nil))
}
