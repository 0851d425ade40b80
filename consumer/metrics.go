package consumer

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	appends     prometheus.Counter
	ops         prometheus.Counter
	rereads     prometheus.Counter
	tenuresLost prometheus.Counter
	moved       prometheus.Counter
	unmovable   prometheus.Counter
	oversized   *prometheus.CounterVec
}

// newMetrics registers the metrics; unserved counts the partitions in trouble.
func newMetrics(r prometheus.Registerer, unserved func() float64) *metrics {
	m := &metrics{
		appends: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_journal_appends_total", Help: "Appends to the journals of this process's partitions.",
		}),
		ops: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_journal_ops_total", Help: "Leases, deletes and other changes appended to journals, merged into runs.",
		}),
		rereads: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_consumer_rereads_total", Help: "Bodies read again because the cache did not hold them.",
		}),
		tenuresLost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_consumer_tenures_lost_total", Help: "Times a partition ceased to be served because of a failure.",
		}),
		moved: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_deadletter_moved_total", Help: "Messages moved to other queues: dead letters, and those of move tasks.",
		}),
		unmovable: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_deadletter_unmovable_total", Help: "Moves given up because their target is gone; the messages stay in their queue.",
		}),
		oversized: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sqsgate_consumer_oversized_messages_total", Help: "Messages too large for an answer, by outcome: dead_letter, skipped.",
		}, []string{"outcome"}),
	}
	if r != nil {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sqsgate_consumer_partitions_unserved", Help: "Partitions of this process that are not served because of a failure, damage included.",
		}, unserved))
		r.MustRegister(m.appends, m.ops, m.rereads, m.tenuresLost, m.moved, m.unmovable, m.oversized)
	}
	return m
}
