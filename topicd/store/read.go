package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// get returns a copy of the value, or nil when the key is not there.
func (s *Store) get(key []byte) ([]byte, error) {
	value, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := append([]byte{}, value...)
	return out, closer.Close()
}

// numbers reads a small value: the version byte and n varints.
func numbers(key, value []byte, n int) ([]int64, error) {
	if len(value) == 0 || value[0] != FormatVersion {
		return nil, fmt.Errorf("value of key %x has an unknown version", key)
	}
	c := cursor{rest: value[1:]}
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(c.uvarint())
	}
	if c.err != nil {
		return nil, fmt.Errorf("value of key %x is too short", key)
	}
	return out, nil
}

// getNumbers returns nil when the key is not there.
func (s *Store) getNumbers(key []byte, n int) ([]int64, error) {
	value, err := s.get(key)
	if err != nil || value == nil {
		return nil, err
	}
	return numbers(key, value, n)
}

// Producer returns what is remembered of a producer on the partition; ok is
// false for an unknown one.
func (s *Store) Producer(topic uint64, part uint32, id string) (p Producer, ok bool, err error) {
	v, err := s.getNumbers(partitionKey(topic, kindProducer, part, id), 2)
	if err != nil {
		return Producer{}, false, fmt.Errorf("reading producer of topic %d partition %d: %w", topic, part, err)
	}
	if v == nil {
		return Producer{}, false, nil
	}
	return Producer{SeqNo: v[0], WriteMs: v[1]}, true, nil
}

// Choice returns the partition a producer id was bound to.
func (s *Store) Choice(topic uint64, producer string) (part uint32, ok bool, err error) {
	v, err := s.getNumbers(topicKey(topic, kindChoice, producer), 1)
	if err != nil {
		return 0, false, fmt.Errorf("reading producer's partition of topic %d: %w", topic, err)
	}
	if v == nil {
		return 0, false, nil
	}
	return uint32(v[0]), true, nil
}

// Counter returns the last number stored by PutCounter, 0 at first.
func (s *Store) Counter() (uint64, error) {
	v, err := s.getNumbers(counterKey(), 1)
	if err != nil || v == nil {
		return 0, err
	}
	return uint64(v[0]), nil
}

// scan calls f for each pair in [from, to); the slices are valid during the call.
func (s *Store) scan(from, to []byte, f func(key, value []byte) error) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		value, verr := it.ValueAndErr()
		if verr == nil {
			verr = f(it.Key(), value)
		}
		if verr != nil {
			return errors.Join(verr, it.Close())
		}
	}
	return errors.Join(it.Error(), it.Close())
}

// Entries calls f for every scheme entry in the order of paths.
func (s *Store) Entries(f func(path string, value []byte) error) error {
	return s.scan([]byte{spaceEntry}, []byte{spaceEntry + 1}, func(key, value []byte) error {
		return f(string(key[1:]), append([]byte{}, value...))
	})
}

// States returns the stored states of a topic's partitions. A partition that
// was never written to has none.
func (s *Store) States(topic uint64) (map[uint32]State, error) {
	states := make(map[uint32]State)
	from, to := kindSpan(topic, kindState)
	err := s.scan(from, to, func(key, value []byte) error {
		v, err := numbers(key, value, 5)
		if err != nil {
			return err
		}
		states[binary.BigEndian.Uint32(key[topicPrefixLen:])] = State{Start: v[0], End: v[1], WrittenMs: v[2], Bytes: v[3], Dropped: v[4]}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading partitions of topic %d: %w", topic, err)
	}
	return states, nil
}

// DedupIDs calls f for every deduplication id remembered of the partition.
func (s *Store) DedupIDs(topic uint64, part uint32, f func(id DedupID, ms int64)) error {
	err := s.scan(partitionKey(topic, kindDedup, part, ""), partitionKey(topic, kindDedup, part+1, ""), func(key, value []byte) error {
		v, err := numbers(key, value, 1)
		if err != nil {
			return err
		}
		var id DedupID
		if copy(id[:], key[partitionPrefixLen:]) != len(id) {
			return fmt.Errorf("key %x is too short", key)
		}
		f(id, v[0])
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading deduplication ids of topic %d partition %d: %w", topic, part, err)
	}
	return nil
}

// Mark says how many bytes of data a partition has before an offset.
type Mark struct{ Offset, Bytes int64 }

// Marks calls f for the marks of the partition with offsets in [from, to), in
// order, until it returns false.
func (s *Store) Marks(topic uint64, part uint32, from, to int64, f func(Mark) bool) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: markKey(topic, part, from), UpperBound: markKey(topic, part, to)})
	if err != nil {
		return fmt.Errorf("reading marks of topic %d partition %d: %w", topic, part, err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		var m Mark
		if m, err = readMark(it); err != nil || !f(m) {
			break
		}
	}
	if err = errors.Join(err, it.Error(), it.Close()); err != nil {
		return fmt.Errorf("reading marks of topic %d partition %d: %w", topic, part, err)
	}
	return nil
}

