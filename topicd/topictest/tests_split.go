package topictest

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/durationpb"
)

// createAuto makes a topic whose partitions split at 20 KiB/s over two seconds.
func (s *subject) createAuto(minActive int64) {
	s.Helper()
	s.create(func(r *Ydb_Topic.CreateTopicRequest) {
		r.PartitionWriteSpeedBytesPerSecond = 1 << 20
		r.PartitioningSettings = &Ydb_Topic.PartitioningSettings{
			MinActivePartitions: minActive, MaxActivePartitions: minActive + 1,
			AutoPartitioningSettings: &Ydb_Topic.AutoPartitioningSettings{
				Strategy: Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_SCALE_UP,
				PartitionWriteSpeed: &Ydb_Topic.AutoPartitioningWriteSpeedStrategy{
					StabilizationWindow: durationpb.New(2 * time.Second), UpUtilizationPercent: 2, DownUtilizationPercent: 1,
				},
			},
		}
	})
}

// split writes to partition 0 by two producers until it is split. It returns
// the first producer's session, which is as far as last says.
func (s *subject) split() (parent *Ydb_Topic.DescribeTopicResult_PartitionInfo, idle *writer, last int64) {
	s.Helper()
	s.createAuto(1)
	a, b := s.producer("a"), s.producer("b")
	data := strings.Repeat("x", 100<<10)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for s.ctx.Err() == nil {
		last++
		for _, w := range []*writer{a, b} {
			w.request(int32(Ydb_Topic.Codec_CODEC_RAW), msg(last, data))
			if m := w.recv(); m.GetStatus() == Ydb.StatusIds_OVERLOADED {
				// Refused: the children must be there already.
				if p := s.describe().GetPartitions(); len(p) < 3 {
					s.Fatalf("OVERLOADED with %d partitions", len(p))
				}
				if w == a {
					last--
				}
				return s.describe().GetPartitions()[0], b, last
			}
		}
		if p := s.describe().GetPartitions(); len(p) > 1 {
			return p[0], a, last
		}
		<-tick.C
	}
	s.Fatal("the partition does not split")
	return nil, nil, 0
}

func splitTests() []behaviour {
	return []behaviour{
		{"pre-split partitions divide the key space; fixed ones have no bounds", func(s *subject) {
			s.createAuto(2)
			p := s.describe().GetPartitions()
			half := append([]byte{0x7f}, bytes.Repeat([]byte{0xff}, 14)...)
			half = append(half, 0xfe)
			if len(p[0].GetKeyRange().GetFromBound()) != 0 || !bytes.Equal(p[0].GetKeyRange().GetToBound(), half) ||
				!bytes.Equal(p[1].GetKeyRange().GetFromBound(), half) || len(p[1].GetKeyRange().GetToBound()) != 0 {
				s.Errorf("partitions are %v", p)
			}
		}},
		{"a split leaves an inactive parent with two active children", func(s *subject) {
			parent, idle, _ := s.split()
			if parent.GetActive() || !slices.Equal(parent.GetChildPartitionIds(), []int64{1, 2}) {
				s.Errorf("the parent is %v", parent)
			}
			p := s.describe().GetPartitions()
			if !p[1].GetActive() || !p[2].GetActive() || !slices.Equal(p[1].GetParentPartitionIds(), []int64{0}) ||
				len(p[1].GetKeyRange().GetToBound()) == 0 || !bytes.Equal(p[1].GetKeyRange().GetToBound(), p[2].GetKeyRange().GetFromBound()) {
				s.Errorf("the children are %v %v", p[1], p[2])
			}
			if idle.init.GetPartitionId() != 0 {
				s.Errorf("the writer was on partition %d", idle.init.GetPartitionId())
			}
		}},
		{"writing to the parent of a split is OVERLOADED", func(s *subject) {
			s.split()
			w := s.open(func(i *writeInit) {
				i.ProducerId = "late"
				i.Partitioning = &Ydb_Topic.StreamWriteMessage_InitRequest_PartitionId{PartitionId: 0}
			})
			if w.status != Ydb.StatusIds_OVERLOADED {
				s.Errorf("status %v", w.status)
			}
		}},
		{"a producer of the parent goes on at a child with its last_seq_no", func(s *subject) {
			_, _, last := s.split()
			w := s.open(func(i *writeInit) { i.ProducerId = "a" })
			if w.init.GetPartitionId() == 0 || w.init.GetLastSeqNo() != last {
				s.Errorf("init response %v (%v), want a child and %d", w.init, w.status, last)
			}
		}},
		{"the parent comes first, then its end, then the children", func(s *subject) {
			s.split()
			r := s.read("c")
			id, partition := r.accept()
			if partition != 0 {
				s.Fatalf("partition %d comes first", partition)
			}
			r.quiet(id)
			r.credit(64 << 20)
			for {
				m := r.recv()
				if end := m.GetEndPartitionSession(); end != nil {
					if end.GetPartitionSessionId() != id || !slices.Equal(end.GetChildPartitionIds(), []int64{1, 2}) {
						s.Errorf("end %v", end)
					}
					break
				}
				if m.GetReadResponse() == nil {
					s.Fatalf("got %v", m)
				}
			}
			_, left := r.accept()
			_, right := r.accept()
			if left+right != 3 {
				s.Errorf("children %d and %d", left, right)
			}
		}},
	}
}
