package topicd

import (
	"testing"
	"time"
)

func TestWindow(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	w := window{span: time.Minute}
	steps := []struct {
		after time.Duration
		add   int64
		want  int64
	}{
		{0, 100, 100},
		{30 * time.Second, 20, 120},
		{30 * time.Second, 0, 120}, // the turn: all of the last span counts
		{30 * time.Second, 0, 60},  // half of it
		{20 * time.Second, 5, 25},
		{5 * time.Minute, 0, 0},
		{time.Second, 7, 7},
	}
	for i, s := range steps {
		at = at.Add(s.after)
		w.add(at, s.add)
		if got := w.sum(at); got != s.want {
			t.Errorf("step %d: %d, want %d", i, got, s.want)
		}
	}
}
