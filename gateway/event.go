package gateway

import (
	"log/slog"
	"net/http"
	"time"

	"sqsgate/gateway/wire"
)

// event is what is known of one request when it is over. It becomes one log
// line: at debug level, or as a warning when the fault is ours.
type event struct {
	start     time.Time
	requestID string
	format    wire.Format
	action    string // "" when it is none of the table
	queue     string
	principal string // who sent it; "" when nobody asked, or it is not known
	status    int
	code      string // of the error; "" = success
	cause     error
	unsent    error // the answer could not be written
	bytesIn   int
	bytesOut  int
	messages  int // sent, received, deleted or changed
}

func (s *Server) finish(r *http.Request, e *event) {
	took := s.opts.Now().Sub(e.start)
	s.metrics.observe(e, took)
	level := slog.LevelDebug
	if e.status >= http.StatusInternalServerError && r.Context().Err() == nil {
		level = slog.LevelWarn
	}
	if !s.opts.Logger.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", e.requestID),
		slog.String("action", e.action),
		slog.String("protocol", protocolName(e.format)),
		slog.String("queue", e.queue),
		slog.Int("status", e.status),
		slog.Duration("took", took),
		slog.Int("bytes_in", e.bytesIn),
		slog.Int("bytes_out", e.bytesOut),
		slog.Int("messages", e.messages),
	}
	if e.principal != "" {
		attrs = append(attrs, slog.String("principal", e.principal))
	}
	if e.code != "" {
		attrs = append(attrs, slog.String("code", e.code))
	}
	// The causes of client errors repeat what the client sent.
	if e.cause != nil && e.status >= http.StatusInternalServerError {
		attrs = append(attrs, slog.Any("cause", e.cause))
	}
	if e.unsent != nil {
		attrs = append(attrs, slog.Any("unsent", e.unsent))
	}
	if r.Context().Err() != nil {
		attrs = append(attrs, slog.Bool("client_gone", true))
	}
	s.opts.Logger.LogAttrs(r.Context(), level, "request", attrs...)
}

func protocolName(f wire.Format) string {
	if f == wire.JSON {
		return "json"
	}
	return "query"
}
