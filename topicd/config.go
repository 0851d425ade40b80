package topicd

import (
	"slices"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

const (
	defaultRetention  = 24 * time.Hour
	defaultWriteSpeed = 1 << 20 // bytes per second and partition
	maxConsumers      = 3000
	maxPartitions     = 10_000 // of one topic; a bound of ours
)

// topicConfig is the durable description of a topic. It is immutable: a
// change makes a new one.
type topicConfig struct {
	MinActive   int64             `json:"min_active"`
	MaxActive   int64             `json:"max_active,omitempty"`
	Auto        autoConfig        `json:"auto"`
	RetentionMs int64             `json:"retention_ms"`
	RetentionMB int64             `json:"retention_mb,omitempty"`
	Codecs      []int32           `json:"codecs,omitempty"`
	WriteSpeed  int64             `json:"write_speed"`
	WriteBurst  int64             `json:"write_burst"`
	Attributes  map[string]string `json:"attributes,omitempty"`
	Consumers   []consumerConfig  `json:"consumers,omitempty"`
	Metrics     *uint32           `json:"metrics_level,omitempty"`
	ContentID   bool              `json:"content_based_deduplication,omitempty"`
	Partitions  []partitionConfig `json:"partitions"` // dense ids from 0

	// Filled in when the topic takes the configuration, so that whoever loads
	// one sees partitions that belong together.
	parts  []*partition // by id
	active int          // number of active partitions
}

type autoConfig struct {
	Strategy    int32 `json:"strategy,omitempty"` // Ydb_Topic.AutoPartitioningStrategy
	WindowMs    int64 `json:"window_ms,omitempty"`
	UpPercent   int32 `json:"up_percent,omitempty"`
	DownPercent int32 `json:"down_percent,omitempty"`
}

type consumerConfig struct {
	Name           string            `json:"name"`
	Important      bool              `json:"important,omitempty"`
	ReadFromMs     int64             `json:"read_from_ms,omitempty"`
	Codecs         []int32           `json:"codecs,omitempty"`
	Attributes     map[string]string `json:"attributes,omitempty"`
	AvailabilityMs int64             `json:"availability_ms,omitempty"`
}

// partitionConfig is a partition's place in the key space and in the graph of
// splits. Active is false once it has been split.
type partitionConfig struct {
	ID       uint32   `json:"id"`
	From     []byte   `json:"from,omitempty"` // first key; empty = from the beginning
	To       []byte   `json:"to,omitempty"`   // key after the last; empty = to the end
	Active   bool     `json:"active"`
	Parents  []uint32 `json:"parents,omitempty"`
	Children []uint32 `json:"children,omitempty"`
}

func (c *topicConfig) autoPartitioned() bool {
	return c.Auto.Strategy > int32(Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_DISABLED)
}

func (c *topicConfig) consumer(name string) *consumerConfig {
	for i := range c.Consumers {
		if c.Consumers[i].Name == name {
			return &c.Consumers[i]
		}
	}
	return nil
}

// clone returns a copy whose lists may be changed.
func (c *topicConfig) clone() *topicConfig {
	out := *c
	out.Codecs = slices.Clone(c.Codecs)
	out.Consumers = slices.Clone(c.Consumers)
	out.Partitions = slices.Clone(c.Partitions)
	return &out
}

// addPartitions makes n more active partitions, with key bounds when they are
// the first ones of a topic that may split.
func (c *topicConfig) addPartitions(n int) {
	first := len(c.Partitions)
	for range n {
		c.Partitions = append(c.Partitions, partitionConfig{ID: uint32(len(c.Partitions)), Active: true})
	}
	if first == 0 && c.autoPartitioned() {
		c.setBounds(first, n)
	}
}

// setBounds deals the key space evenly to n partitions that have not split.
func (c *topicConfig) setBounds(first, n int) {
	for i := range n {
		p := &c.Partitions[first+i]
		if i > 0 {
			p.From = upperBound(i-1, n)
		}
		if i < n-1 {
			p.To = upperBound(i, n)
		}
	}
}

// newTopicConfig turns a create request into a configuration.
func newTopicConfig(req *Ydb_Topic.CreateTopicRequest) (*topicConfig, error) {
	set := req.GetPartitioningSettings()
	c := &topicConfig{
		MinActive: set.GetMinActivePartitions(), MaxActive: set.GetMaxActivePartitions(),
		RetentionMs: defaultRetention.Milliseconds(), RetentionMB: req.GetRetentionStorageMb(),
		Codecs:     slices.Clone(req.GetSupportedCodecs().GetCodecs()),
		WriteSpeed: req.GetPartitionWriteSpeedBytesPerSecond(), WriteBurst: req.GetPartitionWriteBurstBytes(),
		Attributes: req.GetAttributes(), Metrics: req.MetricsLevel, ContentID: req.GetContentBasedDeduplication(),
	}
	if r := req.GetRetentionPeriod(); r != nil {
		ms, err := retentionMs(r)
		if err != nil {
			return nil, err
		}
		c.RetentionMs = ms
	}
	auto := set.GetAutoPartitioningSettings()
	c.Auto = autoConfig{
		Strategy:    int32(auto.GetStrategy()),
		WindowMs:    auto.GetPartitionWriteSpeed().GetStabilizationWindow().AsDuration().Milliseconds(),
		UpPercent:   auto.GetPartitionWriteSpeed().GetUpUtilizationPercent(),
		DownPercent: auto.GetPartitionWriteSpeed().GetDownUtilizationPercent(),
	}
	c.defaults(90, 30)
	if err := checkMetering(req.GetMeteringMode()); err != nil {
		return nil, err
	}
	for _, in := range req.GetConsumers() {
		if c.consumer(in.GetName()) != nil {
			return nil, badRequest("Duplicate consumer name %s", in.GetName())
		}
		cons, err := newConsumerConfig(in)
		if err != nil {
			return nil, err
		}
		c.Consumers = append(c.Consumers, cons)
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	c.addPartitions(int(c.MinActive))
	return c, nil
}

// defaults fills what was left open; up and down are the percentages of a
// strategy chosen now.
func (c *topicConfig) defaults(up, down int32) {
	if c.MinActive == 0 {
		c.MinActive = 1
	}
	if c.WriteSpeed == 0 {
		c.WriteSpeed = defaultWriteSpeed
	}
	if c.WriteBurst == 0 {
		c.WriteBurst = c.WriteSpeed
	}
	if !c.autoPartitioned() {
		return
	}
	if c.Auto.WindowMs == 0 {
		c.Auto.WindowMs = (300 * time.Second).Milliseconds()
	}
	if c.Auto.UpPercent == 0 {
		c.Auto.UpPercent = up
	}
	if c.Auto.DownPercent == 0 {
		c.Auto.DownPercent = down
	}
}

func newConsumerConfig(in *Ydb_Topic.Consumer) (consumerConfig, error) {
	if unknown := in.ProtoReflect().GetUnknown(); len(unknown) > 0 && sharedConsumer(unknown) {
		return consumerConfig{}, badRequest("shared consumers are disabled")
	}
	c := consumerConfig{
		Name: in.GetName(), Important: in.GetImportant(),
		Codecs: slices.Clone(in.GetSupportedCodecs().GetCodecs()), Attributes: consumerAttributes(in.GetAttributes()),
		AvailabilityMs: in.GetAvailabilityPeriod().AsDuration().Milliseconds(),
	}
	if from := in.GetReadFrom(); from != nil {
		c.ReadFromMs = max(from.AsTime().UnixMilli(), 0)
	}
	return c, nil
}
