package consumer_test

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sqsgate/consumer/journal"
	"sqsgate/consumer/lease"
	"sqsgate/internal/ydbstatus"
)

// forge appends a record to the journal under the producer of partition 0, with
// a sequence number above all that were used.
func (s *stack) forge(data []byte) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	stream, err := s.conn.Topics().StreamWrite(ctx)
	s.must(err)
	for _, m := range []*Ydb_Topic.StreamWriteMessage_FromClient{
		{ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_InitRequest{InitRequest: &Ydb_Topic.StreamWriteMessage_InitRequest{
			Path: journalPath(), ProducerId: journal.Key{Incarnation: 7, Partition: 0}.Producer(),
			Partitioning: &Ydb_Topic.StreamWriteMessage_InitRequest_PartitionId{PartitionId: 0},
		}}},
		{ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{WriteRequest: &Ydb_Topic.StreamWriteMessage_WriteRequest{
			Codec: int32(Ydb_Topic.Codec_CODEC_RAW),
			Messages: []*Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData{{
				SeqNo: 1 << 50, CreatedAt: timestamppb.Now(), Data: data, UncompressedSize: int64(len(data)),
			}},
		}}},
	} {
		s.must(stream.Send(m))
		answer, err := stream.Recv()
		if err == nil {
			err = ydbstatus.Check(answer.GetStatus(), answer.GetIssues())
		}
		s.must(err)
		if acks := answer.GetWriteResponse().GetAcks(); len(acks) > 0 && acks[0].GetWritten() == nil {
			s.t.Fatal("the forged record was skipped")
		}
	}
}

// forged is a journal record as FORMAT.md draws it.
func forged(kind byte, incarnation, partition, epoch, lsn uint64, body ...byte) []byte {
	b := binary.BigEndian.AppendUint64([]byte{0x5a, 0x4a, 1, kind}, incarnation)
	for _, v := range []uint64{partition, epoch, lsn, uint64(time.Now().UnixMilli())} {
		b = binary.AppendUvarint(b, v)
	}
	b = append(b, body...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// A partition with a journal that cannot be right is not served, Ready and a
// metric tell so, and the other partitions go on.
func TestDamagedJournal(t *testing.T) {
	const first = 1 // the only epoch so far
	deleteOp := func(offset byte) []byte { return []byte{1, byte(lease.OpDelete), 2 * offset, 1} }
	tests := []struct {
		name   string
		record func() []byte
		reason string
	}{
		{"no record at all", func() []byte { return []byte("garbage") }, "not a journal record"},
		{"a flipped bit", func() []byte {
			b := forged(1, 7, 0, first, 3, deleteOp(0)...)
			b[len(b)-6] ^= 4
			return b
		}, "checksum"},
		{"an op of no kind", func() []byte { return forged(1, 7, 0, first, 3, 1, 99, 0) }, "malformed"},
		{"a snapshot of garbage", func() []byte { return forged(3, 7, 0, first, 3, append([]byte{3, 0, 1}, "garbage"...)...) }, "snapshot"},
		{"half a snapshot, not the first", func() []byte { return forged(3, 7, 0, first, 3, 3, 1, 2, 'x') }, "out of order"},
		{"a gap", func() []byte { return forged(1, 7, 0, first, 9, deleteOp(0)...) }, "follows record"},
		{"a lower epoch", func() []byte { return forged(1, 7, 0, 0, 3, deleteOp(0)...) }, "epoch"},
		{"another incarnation", func() []byte { return forged(1, 8, 0, first, 3, deleteOp(0)...) }, "written by the producer of 7"},
		{"another partition", func() []byte { return forged(1, 7, 1, first, 3, deleteOp(0)...) }, "written by the producer of 7"},
		{"ahead of the topic", func() []byte { return forged(1, 7, 0, first, 3, deleteOp(50)...) }, "the topic ends at 2"},
		{"a snapshot ahead of the topic", func() []byte {
			return forged(3, 7, 0, first, 3, append([]byte{3, 0, 1}, deleted(t, 50)...)...)
		}, "the topic ends at 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			bubble(t, 2, func(t *testing.T, s *stack) {
				s.write(0, plain("a", "b")...)
				s.write(1, plain("x")...)
				q := s.standard()
				s.hide(q, s.want(q, "a", "b", "x")["x"], 0)
				s.restart()
				s.closeConsumer(s.c)
				s.forge(test.record())
				s.options.Registerer = registry
				s.c = s.another("last")
				q = s.standard()
				s.delete(q, s.want(q, "x")["x"])
				after(t, time.Minute)
				s.wantNone(q, 0)
				err := s.c.Ready()
				if err == nil || !strings.Contains(err.Error(), test.reason) || !errors.Is(err, journal.ErrDamaged) {
					t.Errorf("ready says %v, want %q", err, test.reason)
				}
				if n := unserved(t, registry); n != 1 {
					t.Errorf("%v partitions unserved, want 1", n)
				}
			})
		})
	}
}

// deleted is the snapshot of a machine whose first messages wait, and the one at
// offset is deleted.
func deleted(t *testing.T, offset int64) []byte {
	t.Helper()
	m := lease.New(lease.Config{})
	if err := m.Apply(lease.Op{Kind: lease.OpDelete, Offset: offset, Count: 1}); err != nil {
		t.Fatal(err)
	}
	return m.Snapshot(nil)
}

func unserved(t *testing.T, r *prometheus.Registry) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "sqsgate_consumer_partitions_unserved" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("no such metric")
	return 0
}
