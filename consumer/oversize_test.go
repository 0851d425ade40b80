package consumer_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sqsgate/codec"
	"sqsgate/consumer"
	"sqsgate/internal/logread"
	"sqsgate/internal/ydbstatus"
	"sqsgate/partition"
	"sqsgate/topicd"
)

const kib = 1 << 10

// put stores records of a writer with or without a producer id.
func (s *stack) put(path string, partition int64, producer string, records ...codec.Record) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	stream, err := s.conn.Topics().StreamWrite(ctx)
	s.must(err)
	next := func() {
		m, err := stream.Recv()
		if err == nil {
			err = ydbstatus.Check(m.GetStatus(), m.GetIssues())
		}
		s.must(err)
	}
	s.must(stream.Send(&Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_InitRequest{InitRequest: &Ydb_Topic.StreamWriteMessage_InitRequest{
			Path: path, ProducerId: producer,
			Partitioning: &Ydb_Topic.StreamWriteMessage_InitRequest_PartitionId{PartitionId: partition},
		}},
	}))
	next()
	for i, r := range records {
		data := &Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData{SeqNo: int64(i + 1), CreatedAt: timestamppb.Now(), Data: r.Data}
		for _, item := range r.Metadata {
			data.MetadataItems = append(data.MetadataItems, &Ydb_Topic.MetadataItem{Key: item.Key, Value: item.Value})
		}
		s.must(stream.Send(&Ydb_Topic.StreamWriteMessage_FromClient{
			ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{WriteRequest: &Ydb_Topic.StreamWriteMessage_WriteRequest{
				Codec: r.Codec, Messages: []*Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData{data},
			}},
		}))
		next()
	}
}

// text is a message of a letter.
func text(letter string, size int) codec.Record {
	return codec.Record{Codec: codec.Raw, Data: []byte(strings.Repeat(letter, size))}
}

func gzipped(size int) codec.Record {
	return codec.Record{Codec: codec.Gzip, Data: bytes.Repeat([]byte{0x1f}, size)}
}

// letters are what was received, # for compressed messages.
func letters(messages []consumer.Received) string {
	var b strings.Builder
	for _, m := range messages {
		if m.Record.Codec == codec.Raw {
			b.WriteByte(m.Record.Data[0])
		} else {
			b.WriteByte('#')
		}
	}
	return b.String()
}

// limited makes the answers of a stack small.
func limited(skip bool) func(*consumer.Options) {
	return func(o *consumer.Options) {
		o.MaxAnswerBytes, o.SkipOversized, o.Registerer = 64*kib, skip, prometheus.NewRegistry()
	}
}

// oversized takes what the consumer has counted so far; the next one counts anew.
func (s *stack) oversized() (skipped, moved int) {
	s.t.Helper()
	reg, ok := s.options.Registerer.(*prometheus.Registry)
	if !ok {
		s.t.Fatal("no registry")
	}
	s.options.Registerer = prometheus.NewRegistry()
	families, err := reg.Gather()
	s.must(err)
	for _, family := range families {
		if family.GetName() != "sqsgate_consumer_oversized_messages_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			switch m.GetLabel()[0].GetValue() {
			case "skipped":
				skipped = int(m.GetCounter().GetValue())
			case "dead_letter":
				moved = int(m.GetCounter().GetValue())
			}
		}
	}
	return skipped, moved
}

// read is all that a partition holds.
func (s *stack) read(path string, partition int64) []logread.Message {
	s.t.Helper()
	r, err := logread.Open(s.t.Context(), s.conn.Topics(), logread.Request{Path: path, Partition: partition, Credit: 1 << 20})
	s.must(err)
	defer r.Close()
	_, end := r.Bounds()
	var all []logread.Message
	for int64(len(all)) < end {
		messages, cost, err := r.Read()
		s.must(err)
		all = append(all, messages...)
		r.Grant(cost)
	}
	return all
}

// An answer ends before the message that would make it too large. One that is too
// large for every answer does not block those behind it, nor come back.
func TestAnswersAreBounded(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		bubble(t, 1, func(t *testing.T, s *stack) {
			s.put(topic, 0, "writer",
				text("a", kib), text("b", 30*kib), text("c", 30*kib), gzipped(40*kib), // 54 KiB as base64
				gzipped(60*kib), text("d", 61*kib), text("e", kib))
			q := s.c.Queue(spec(fifo))
			var got []string
			for range 6 {
				messages := s.receive(q, 2*time.Second)
				got = append(got, letters(messages))
				s.delete(q, messages...)
			}
			if want := []string{"ab", "c", "#e", "", "", ""}; !slices.Equal(got, want) {
				t.Errorf("fifo %v: answers %q, want %q", fifo, got, want)
			}
			if skipped, moved := s.oversized(); skipped != 2 || moved != 0 {
				t.Errorf("%d skipped and %d moved, want 2 and none", skipped, moved)
			}
			after(t, 2*time.Second)
			if at := s.committed(topic, shared, 0); at != 7 {
				t.Errorf("committed to %d, want all 7", at)
			}
			s.restart()
			s.wantNone(s.c.Queue(spec(fifo)), time.Minute)
		}, limited(true))
	}
}

