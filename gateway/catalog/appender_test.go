package catalog

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
)

func newTestAppender() *appender {
	return newAppender(nil, "/local/sqsgate/catalog", "p", slog.New(slog.DiscardHandler))
}

func seqs(batch []pendingRecord) []int64 {
	var list []int64
	for _, p := range batch {
		list = append(list, p.seq)
	}
	return list
}

func TestAppenderForget(t *testing.T) {
	a := newTestAppender()
	for range 4 {
		if _, _, err := a.add([]byte("record")); err != nil {
			t.Fatal(err)
		}
	}
	underway := a.batch()
	a.forget(2)
	if got := seqs(a.batch()); len(got) != 3 || got[0] != 1 || got[1] != 3 || got[2] != 4 {
		t.Errorf("left to write: %v", got)
	}
	if got := seqs(underway); got[0] != 1 || got[1] != 2 || got[2] != 3 || got[3] != 4 {
		t.Errorf("the batch under way has changed: %v", got)
	}
	a.acknowledged(3)
	if got := seqs(a.batch()); len(got) != 1 || got[0] != 4 {
		t.Errorf("after an acknowledgement: %v", got)
	}
	a.acknowledged(9)
	if a.bytes != 0 || len(a.batch()) != 0 {
		t.Errorf("%d bytes and %v are left", a.bytes, seqs(a.batch()))
	}
}

func TestAppenderSettle(t *testing.T) {
	a := newTestAppender()
	seq, answer, err := a.add([]byte("record"))
	if err != nil {
		t.Fatal(err)
	}
	a.acknowledged(seq) // in the log, but not read back yet
	select {
	case o := <-answer:
		t.Fatalf("answered %v before the record came back", o)
	default:
	}
	a.settle(seq, outcome{verdict: exists})
	a.settle(seq, outcome{verdict: applied}) // nobody waits any more
	if o := <-answer; o.verdict != exists {
		t.Errorf("verdict %d", o.verdict)
	}
}

func TestAppenderIsBounded(t *testing.T) {
	a := newTestAppender()
	for range maxPending {
		if _, _, err := a.add([]byte("r")); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := a.add([]byte("r")); !errors.Is(err, ErrUnavailable) {
		t.Errorf("one record too many: %v", err)
	}

	a = newTestAppender()
	large := bytes.Repeat([]byte("r"), maxRequestBytes/2+1)
	for range 3 {
		if _, _, err := a.add(large); err != nil {
			t.Fatal(err)
		}
	}
	if got := seqs(a.batch()); len(got) != 1 {
		t.Errorf("one request holds %v", got)
	}
	if _, _, err := a.add(make([]byte, maxPendingBytes)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("bytes beyond the limit: %v", err)
	}
}
