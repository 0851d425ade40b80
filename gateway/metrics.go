package gateway

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are those of the HTTP edge. Actions and codes are bounded by the route
// table and the error table.
type metrics struct {
	requests    *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	messages    *prometheus.CounterVec
	bytesIn     prometheus.Counter
	bytesOut    prometheus.Counter
	inFlight    prometheus.Gauge
	panics      prometheus.Counter
	undecodable prometheus.Counter
	givenBack   prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r) // a nil Registerer leaves them unregistered
	return &metrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "sqsgate_gateway_requests_total", Help: "Requests answered, by action, protocol and error code.",
		}, []string{"action", "protocol", "code"}),
		durations: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sqsgate_gateway_request_seconds", Help: "Time to answer, long polls included.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 15),
		}, []string{"action"}),
		messages: f.NewCounterVec(prometheus.CounterOpts{
			Name: "sqsgate_gateway_messages_total", Help: "Messages sent, received, deleted or changed.",
		}, []string{"action"}),
		bytesIn: f.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_gateway_received_bytes_total", Help: "Bytes of request bodies.",
		}),
		bytesOut: f.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_gateway_sent_bytes_total", Help: "Bytes of answers.",
		}),
		inFlight: f.NewGauge(prometheus.GaugeOpts{
			Name: "sqsgate_gateway_in_flight_requests", Help: "Requests at work, waiting long polls included.",
		}),
		panics: f.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_gateway_panics_total", Help: "Requests that ended in a panic.",
		}),
		undecodable: f.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_gateway_undecodable_items_total", Help: "Metadata items of received messages that could not be decoded.",
		}),
		givenBack: f.NewCounter(prometheus.CounterOpts{
			Name: "sqsgate_gateway_returned_messages_total", Help: "Received messages given back because their client had gone.",
		}),
	}
}

func (m *metrics) observe(e *event, took time.Duration) {
	action, code := e.action, e.code
	if action == "" {
		action = "unknown"
	}
	if code == "" {
		code = "OK"
	}
	m.requests.WithLabelValues(action, protocolName(e.format), code).Inc()
	m.durations.WithLabelValues(action).Observe(took.Seconds())
	if e.messages > 0 {
		m.messages.WithLabelValues(action).Add(float64(e.messages))
	}
	m.bytesIn.Add(float64(e.bytesIn))
	m.bytesOut.Add(float64(e.bytesOut))
}
