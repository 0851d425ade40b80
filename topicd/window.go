package topicd

import (
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

// window counts an amount over the last span: the current span and a share of
// the one before it. That is exact at the turn of spans and close in between.
type window struct {
	span      time.Duration
	start     time.Time // of the current span
	now, last int64     // amounts of the current and the previous span
}

func (w *window) roll(at time.Time) {
	switch passed := at.Sub(w.start); {
	case passed < w.span:
	case passed < 2*w.span:
		w.start, w.last, w.now = w.start.Add(w.span), w.now, 0
	default:
		w.start, w.last, w.now = at, 0, 0
	}
}

func (w *window) add(at time.Time, n int64) {
	w.roll(at)
	w.now += n
}

func (w *window) sum(at time.Time) int64 {
	w.roll(at)
	left := float64(w.span-at.Sub(w.start)) / float64(w.span)
	return w.now + int64(float64(w.last)*left)
}

// windows are the three spans that descriptions tell.
type windows struct{ minute, hour, day window }

func newWindows() windows {
	return windows{window{span: time.Minute}, window{span: time.Hour}, window{span: 24 * time.Hour}}
}

func (w *windows) add(at time.Time, n int64) {
	w.minute.add(at, n)
	w.hour.add(at, n)
	w.day.add(at, n)
}

func (w *windows) describe(at time.Time) *Ydb_Topic.MultipleWindowsStat {
	return &Ydb_Topic.MultipleWindowsStat{PerMinute: w.minute.sum(at), PerHour: w.hour.sum(at), PerDay: w.day.sum(at)}
}