// LastMark returns the last mark of the partition with an offset of at most
// to; ok is false when there is none.
func (s *Store) LastMark(topic uint64, part uint32, to int64) (m Mark, ok bool, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: markKey(topic, part, 0), UpperBound: markKey(topic, part, to+1)})
	if err != nil {
		return m, false, fmt.Errorf("reading marks of topic %d partition %d: %w", topic, part, err)
	}
	if ok = it.Last(); ok {
		m, err = readMark(it)
	}
	if err = errors.Join(err, it.Error(), it.Close()); err != nil {
		return m, false, fmt.Errorf("reading marks of topic %d partition %d: %w", topic, part, err)
	}
	return m, ok, nil
}

func readMark(it *pebble.Iterator) (Mark, error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return Mark{}, err
	}
	v, err := numbers(it.Key(), value, 1)
	if err != nil {
		return Mark{}, err
	}
	return Mark{Offset: messageOffset(it.Key()), Bytes: v[0]}, nil
}

// Commits calls f for every committed offset of the topic.
func (s *Store) Commits(topic uint64, f func(part uint32, consumer string, offset int64)) error {
	from, to := kindSpan(topic, kindCommit)
	err := s.scan(from, to, func(key, value []byte) error {
		v, err := numbers(key, value, 1)
		if err != nil {
			return err
		}
		f(binary.BigEndian.Uint32(key[topicPrefixLen:]), string(key[partitionPrefixLen:]), v[0])
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading committed offsets of topic %d: %w", topic, err)
	}
	return nil
}

// Read appends to dst the messages with offsets in [from, to), in order, until
// about maxBytes of data are there; at least one if there is one.
func (s *Store) Read(dst []*Message, topic uint64, part uint32, from, to int64, maxBytes int) ([]*Message, error) {
	if from >= to {
		return dst, nil
	}
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: messageKey(topic, part, from),
		UpperBound: messageKey(topic, part, to),
	})
	if err != nil {
		return dst, fmt.Errorf("reading topic %d partition %d: %w", topic, part, err)
	}
	size := 0
	// Records of one read share their backing memory in chunks: fewer
	// allocations, and none that outlives the read by much.
	var block []byte
	var d decoder
	for ok := it.First(); ok && size < maxBytes; ok = it.Next() {
		value, verr := it.ValueAndErr()
		if verr != nil {
			err = verr
			break
		}
		if cap(block)-len(block) < len(value) {
			block = make([]byte, 0, max(len(value), min(64<<10, maxBytes-size)))
		}
		at := len(block)
		block = append(block, value...)
		var m *Message
		if m, err = d.decode(messageOffset(it.Key()), block[at:len(block):len(block)]); err != nil {
			err = fmt.Errorf("offset %d: %w", messageOffset(it.Key()), err)
			break
		}
		size += len(value)
		dst = append(dst, m)
	}
	if err = errors.Join(err, it.Error(), it.Close()); err != nil {
		return dst, fmt.Errorf("reading topic %d partition %d from %d: %w", topic, part, from, err)
	}
	return dst, nil
}

// Seek returns the first offset in [from, to) whose message was written at or
// after ms (Unix milliseconds), or to. Write times never fall in a partition,
// so it is a binary search.
func (s *Store) Seek(topic uint64, part uint32, from, to, ms int64) (int64, error) {
	for from < to {
		mid := from + (to-from)/2
		msgs, err := s.Read(nil, topic, part, mid, to, 1)
		if err != nil {
			return 0, err
		}
		switch {
		case len(msgs) == 0:
			to = mid
		case msgs[0].WrittenMs < ms:
			from = msgs[0].Offset + 1
		default:
			to = mid
		}
	}
	return from, nil
}
