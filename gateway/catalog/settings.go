package catalog

import (
	"fmt"
	"strconv"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/durationpb"
)

// The attributes that decide about a queue's topic. The Ydb ones are an
// extension of this project.
const (
	attrRetention      = "MessageRetentionPeriod"
	attrMinPartitions  = "YdbMinActivePartitions"
	attrMaxPartitions  = "YdbMaxActivePartitions"
	attrWriteSpeed     = "YdbPartitionWriteSpeedBytes"
	attrTopicRetention = "YdbTopicRetentionSeconds"

	attrScope = "DeduplicationScope" // decides about no topic, but for ever
)

const (
	defaultRetention     = 4 * 24 * time.Hour // of SQS
	defaultMinPartitions = 1
	defaultMaxPartitions = 10
	defaultWriteSpeed    = 1 << 20

	// availabilityMargin is how much longer than MessageRetentionPeriod a message
	// stays in the topic, so that the gateway, not the topic, lets it expire.
	availabilityMargin = time.Hour

	upUtilization       = 80
	downUtilization     = 20
	stabilizationWindow = 30 * time.Second
)

// settings are what a queue's attributes ask of its topic.
type settings struct {
	minPartitions, maxPartitions int64
	writeSpeed                   int64         // bytes/s of a partition, and its burst
	topicRetention               time.Duration // of messages the consumer has finished
	availability                 time.Duration // of messages it has not
}

func settingsOf(attributes map[string]string, topicRetention time.Duration) (settings, error) {
	var firstErr error
	number := func(name string, absent int64) int64 {
		text, ok := attributes[name]
		if !ok {
			return absent
		}
		v, err := strconv.ParseInt(text, 10, 32)
		if (err != nil || v < 1) && firstErr == nil {
			firstErr = fmt.Errorf("%w: %s must be a positive number", ErrRefused, name)
		}
		return v
	}
	seconds := func(name string, absent time.Duration) time.Duration {
		return time.Duration(number(name, int64(absent/time.Second))) * time.Second
	}
	s := settings{
		minPartitions:  number(attrMinPartitions, defaultMinPartitions),
		writeSpeed:     number(attrWriteSpeed, defaultWriteSpeed),
		topicRetention: seconds(attrTopicRetention, topicRetention),
		availability:   seconds(attrRetention, defaultRetention) + availabilityMargin,
	}
	s.maxPartitions = number(attrMaxPartitions, max(defaultMaxPartitions, s.minPartitions))
	if s.maxPartitions < s.minPartitions && firstErr == nil {
		firstErr = fmt.Errorf("%w: %s is below %s", ErrRefused, attrMaxPartitions, attrMinPartitions)
	}
	return s, firstErr
}

// create is the request for a new topic. The list of codecs is left empty: that
// alone lets every codec through, those of writers with a codec of their own and
// the attribute envelope included; a list would have to name them all.
func (s settings) create(topic, consumer string, availability bool) *Ydb_Topic.CreateTopicRequest {
	req := &Ydb_Topic.CreateTopicRequest{
		Path: topic,
		PartitioningSettings: &Ydb_Topic.PartitioningSettings{
			MinActivePartitions: s.minPartitions,
			MaxActivePartitions: s.maxPartitions,
			AutoPartitioningSettings: &Ydb_Topic.AutoPartitioningSettings{
				Strategy: Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_SCALE_UP,
				PartitionWriteSpeed: &Ydb_Topic.AutoPartitioningWriteSpeedStrategy{
					StabilizationWindow:    durationpb.New(stabilizationWindow),
					UpUtilizationPercent:   upUtilization,
					DownUtilizationPercent: downUtilization,
				},
			},
		},
		RetentionPeriod:                   durationpb.New(s.topicRetention),
		PartitionWriteSpeedBytesPerSecond: s.writeSpeed,
		PartitionWriteBurstBytes:          s.writeSpeed,
		Consumers:                         []*Ydb_Topic.Consumer{s.consumer(consumer, availability)},
	}
	if !availability {
		req.RetentionPeriod = durationpb.New(max(s.topicRetention, s.availability))
	}
	return req
}

func (s settings) consumer(name string, availability bool) *Ydb_Topic.Consumer {
	c := &Ydb_Topic.Consumer{Name: name}
	if availability {
		c.AvailabilityPeriod = durationpb.New(s.availability)
	}
	return c
}

// alter is the request that turns a topic with the settings old into one with s,
// nil when nothing differs. important says that the consumer holds back deletion
// for ever; such a one takes no period.
func (s settings) alter(old settings, topic, consumer string, important bool) *Ydb_Topic.AlterTopicRequest {
	req := &Ydb_Topic.AlterTopicRequest{Path: topic}
	differs := false
	if s.minPartitions != old.minPartitions || s.maxPartitions != old.maxPartitions {
		differs = true
		req.AlterPartitioningSettings = &Ydb_Topic.AlterPartitioningSettings{
			SetMinActivePartitions: &s.minPartitions,
			SetMaxActivePartitions: &s.maxPartitions,
		}
	}
	if s.writeSpeed != old.writeSpeed {
		// The burst does not follow the speed by itself.
		differs = true
		req.SetPartitionWriteSpeedBytesPerSecond = &s.writeSpeed
		req.SetPartitionWriteBurstBytes = &s.writeSpeed
	}
	if s.topicRetention != old.topicRetention {
		differs = true
		req.SetRetentionPeriod = durationpb.New(s.topicRetention)
	}
	if s.availability != old.availability && !important {
		differs = true
		req.AlterConsumers = []*Ydb_Topic.AlterConsumer{alterAvailability(consumer, s.availability)}
	}
	if !differs {
		return nil
	}
	return req
}

func alterAvailability(consumer string, period time.Duration) *Ydb_Topic.AlterConsumer {
	return &Ydb_Topic.AlterConsumer{
		Name: consumer,
		AvailabilityPeriodAction: &Ydb_Topic.AlterConsumer_SetAvailabilityPeriod{
			SetAvailabilityPeriod: durationpb.New(period),
		},
	}
}
