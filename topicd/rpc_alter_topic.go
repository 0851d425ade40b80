package topicd

import (
	"context"
	"maps"
	"slices"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/topicd/store"
)

// AlterTopic changes the settings that the request names and leaves the rest.
//
// Errors: BAD_REQUEST (validate.go), SCHEME_ERROR for a missing topic,
// NOT_FOUND for a missing consumer, ALREADY_EXISTS for a consumer added twice.
// A topic that may split gets no partitions from a larger minimum; one that
// begins to gets key bounds on those it has.
func (s *Server) AlterTopic(ctx context.Context, req *Ydb_Topic.AlterTopicRequest) (*Ydb_Topic.AlterTopicResponse, error) {
	err := s.unary(ctx, "AlterTopic", func(ctx context.Context) error { return s.alterTopic(ctx, req) })
	return &Ydb_Topic.AlterTopicResponse{Operation: operation(&Ydb_Topic.AlterTopicResult{}, err)}, nil
}

func (s *Server) alterTopic(ctx context.Context, req *Ydb_Topic.AlterTopicRequest) error {
	if err := s.tree.lock(ctx); err != nil {
		return err
	}
	defer s.tree.unlock()
	t, err := s.findTopic(ctx, req.GetPath())
	if err != nil {
		return err
	}
	old := t.config.Load()
	cfg := old.clone()
	if err := cfg.alter(req); err != nil {
		return err
	}
	value, err := t.entry.encode(cfg)
	if err != nil {
		return err
	}
	if err := s.commit(ctx, func(b *store.Batch) error {
		b.PutEntry(t.entry.path, value)
		for _, name := range req.GetDropConsumers() {
			for _, p := range t.partitions() {
				p.forget(b, name)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	t.setConfig(cfg)
	for _, g := range t.allGroups() {
		if cfg.consumer(g.consumer) == nil {
			g.end(schemeError("no read rule provided for consumer '%s' in topic '%s'", g.consumer, t.entry.path))
			continue
		}
		g.rebalance()
	}
	return nil
}

// forget drops the committed offset of a consumer. It runs in the committer.
func (p *partition) forget(b *store.Batch, consumer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.commits, consumer)
	delete(p.readBytes, consumer)
	if ps := p.readers[consumer]; ps != nil {
		ps.interrupted = true
		delete(p.readers, consumer)
	}
	b.DeleteCommit(p.topic.id, p.id, consumer)
}

func (c *topicConfig) alter(req *Ydb_Topic.AlterTopicRequest) error {
	if err := checkMetering(req.GetSetMeteringMode()); err != nil {
		return err
	}
	if d := req.GetSetRetentionPeriod(); d != nil {
		ms, err := retentionMs(d)
		if err != nil {
			return err
		}
		c.RetentionMs = ms
	}
	if req.SetRetentionStorageMb != nil {
		c.RetentionMB = req.GetSetRetentionStorageMb()
	}
	if set := req.GetSetSupportedCodecs(); set != nil {
		c.Codecs = slices.Clone(set.GetCodecs())
	}
	if req.SetPartitionWriteSpeedBytesPerSecond != nil {
		c.WriteSpeed = req.GetSetPartitionWriteSpeedBytesPerSecond()
	}
	if req.SetPartitionWriteBurstBytes != nil {
		c.WriteBurst = req.GetSetPartitionWriteBurstBytes()
	}
	if req.SetContentBasedDeduplication != nil {
		c.ContentID = req.GetSetContentBasedDeduplication()
	}
	switch m := req.GetMetricsLevel().(type) {
	case *Ydb_Topic.AlterTopicRequest_SetMetricsLevel:
		c.Metrics = &m.SetMetricsLevel
	case *Ydb_Topic.AlterTopicRequest_ResetMetricsLevel:
		c.Metrics = nil
	}
	if len(req.GetAlterAttributes()) > 0 {
		c.Attributes = maps.Clone(c.Attributes)
		if c.Attributes == nil {
			c.Attributes = make(map[string]string)
		}
		for k, v := range req.GetAlterAttributes() {
			if v == "" {
				delete(c.Attributes, k) // an empty value resets the attribute
				continue
			}
			c.Attributes[k] = v
		}
	}
	if err := c.alterPartitioning(req.GetAlterPartitioningSettings()); err != nil {
		return err
	}
	if err := c.alterConsumers(req); err != nil {
		return err
	}
	if err := c.validate(); err != nil {
		return err
	}
	if n := int(c.MinActive) - len(c.Partitions); n > 0 && !c.autoPartitioned() {
		c.addPartitions(n)
	}
	return nil
}

func (c *topicConfig) alterPartitioning(set *Ydb_Topic.AlterPartitioningSettings) error {
	if set == nil {
		return nil
	}
	if set.SetMinActivePartitions != nil {
		n := set.GetSetMinActivePartitions()
		if n == 0 {
			n = 1
		}
		if n > 0 && n < int64(len(c.Partitions)) && !c.autoPartitioned() {
			return badRequest("Invalid total groups count specified: %d vs %d (current)", n, len(c.Partitions))
		}
		c.MinActive = n
	}
	if set.SetMaxActivePartitions != nil {
		c.MaxActive = set.GetSetMaxActivePartitions()
	}
	auto := set.GetAlterAutoPartitioningSettings()
	if auto == nil {
		return nil
	}
	was := c.autoPartitioned()
	if auto.SetStrategy != nil {
		c.Auto.Strategy = int32(auto.GetSetStrategy())
		if was && !c.autoPartitioned() {
			return badRequest("Can't disable auto partitioning.")
		}
		if !was && c.autoPartitioned() {
			c.setBounds(0, len(c.Partitions))
		}
	}
	if speed := auto.GetSetPartitionWriteSpeed(); speed != nil {
		if w := speed.GetSetStabilizationWindow(); w != nil {
			c.Auto.WindowMs = w.AsDuration().Milliseconds()
		}
		if speed.SetUpUtilizationPercent != nil {
			c.Auto.UpPercent = speed.GetSetUpUtilizationPercent()
		}
		if speed.SetDownUtilizationPercent != nil {
			c.Auto.DownPercent = speed.GetSetDownUtilizationPercent()
		}
	}
	c.defaults(80, 20)
	return nil
}

func (c *topicConfig) alterConsumers(req *Ydb_Topic.AlterTopicRequest) error {
	for _, name := range req.GetDropConsumers() {
		if c.consumer(name) == nil {
			return statusf(Ydb.StatusIds_NOT_FOUND, "some consumers in drop_consumers are missing already: %s", name)
		}
		c.Consumers = slices.DeleteFunc(c.Consumers, func(x consumerConfig) bool { return x.Name == name })
	}
	for _, in := range req.GetAddConsumers() {
		if c.consumer(in.GetName()) != nil {
			return statusf(Ydb.StatusIds_ALREADY_EXISTS, "Duplicate consumer name %s", in.GetName())
		}
		cons, err := newConsumerConfig(in)
		if err != nil {
			return err
		}
		c.Consumers = append(c.Consumers, cons)
	}
	for _, in := range req.GetAlterConsumers() {
		cons := c.consumer(in.GetName())
		if cons == nil {
			return statusf(Ydb.StatusIds_NOT_FOUND, "consumer %s is missing", in.GetName())
		}
		cons.alter(in)
	}
	return nil
}

func (c *consumerConfig) alter(in *Ydb_Topic.AlterConsumer) {
	if in.SetImportant != nil {
		c.Important = in.GetSetImportant()
	}
	if from := in.GetSetReadFrom(); from != nil {
		c.ReadFromMs = max(from.AsTime().UnixMilli(), 0)
	}
	if set := in.GetSetSupportedCodecs(); set != nil {
		c.Codecs = slices.Clone(set.GetCodecs())
	}
	if len(in.GetAlterAttributes()) > 0 {
		attrs := copyAttributes(c.Attributes)
		maps.Copy(attrs, in.GetAlterAttributes())
		c.Attributes = consumerAttributes(attrs)
	}
	switch a := in.GetAvailabilityPeriodAction().(type) {
	case *Ydb_Topic.AlterConsumer_SetAvailabilityPeriod:
		c.AvailabilityMs = a.SetAvailabilityPeriod.AsDuration().Milliseconds()
	case *Ydb_Topic.AlterConsumer_ResetAvailabilityPeriod:
		c.AvailabilityMs = 0
	}
}
