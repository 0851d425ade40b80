package store

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	rounds        prometheus.Counter
	ops           prometheus.Counter
	batchBytes    prometheus.Histogram
	commitSeconds prometheus.Histogram
	diskFull      prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		rounds: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_topicd_store_rounds", Help: "Commit rounds: batches handed to the disk.",
		}),
		ops: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_topicd_store_ops", Help: "Operations that went through the committer.",
		}),
		batchBytes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sqsgate_topicd_store_batch_bytes", Help: "Size of one commit round.",
			Buckets: prometheus.ExponentialBuckets(256, 4, 9),
		}),
		commitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sqsgate_topicd_store_commit_seconds", Help: "Time from building a batch to its sync.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 15),
		}),
		diskFull: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sqsgate_topicd_store_disk_full", Help: "1 while writes are refused for lack of disk space.",
		}),
	}
	if reg == nil {
		return m, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.rounds, m.ops, m.batchBytes, m.commitSeconds, m.diskFull} {
		errs = append(errs, reg.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("registering metrics of the topic store: %w", err)
	}
	return m, nil
}

func (m *metrics) setFull(full bool) {
	if full {
		m.diskFull.Set(1)
		return
	}
	m.diskFull.Set(0)
}