// Several partitions fill one answer together.
func TestAnswersAreBoundedOverPartitions(t *testing.T) {
	bubble(t, 3, func(t *testing.T, s *stack) {
		for p := range int64(3) {
			s.put(topic, p, "", text("a", 20*kib), text("b", 20*kib))
		}
		q := s.standard()
		s.wantCounts(q, 6, 0, 0)
		total := 0
		for total < 6 {
			got := s.receive(q, time.Second)
			if len(got) == 0 || len(got) > 2 {
				t.Fatalf("%d messages of 24 KiB in an answer of 64 KiB", len(got))
			}
			total += len(got)
		}
	}, limited(true))
}

// With a redrive policy an oversized message is moved once, whatever breaks; the
// dead-letter queue skips it, also when that has a policy of its own that leads back.
func TestOversizedDeadLetters(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		const dead = "/local/dead"
		s.createTopic(dead, 1)
		pool, err := partition.New(partition.Options{Topics: s.conn.Topics()})
		s.must(err)
		defer func() { s.must(pool.Close(context.Background())) }()
		s.closeConsumer(s.c)
		s.options.Sequence = func(topic, producer string) consumer.SequenceWriter {
			return moves{pool.Sequence(topic, producer)}
		}
		s.options.Registerer = prometheus.NewRegistry()
		s.c = s.another("moving")
		source := spec(false)
		source.Settings.MaxReceiveCount = 5
		source.Settings.DeadLetterTopic, source.Settings.DeadLetterConsumer = dead, shared
		back := source
		back.Topic, back.Incarnation = dead, 8
		back.Settings.DeadLetterTopic = topic

		s.put(topic, 0, "writer", text("a", kib), gzipped(60*kib), text("b", kib))
		release := s.control.HoldAcks(dead)
		if got := letters(s.receive(s.c.Queue(source), time.Second)); got != "ab" {
			t.Errorf("received %q, want ab", got)
		}
		after(t, time.Second)
		if skipped, moved := s.oversized(); skipped != 0 || moved != 1 {
			t.Errorf("%d skipped and %d moved of the queue, want one moved", skipped, moved)
		}
		s.restart() // the write is there, and nobody was told
		release()
		s.wantCounts(s.c.Queue(source), 0, 2, 0)
		after(t, time.Minute)
		s.wantCounts(s.c.Queue(back), 1, 0, 0)
		s.wantNone(s.c.Queue(back), time.Minute)
		s.wantCounts(s.c.Queue(back), 0, 0, 0)
		if skipped, moved := s.oversized(); skipped != 1 || moved != 0 {
			t.Errorf("%d skipped and %d moved of the dead letters, want one skipped", skipped, moved)
		}
		got := s.read(dead, 0)
		if len(got) != 1 || len(got[0].Data) != 60*kib {
			t.Errorf("%d messages in the dead-letter topic, want the one", len(got))
		}
		if n := len(s.read(topic, 0)); n != 3 {
			t.Errorf("%d messages in the topic, want the 3 that were written", n)
		}
	}, limited(false))
}

// Of a long queue of large messages only a part is read before somebody asks.
func TestLargeMessagesAhead(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		const size, count = 1 << 20, 100
		s.put(topic, 0, "", slices.Repeat([]codec.Record{text("a", size)}, count)...)
		var read atomic.Int64
		s.control.Intercept(func(p topicd.Passing) topicd.Fault {
			if m, ok := p.Message.(*Ydb_Topic.StreamReadMessage_FromServer); ok {
				read.Add(m.GetReadResponse().GetBytesSize())
			}
			return topicd.Fault{}
		})
		q := s.standard()
		s.wantCounts(q, count, 0, 0)
		after(t, time.Minute)
		if n := read.Load(); n < 30*size || n > 80*size {
			t.Errorf("%d MiB were read before anybody asked, want 32 to 64", n>>20)
		}
		for total := 0; total < count; {
			got := s.receive(q, time.Second)
			if len(got) == 0 {
				t.Fatalf("%d messages came, want %d", total, count)
			}
			total += len(got)
		}
	})
}
