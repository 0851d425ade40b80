package topictest

import (
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/durationpb"
)

func schemeTests() []behaviour {
	return []behaviour{
		{"describe tells the leaf name, the kind and complete statistics", func(s *subject) {
			s.create(nil)
			d := s.describe()
			if d.GetSelf().GetType() != Ydb_Scheme.Entry_TOPIC || "/"+d.GetSelf().GetName() != s.path[len(s.path)-len(d.GetSelf().GetName())-1:] {
				s.Errorf("self is %v", d.GetSelf())
			}
			p := d.GetPartitions()
			if len(p) != 1 || !p[0].GetActive() || p[0].GetPartitionLocation().GetNodeId() == 0 ||
				p[0].GetPartitionStats().GetLastWriteTime() == nil || p[0].GetPartitionStats().GetMaxWriteTimeLag() == nil {
				s.Errorf("partitions are %v", p)
			}
		}},
		{"a missing topic is SCHEME_ERROR to describe, alter and drop", func(s *subject) {
			d, err := s.topics.DescribeTopic(s.ctx, &Ydb_Topic.DescribeTopicRequest{Path: s.path})
			s.must(d, err, Ydb.StatusIds_SCHEME_ERROR, nil)
			a, err := s.topics.AlterTopic(s.ctx, &Ydb_Topic.AlterTopicRequest{Path: s.path})
			s.must(a, err, Ydb.StatusIds_SCHEME_ERROR, nil)
			x, err := s.topics.DropTopic(s.ctx, &Ydb_Topic.DropTopicRequest{Path: s.path})
			s.must(x, err, Ydb.StatusIds_SCHEME_ERROR, nil)
		}},
		{"create refuses settings that make no sense", func(s *subject) {
			for name, req := range map[string]*Ydb_Topic.CreateTopicRequest{
				"unknown attribute":          {Attributes: map[string]string{"queue": "x"}},
				"unknown codec":              {SupportedCodecs: &Ydb_Topic.SupportedCodecs{Codecs: []int32{77}}},
				"duplicate consumer":         {Consumers: []*Ydb_Topic.Consumer{{Name: "c"}, {Name: "c"}}},
				"consumer without a name":    {Consumers: []*Ydb_Topic.Consumer{{}}},
				"consumer with a slash":      {Consumers: []*Ydb_Topic.Consumer{{Name: "a/b"}}},
				"negative retention":         {RetentionPeriod: durationpb.New(-time.Second)},
				"fewer partitions at most":   {PartitioningSettings: &Ydb_Topic.PartitioningSettings{MinActivePartitions: 3, MaxActivePartitions: 2}},
				"important and availability": {Consumers: []*Ydb_Topic.Consumer{{Name: "c", Important: true, AvailabilityPeriod: durationpb.New(time.Hour)}}},
			} {
				req.Path = s.path
				res, err := s.topics.CreateTopic(s.ctx, req)
				if err != nil {
					s.Fatal(err)
				}
				if got := res.GetOperation().GetStatus(); got != Ydb.StatusIds_BAD_REQUEST {
					s.Errorf("%s: status %v", name, got)
				}
			}
		}},
		{"alter adds and drops consumers, and tells what is missing", func(s *subject) {
			s.create(nil)
			alter := func(req *Ydb_Topic.AlterTopicRequest, want Ydb.StatusIds_StatusCode) {
				s.Helper()
				req.Path = s.path
				res, err := s.topics.AlterTopic(s.ctx, req)
				s.must(res, err, want, nil)
			}
			alter(&Ydb_Topic.AlterTopicRequest{AddConsumers: []*Ydb_Topic.Consumer{{Name: "d"}}}, Ydb.StatusIds_SUCCESS)
			alter(&Ydb_Topic.AlterTopicRequest{AddConsumers: []*Ydb_Topic.Consumer{{Name: "d"}}}, Ydb.StatusIds_ALREADY_EXISTS)
			alter(&Ydb_Topic.AlterTopicRequest{DropConsumers: []string{"x"}}, Ydb.StatusIds_NOT_FOUND)
			alter(&Ydb_Topic.AlterTopicRequest{DropConsumers: []string{"c"}}, Ydb.StatusIds_SUCCESS)
			if c := s.describe().GetConsumers(); len(c) != 1 || c[0].GetName() != "d" {
				s.Errorf("consumers are %v", c)
			}
		}},
		{"a fixed topic grows and never shrinks", func(s *subject) {
			s.create(nil)
			alter := func(n int64, want Ydb.StatusIds_StatusCode) {
				s.Helper()
				res, err := s.topics.AlterTopic(s.ctx, &Ydb_Topic.AlterTopicRequest{
					Path: s.path, AlterPartitioningSettings: &Ydb_Topic.AlterPartitioningSettings{SetMinActivePartitions: &n},
				})
				s.must(res, err, want, nil)
			}
			alter(3, Ydb.StatusIds_SUCCESS)
			if got := len(s.describe().GetPartitions()); got != 3 {
				s.Errorf("%d partitions", got)
			}
			alter(2, Ydb.StatusIds_BAD_REQUEST)
		}},
	}
}
