package topictest

import (
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

func ptr(v int64) *int64 { return &v }

func readTests() []behaviour {
	return []behaviour{
		{"no data before the partition is accepted and without credit", func(s *subject) {
			s.create(nil)
			s.fill(3)
			r := s.read("c")
			st := r.start()
			id := st.GetPartitionSession().GetPartitionSessionId()
			if st.GetPartitionOffsets().GetEnd() != 3 || st.GetCommittedOffset() != 0 {
				s.Errorf("start request %v", st)
			}
			r.confirm(id, nil, nil)
			r.quiet(id)
			r.credit(1 << 20)
			if got := r.take(3); got[2].GetOffset() != 2 || string(got[0].GetData()) != "data" {
				s.Errorf("read %v", got)
			}
		}},
		{"data, metadata and codec come back as written", func(s *subject) {
			s.create(nil)
			w := s.producer("p")
			m := msg(4, "\x00\xff")
			m.MetadataItems = []*Ydb_Topic.MetadataItem{{Key: "k", Value: []byte("\x01")}}
			w.request(int32(Ydb_Topic.Codec_CODEC_ZSTD), m)
			w.recv()
			r := s.read("c")
			r.accept()
			r.credit(1 << 20)
			res := r.recv().GetReadResponse()
			b := res.GetPartitionData()[0].GetBatches()[0]
			d := b.GetMessageData()[0]
			if b.GetCodec() != int32(Ydb_Topic.Codec_CODEC_ZSTD) || b.GetProducerId() != "p" || string(d.GetData()) != "\x00\xff" ||
				d.GetSeqNo() != 4 || string(d.GetMetadataItems()[0].GetValue()) != "\x01" || res.GetBytesSize() <= 0 {
				s.Errorf("read %v", res)
			}
		}},
		{"without a consumer the partitions must be named and nothing is committed", func(s *subject) {
			s.create(nil)
			s.fill(2)
			_, m := s.tryRead(&Ydb_Topic.StreamReadMessage_InitRequest{
				TopicsReadSettings: []*Ydb_Topic.StreamReadMessage_InitRequest_TopicReadSettings{{Path: s.path}},
			})
			if m.GetStatus() != Ydb.StatusIds_BAD_REQUEST {
				s.Errorf("no partitions: %v", m)
			}
			r := s.read("", 0)
			id := r.start().GetPartitionSession().GetPartitionSessionId()
			r.confirm(id, ptr(1), nil)
			r.credit(1 << 20)
			if got := r.take(1); got[0].GetOffset() != 1 {
				s.Errorf("read %v", got)
			}
			r.commit(id, 0, 1)
			r.refused()
		}},
		{"an unknown consumer is BAD_REQUEST, an unknown topic SCHEME_ERROR", func(s *subject) {
			s.create(nil)
			for path, want := range map[string]Ydb.StatusIds_StatusCode{s.path: Ydb.StatusIds_BAD_REQUEST, s.path + "-missing": Ydb.StatusIds_SCHEME_ERROR} {
				_, m := s.tryRead(&Ydb_Topic.StreamReadMessage_InitRequest{
					Consumer: "nobody", TopicsReadSettings: []*Ydb_Topic.StreamReadMessage_InitRequest_TopicReadSettings{{Path: path}},
				})
				if m.GetStatus() != want {
					s.Errorf("%s: %v, want %v", path, m, want)
				}
			}
		}},
		{"a second reader gets its share gracefully", func(s *subject) {
			s.create(func(r *Ydb_Topic.CreateTopicRequest) { r.PartitioningSettings.MinActivePartitions = 2 })
			first := s.read("c")
			_, a := first.accept()
			_, b := first.accept()
			second := s.read("c")
			m := first.recv().GetStopPartitionSessionRequest()
			if !m.GetGraceful() {
				s.Fatalf("got %v, want a graceful stop", m)
			}
			first.release(m.GetPartitionSessionId())
			if _, got := second.accept(); got != a && got != b {
				s.Errorf("the second reader got partition %d", got)
			}
		}},
		{"a dead reader's partitions go to the others", func(s *subject) {
			s.create(nil)
			first := s.read("c")
			first.accept()
			second := s.read("c")
			first.close()
			if _, got := second.accept(); got != 0 {
				s.Errorf("partition %d", got)
			}
		}},
		{"dropping the topic ends its readers", func(s *subject) {
			s.create(nil)
			r := s.read("c")
			r.accept()
			res, err := s.topics.DropTopic(s.ctx, &Ydb_Topic.DropTopicRequest{Path: s.path})
			s.must(res, err, Ydb.StatusIds_SUCCESS, nil)
			for {
				m, err := r.stream.Recv()
				if err != nil || m.GetStatus() != Ydb.StatusIds_SUCCESS {
					return
				}
			}
		}},
	}
}
