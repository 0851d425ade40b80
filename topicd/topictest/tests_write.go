package topictest

import (
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

type writeInit = Ydb_Topic.StreamWriteMessage_InitRequest

func writeTests() []behaviour {
	return []behaviour{
		{"acks come in order with dense offsets", func(s *subject) {
			s.create(nil)
			w := s.producer("p")
			for i, a := range append(w.write(msg(1, "a"), msg(5, "b")), w.write(msg(9, "c"))...) {
				if a.GetWritten() == nil || a.GetWritten().GetOffset() != int64(i) {
					s.Errorf("ack %d is %v", i, a)
				}
			}
		}},
		{"a sequence number written before is skipped, over sessions too", func(s *subject) {
			s.create(nil)
			s.producer("p").write(msg(3, "a"))
			w := s.producer("p")
			if w.init.GetLastSeqNo() != 3 {
				s.Errorf("last_seq_no %d, want 3", w.init.GetLastSeqNo())
			}
			acks := w.write(msg(2, "x"), msg(3, "x"), msg(4, "b"))
			if acks[0].GetSkipped() == nil || acks[1].GetSkipped() == nil || acks[2].GetWritten().GetOffset() != 1 {
				s.Errorf("acks %v", acks)
			}
		}},
		{"without a producer id nothing is skipped", func(s *subject) {
			s.create(nil)
			w := s.open(nil)
			for range 2 {
				if a := w.write(msg(1, "a"))[0]; a.GetWritten() == nil {
					s.Errorf("ack %v", a)
				}
			}
		}},
		{"a second session of a producer kills the first, even when that is idle", func(s *subject) {
			s.create(nil)
			first := s.producer("p")
			first.write(msg(1, "a"))
			second := s.producer("p")
			first.ends(Ydb.StatusIds_BAD_REQUEST)
			if second.init.GetLastSeqNo() != 1 {
				s.Errorf("last_seq_no %d", second.init.GetLastSeqNo())
			}
			if a := second.write(msg(2, "b"))[0]; a.GetWritten() == nil {
				s.Errorf("ack %v", a)
			}
		}},
		{"producers do not disturb each other", func(s *subject) {
			s.create(nil)
			a, b := s.producer("a"), s.producer("b")
			for i := range int64(3) {
				if x, y := a.write(msg(i+1, "x")), b.write(msg(i+1, "y")); x[0].GetWritten() == nil || y[0].GetWritten() == nil {
					s.Fatalf("acks %v %v", x, y)
				}
			}
		}},
		{"init forms that make no sense are refused", func(s *subject) {
			s.create(nil)
			for name, tc := range map[string]struct {
				change func(*writeInit)
				want   Ydb.StatusIds_StatusCode
			}{
				"no path":  {func(i *writeInit) { i.Path = "" }, Ydb.StatusIds_BAD_REQUEST},
				"no topic": {func(i *writeInit) { i.Path += "-missing" }, Ydb.StatusIds_SCHEME_ERROR},
				"other group": {func(i *writeInit) {
					i.ProducerId = "p"
					i.Partitioning = &Ydb_Topic.StreamWriteMessage_InitRequest_MessageGroupId{MessageGroupId: "q"}
				}, Ydb.StatusIds_BAD_REQUEST},
				"no partition": {func(i *writeInit) {
					i.ProducerId = "p"
					i.Partitioning = &Ydb_Topic.StreamWriteMessage_InitRequest_PartitionId{PartitionId: 7}
				}, Ydb.StatusIds_SCHEME_ERROR},
			} {
				if w := s.open(tc.change); w.status != tc.want {
					s.Errorf("%s: status %v, want %v", name, w.status, tc.want)
				}
			}
		}},
		{"write requests that make no sense end the session with BAD_REQUEST", func(s *subject) {
			s.create(func(r *Ydb_Topic.CreateTopicRequest) {
				r.SupportedCodecs = &Ydb_Topic.SupportedCodecs{Codecs: []int32{1}}
			})
			big := msg(1, "x")
			big.MetadataItems = []*Ydb_Topic.MetadataItem{{Key: "k", Value: []byte(strings.Repeat("v", 4096))}}
			for name, tc := range map[string]struct {
				codec int32
				msgs  []*outgoing
			}{
				"no messages":            {1, nil},
				"sequence number 0":      {1, []*outgoing{msg(0, "x")}},
				"unsorted":               {1, []*outgoing{msg(2, "x"), msg(1, "x")}},
				"codec 0":                {0, []*outgoing{msg(1, "x")}},
				"codec not of topic":     {4, []*outgoing{msg(1, "x")}},
				"4097 bytes of metadata": {1, []*outgoing{big}},
			} {
				s.Log(name)
				w := s.producer("p")
				w.request(tc.codec, tc.msgs...)
				w.ends(Ydb.StatusIds_BAD_REQUEST)
			}
		}},
		{"a producer of a fixed topic stays on its partition", func(s *subject) {
			s.create(func(r *Ydb_Topic.CreateTopicRequest) { r.PartitioningSettings.MinActivePartitions = 2 })
			w := s.open(func(i *writeInit) { i.ProducerId = "p" })
			w.write(msg(1, "a"))
			home := w.init.GetPartitionId()
			for range 2 {
				if w := s.open(func(i *writeInit) { i.ProducerId = "p" }); w.init.GetPartitionId() != home {
					s.Errorf("partition %d, then %d", home, w.init.GetPartitionId())
				}
			}
			other := s.open(func(i *writeInit) {
				i.ProducerId = "p"
				i.Partitioning = &Ydb_Topic.StreamWriteMessage_InitRequest_PartitionId{PartitionId: 1 - home}
			})
			if other.status != Ydb.StatusIds_BAD_REQUEST {
				s.Errorf("the other partition answers %v", other.status)
			}
		}},
	}
}
