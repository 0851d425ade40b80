package topicd

import (
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func millis(ms int64) *timestamppb.Timestamp { return timestamppb.New(time.UnixMilli(ms)) }

func noLag() *durationpb.Duration { return &durationpb.Duration{} }

func ids(in []uint32) []int64 {
	out := make([]int64, len(in))
	for i, id := range in {
		out[i] = int64(id)
	}
	return out
}

func (c *topicConfig) partitioning() *Ydb_Topic.PartitioningSettings {
	return &Ydb_Topic.PartitioningSettings{
		MinActivePartitions: c.MinActive, MaxActivePartitions: c.MaxActive,
		AutoPartitioningSettings: &Ydb_Topic.AutoPartitioningSettings{
			Strategy: Ydb_Topic.AutoPartitioningStrategy(c.Auto.Strategy),
			PartitionWriteSpeed: &Ydb_Topic.AutoPartitioningWriteSpeedStrategy{
				StabilizationWindow:    durationpb.New(time.Duration(c.Auto.WindowMs) * time.Millisecond),
				UpUtilizationPercent:   c.Auto.UpPercent,
				DownUtilizationPercent: c.Auto.DownPercent,
			},
		},
	}
}

func supportedCodecs(codecs []int32) *Ydb_Topic.SupportedCodecs {
	return &Ydb_Topic.SupportedCodecs{Codecs: append([]int32(nil), codecs...)}
}

func copyAttributes(in map[string]string) map[string]string {
	out := make(map[string]string, len(in))
	for k, v := range in {
		out[k] = v
	}
	return out
}

func (c *consumerConfig) describe() *Ydb_Topic.Consumer {
	attrs := copyAttributes(c.Attributes)
	if _, ok := attrs["_service_type"]; !ok {
		attrs["_service_type"] = "data-streams"
	}
	out := &Ydb_Topic.Consumer{
		Name: c.Name, Important: c.Important, ReadFrom: millis(c.ReadFromMs),
		SupportedCodecs: supportedCodecs(c.Codecs), Attributes: attrs,
	}
	if c.AvailabilityMs > 0 {
		out.AvailabilityPeriod = durationpb.New(time.Duration(c.AvailabilityMs) * time.Millisecond)
	}
	return out
}

// storeSize is in whole KiB: a cluster counts finished blobs and tells nothing
// of the last few bytes either.
func storeSize(bytes int64) int64 { return bytes &^ 1023 }

func (p *partition) location() *Ydb_Topic.PartitionLocation {
	return &Ydb_Topic.PartitionLocation{NodeId: nodeID, Generation: generation}
}

func (p *partition) stats() *Ydb_Topic.PartitionStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &Ydb_Topic.PartitionStats{
		PartitionOffsets: &Ydb_Topic.OffsetsRange{Start: p.start, End: p.end},
		StoreSizeBytes:   storeSize(p.bytes - p.dropped), LastWriteTime: millis(p.writtenMs), MaxWriteTimeLag: noLag(),
		BytesWritten: p.written.describe(time.Now()),
	}
}

func (p *partition) describe(c *partitionConfig, stats, location bool) *Ydb_Topic.DescribeTopicResult_PartitionInfo {
	out := &Ydb_Topic.DescribeTopicResult_PartitionInfo{
		PartitionId: int64(p.id), Active: c.Active, ChildPartitionIds: ids(c.Children), ParentPartitionIds: ids(c.Parents),
	}
	if len(c.From) > 0 || len(c.To) > 0 {
		out.KeyRange = &Ydb_Topic.PartitionKeyRange{FromBound: c.From, ToBound: c.To}
	}
	if stats {
		out.PartitionStats = p.stats()
	}
	if location {
		out.PartitionLocation = p.location()
	}
	return out
}

