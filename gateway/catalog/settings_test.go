package catalog

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
)

func TestSettingsOf(t *testing.T) {
	plain := settings{minPartitions: 1, maxPartitions: 10, writeSpeed: 1 << 20, topicRetention: time.Hour, availability: 97 * time.Hour}
	many := plain
	many.minPartitions, many.maxPartitions = 12, 12
	short := plain
	short.availability = time.Hour + time.Minute
	tests := []struct {
		name       string
		attributes map[string]string
		want       settings
	}{
		{"defaults", map[string]string{"VisibilityTimeout": "x"}, plain},
		{"the maximum follows the minimum", map[string]string{"YdbMinActivePartitions": "12"}, many},
		{"retention and an hour", map[string]string{"MessageRetentionPeriod": "60"}, short},
	}
	for _, tt := range tests {
		got, err := settingsOf(tt.attributes, time.Hour)
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
	for _, bad := range []map[string]string{
		{"YdbMinActivePartitions": "0"},
		{"YdbMinActivePartitions": "5", "YdbMaxActivePartitions": "4"},
		{"YdbPartitionWriteSpeedBytes": "1e6"},
		{"YdbTopicRetentionSeconds": "-1"},
		{"MessageRetentionPeriod": "99999999999999999999"},
	} {
		if _, err := settingsOf(bad, time.Hour); !errors.Is(err, ErrRefused) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestAlterOnlyWhatDiffers(t *testing.T) {
	plain, err := settingsOf(nil, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	number := func(v int64) *int64 { return &v }
	with := func(change func(*settings)) settings {
		s := plain
		change(&s)
		return s
	}
	tests := []struct {
		name      string
		after     settings
		important bool
		want      *Ydb_Topic.AlterTopicRequest
	}{
		{"nothing", plain, false, nil},
		{"partitions", with(func(s *settings) { s.maxPartitions = 20 }), false, &Ydb_Topic.AlterTopicRequest{
			Path: "t", AlterPartitioningSettings: &Ydb_Topic.AlterPartitioningSettings{SetMinActivePartitions: number(1), SetMaxActivePartitions: number(20)},
		}},
		{"the burst goes with the speed", with(func(s *settings) { s.writeSpeed = 5 }), false, &Ydb_Topic.AlterTopicRequest{
			Path: "t", SetPartitionWriteSpeedBytesPerSecond: number(5), SetPartitionWriteBurstBytes: number(5),
		}},
		{"retention of the topic", with(func(s *settings) { s.topicRetention = time.Minute }), false, &Ydb_Topic.AlterTopicRequest{
			Path: "t", SetRetentionPeriod: durationpb.New(time.Minute),
		}},
		{"retention of the queue", with(func(s *settings) { s.availability = time.Minute }), false, &Ydb_Topic.AlterTopicRequest{
			Path: "t", AlterConsumers: []*Ydb_Topic.AlterConsumer{alterAvailability("c", time.Minute)},
		}},
		{"an important consumer takes no period", with(func(s *settings) { s.availability = time.Minute }), true, nil},
	}
	for _, tt := range tests {
		got := tt.after.alter(plain, "t", "c", tt.important)
		if diff := cmp.Diff(tt.want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}
