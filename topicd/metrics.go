package topicd

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	calls         *prometheus.CounterVec // by method and status, both from fixed sets
	sessions      *prometheus.GaugeVec   // by kind: read, write
	written       prometheus.Counter
	writtenBytes  prometheus.Counter
	skipped       prometheus.Counter
	read          prometheus.Counter
	readBytes     prometheus.Counter
	readFromStore prometheus.Counter
	splits        prometheus.Counter
	removed       prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sqsgate_topicd_calls", Help: "Finished calls and streams by method and status.",
		}, []string{"method", "status"}),
		sessions: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sqsgate_topicd_sessions", Help: "Open sessions by kind.",
		}, []string{"kind"}),
		written:       counter("sqsgate_topicd_written_messages", "Messages stored."),
		writtenBytes:  counter("sqsgate_topicd_written_bytes", "Bytes of message data stored."),
		skipped:       counter("sqsgate_topicd_skipped_messages", "Messages not stored because their producer had written them before."),
		read:          counter("sqsgate_topicd_read_messages", "Messages sent to readers."),
		readBytes:     counter("sqsgate_topicd_read_bytes", "Bytes sent to readers."),
		readFromStore: counter("sqsgate_topicd_read_store_messages", "Messages sent to readers that were no longer in the memory tail."),
		removed:       counter("sqsgate_topicd_removed_messages", "Messages removed by retention."),
		splits:        counter("sqsgate_topicd_splits", "Partitions split."),
	}
	if reg == nil {
		return m, nil
	}
	var errs []error
	for _, c := range []prometheus.Collector{
		m.calls, m.sessions, m.written, m.writtenBytes, m.skipped, m.read, m.readBytes, m.readFromStore, m.splits, m.removed,
	} {
		errs = append(errs, reg.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("registering metrics of topicd: %w", err)
	}
	return m, nil
}