func (t *topic) describe(req *Ydb_Topic.DescribeTopicRequest) *Ydb_Topic.DescribeTopicResult {
	c := t.config.Load()
	out := &Ydb_Topic.DescribeTopicResult{
		Self: t.entry.scheme(), PartitioningSettings: c.partitioning(),
		RetentionPeriod:    durationpb.New(time.Duration(c.RetentionMs) * time.Millisecond),
		RetentionStorageMb: c.RetentionMB, SupportedCodecs: supportedCodecs(c.Codecs),
		PartitionWriteSpeedBytesPerSecond: c.WriteSpeed, PartitionWriteBurstBytes: c.WriteBurst,
		Attributes: copyAttributes(c.Attributes), MetricsLevel: c.Metrics, ContentBasedDeduplication: c.ContentID,
	}
	var size, last int64
	var perMinute, perHour, perDay int64
	now := time.Now()
	for i, p := range c.parts {
		out.Partitions = append(out.Partitions, p.describe(&c.Partitions[i], req.GetIncludeStats(), req.GetIncludeLocation()))
		p.mu.Lock()
		size += p.bytes - p.dropped
		w := p.written.describe(now)
		perMinute, perHour, perDay = perMinute+w.GetPerMinute(), perHour+w.GetPerHour(), perDay+w.GetPerDay()
		if last == 0 || p.writtenMs < last {
			last = p.writtenMs
		}
		p.mu.Unlock()
	}
	for i := range c.Consumers {
		cons := c.Consumers[i].describe()
		if req.GetIncludeStats() {
			cons.ConsumerStats = c.consumerStats(cons.GetName())
		}
		out.Consumers = append(out.Consumers, cons)
	}
	if req.GetIncludeStats() {
		out.TopicStats = &Ydb_Topic.DescribeTopicResult_TopicStats{
			StoreSizeBytes: storeSize(size), MinLastWriteTime: millis(last), MaxWriteTimeLag: noLag(),
			BytesWritten: &Ydb_Topic.MultipleWindowsStat{PerMinute: perMinute, PerHour: perHour, PerDay: perDay},
		}
	}
	return out
}

// consumerStats sums up what the partitions know of a consumer.
func (c *topicConfig) consumerStats(consumer string) *Ydb_Topic.Consumer_ConsumerStats {
	read := new(Ydb_Topic.MultipleWindowsStat)
	for _, p := range c.parts {
		w := p.bytesRead(consumer)
		read.PerMinute += w.GetPerMinute()
		read.PerHour += w.GetPerHour()
		read.PerDay += w.GetPerDay()
	}
	return &Ydb_Topic.Consumer_ConsumerStats{
		MinPartitionsLastReadTime: millis(0), MaxReadTimeLag: noLag(), MaxWriteTimeLag: noLag(), MaxCommittedTimeLag: noLag(),
		BytesRead: read,
	}
}

func (t *topic) describeConsumer(c *consumerConfig, req *Ydb_Topic.DescribeConsumerRequest) *Ydb_Topic.DescribeConsumerResult {
	self := t.entry.scheme()
	self.Name += "/" + c.Name
	self.Type = Ydb_Scheme.Entry_TOPIC
	out := &Ydb_Topic.DescribeConsumerResult{Self: self, Consumer: c.describe()}
	if req.GetIncludeStats() {
		out.Consumer.ConsumerStats = t.config.Load().consumerStats(c.Name)
	}
	cfg := t.config.Load()
	for i, p := range cfg.parts {
		pc := &cfg.Partitions[i]
		info := &Ydb_Topic.DescribeConsumerResult_PartitionInfo{
			PartitionId: int64(p.id), Active: pc.Active,
			ChildPartitionIds: ids(pc.Children), ParentPartitionIds: ids(pc.Parents),
		}
		if req.GetIncludeStats() {
			info.PartitionStats = p.stats()
			info.PartitionConsumerStats = p.consumerStats(c.Name)
		}
		if req.GetIncludeLocation() {
			info.PartitionLocation = p.location()
		}
		out.Partitions = append(out.Partitions, info)
	}
	return out
}

func (p *partition) consumerStats(consumer string) *Ydb_Topic.DescribeConsumerResult_PartitionConsumerStats {
	committed := p.committed(consumer)
	out := &Ydb_Topic.DescribeConsumerResult_PartitionConsumerStats{
		LastReadOffset: committed, CommittedOffset: committed,
		PartitionReadSessionCreateTime: millis(0), LastReadTime: millis(0),
		MaxReadTimeLag: noLag(), MaxWriteTimeLag: noLag(), MaxCommittedTimeLag: noLag(),
		BytesRead: p.bytesRead(consumer),
	}
	if ps := p.reader(consumer); ps != nil {
		out.LastReadOffset = max(committed, ps.next.Load())
		out.ReadSessionId = ps.session.id
		out.ReaderName = ps.session.name
		out.ConnectionNodeId = nodeID
		out.PartitionReadSessionCreateTime = timestamppb.New(ps.created)
		out.LastReadTime = millis(ps.lastRead.Load())
	}
	return out
}
