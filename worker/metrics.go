package worker

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	outcomes  *prometheus.CounterVec
	panics    prometheus.Counter
	failed    prometheus.Counter
	givenBack prometheus.Counter
	lost      prometheus.Counter
	handlers  prometheus.Gauge
	queue     string
}

func (m *metrics) settled(k kind) { m.outcomes.WithLabelValues(m.queue, k.String()).Inc() }

// newMetrics registers the metrics; several Workers may share a registry.
func newMetrics(r prometheus.Registerer, queue string) (*metrics, error) {
	m := &metrics{queue: queue}
	var errs []error
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		v, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"queue"}, labels...)))
		errs = append(errs, err)
		return v
	}
	m.outcomes = counters("sqsgate_worker_messages_total", "Messages handled, by what the handler wanted to become of them.", "outcome")
	m.panics = counters("sqsgate_worker_panics_total", "Handlers that panicked.").WithLabelValues(queue)
	m.failed = counters("sqsgate_worker_failed_settlements_total", "Messages that could not be settled as the handler wanted.").WithLabelValues(queue)
	m.givenBack = counters("sqsgate_worker_given_back_total", "Messages given back without having been handled.").WithLabelValues(queue)
	m.lost = counters("sqsgate_worker_leases_lost_total", "Messages whose lease ended before they were settled.").WithLabelValues(queue)
	handlers, err := register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sqsgate_worker_handlers", Help: "Handlers that run.",
	}, []string{"queue"}))
	m.handlers = handlers.WithLabelValues(queue)
	return m, errors.Join(append(errs, err)...)
}

// register returns the collector that counts: c, or the one of its name that is
// registered already.
func register[C prometheus.Collector](r prometheus.Registerer, c C) (C, error) {
	if r == nil {
		return c, nil
	}
	err := r.Register(c)
	var before prometheus.AlreadyRegisteredError
	if errors.As(err, &before) {
		if same, ok := before.ExistingCollector.(C); ok {
			return same, nil
		}
	}
	if err != nil {
		return c, fmt.Errorf("worker: registering metrics: %w", err)
	}
	return c, nil
}
