package movetask

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	active prometheus.Gauge
	moved  prometheus.Counter
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		active: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sqsgate_movetask_active_tasks", Help: "Move tasks that are running or being cancelled, of all gateways.",
		}),
		moved: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_movetask_moved_messages_total", Help: "Messages that this gateway's move tasks have moved.",
		}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.active, m.moved} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
