package partition

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	messages   prometheus.Counter
	bytes      prometheus.Counter
	failed     *prometheus.CounterVec
	batch      prometheus.Histogram
	latency    prometheus.Histogram
	lanes      prometheus.Gauge
	reconnects prometheus.Counter
	lookups    prometheus.Counter
	rerouted   prometheus.Counter
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		messages: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_partition_messages_total", Help: "Messages written and acknowledged.",
		}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_partition_bytes_total", Help: "Bytes of data written and acknowledged.",
		}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sqsgate_partition_failed_messages_total", Help: "Messages that got an error instead of an offset.",
		}, []string{"reason"}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sqsgate_partition_request_messages", Help: "Messages per write request.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 6),
		}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sqsgate_partition_ack_seconds", Help: "Time from a write request to its acknowledgement.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9),
		}),
		lanes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sqsgate_partition_lanes", Help: "Write sessions in use.",
		}),
		reconnects: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_partition_reconnects_total", Help: "Write sessions that broke.",
		}),
		lookups: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_partition_lookups_total", Help: "Reads made to find the offset of a message already written.",
		}),
		rerouted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_partition_rerouted_messages_total", Help: "Messages moved to the children of a split partition.",
		}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{
		m.messages, m.bytes, m.failed, m.batch, m.latency, m.lanes, m.reconnects, m.lookups, m.rerouted,
	} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
