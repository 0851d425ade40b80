package main

import (
	"io"
	"log/slog"

	"sqsgate/config"
)

// newLogger takes level and format as the parser has checked them.
func newLogger(settings config.Process, w io.Writer) *slog.Logger {
	var o slog.HandlerOptions
	switch settings.LogLevel {
	case "debug":
		o.Level = slog.LevelDebug
	case "warn":
		o.Level = slog.LevelWarn
	case "error":
		o.Level = slog.LevelError
	}
	if settings.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, &o))
	}
	return slog.New(slog.NewTextHandler(w, &o))
}
