package catalog

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	queues     prometheus.Gauge
	ready      prometheus.Gauge
	records    prometheus.Counter
	skipped    prometheus.Counter
	reconnects prometheus.Counter
	snapshots  *prometheus.CounterVec
	failures   prometheus.Counter
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		queues: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sqsgate_catalog_queues", Help: "Queues in the catalogue.",
		}),
		ready: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sqsgate_catalog_ready", Help: "1 while the catalogue follows its log.",
		}),
		records: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_catalog_records_total", Help: "Records read from the log.",
		}),
		skipped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_catalog_skipped_records_total", Help: "Records of the log that did not decode.",
		}),
		reconnects: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_catalog_reconnects_total", Help: "Times the tail of the log broke off.",
		}),
		snapshots: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sqsgate_catalog_snapshots_total", Help: "Snapshots written, by result: kept or outdated.",
		}, []string{"result"}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_catalog_refresh_failures_total", Help: "Refresh walks that failed.",
		}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.queues, m.ready, m.records, m.skipped, m.reconnects, m.snapshots, m.failures} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
