package consumer

import (
	"errors"
	"testing"
)

func TestReceiptRoundTrip(t *testing.T) {
	for _, r := range []receipt{
		{incarnation: 1, partition: 0, offset: 0, receives: 1, epoch: 1},
		{incarnation: 1<<64 - 1, partition: 9, offset: 1 << 60, receives: 4095, epoch: 1 << 22},
	} {
		got, err := parseReceipt(r.handle())
		if err != nil || got != r {
			t.Errorf("parse(%v) = %v, %v", r, got, err)
		}
	}
}

func TestReceiptRefusesGarbage(t *testing.T) {
	good := receipt{incarnation: 7, partition: 1, offset: 5, receives: 1, epoch: 1}.handle()
	for i := range good {
		bad := []byte(good)
		if bad[i] == 'A' {
			bad[i] = 'B'
		} else {
			bad[i] = 'A'
		}
		if got, err := parseReceipt(string(bad)); !errors.Is(err, ErrHandle) {
			t.Errorf("character %d changed: %v, %v", i, got, err)
		}
	}
	for _, handle := range []string{"", "garbage", "AQ", good + "=", good + "A", " " + good, good[:7] + "\r\n" + good[7:]} {
		if _, err := parseReceipt(handle); !errors.Is(err, ErrHandle) {
			t.Errorf("%q: error %v", handle, err)
		}
	}
}

func FuzzReceipt(f *testing.F) {
	f.Add(receipt{incarnation: 7, partition: 1, offset: 5, receives: 1, epoch: 1}.handle())
	f.Add("garbage")
	f.Fuzz(func(t *testing.T, handle string) {
		r, err := parseReceipt(handle)
		if err == nil && r.handle() != handle {
			t.Errorf("%q parses to %v, whose handle is %q", handle, r, r.handle())
		}
	})
}
