package api

import (
	"errors"
	"testing"
)

func TestTaskHandle(t *testing.T) {
	want := TaskHandle{TaskID: "10f57157-fc38-4da9-a113-4de7e12d05dd", SourceARN: "arn:aws:sqs:us-east-1:000000000000:dead"}
	if got, err := ParseTaskHandle(want.String()); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"foobared", "e30=", "eyJ0YXNrSWQiOiJ4In0=", "W10=", "eyJ0YXNrSWQiOjF9"} {
		if _, err := ParseTaskHandle(bad); !errors.Is(err, ErrTaskHandle) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func FuzzTaskHandle(f *testing.F) {
	f.Add(TaskHandle{TaskID: "a", SourceARN: "b"}.String())
	f.Add("e30=")
	f.Fuzz(func(t *testing.T, handle string) {
		h, err := ParseTaskHandle(handle)
		if err != nil {
			return
		}
		if again, err := ParseTaskHandle(h.String()); err != nil || again.TaskID == "" {
			t.Fatalf("%+v, %v", again, err)
		}
	})
}
