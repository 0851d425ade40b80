package config

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "1B": 1, "1024": 1 << 10, "3 MiB": 3 << 20, "128MiB": 128 << 20, "2GiB": 2 << 30,
	} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); err != nil || b != want {
			t.Errorf("%q: %d (%v), want %d", text, b, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5GiB", "1MB", "9999999999GiB"} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken as %d", text, b)
		}
	}
}

func FuzzBytes(f *testing.F) {
	f.Add("128MiB")
	f.Add("7")
	f.Fuzz(func(t *testing.T, text string) {
		var b, again Bytes
		if b.UnmarshalText([]byte(text)) != nil {
			return
		}
		if err := again.UnmarshalText([]byte(b.String())); err != nil || again != b {
			t.Errorf("%q is %d, printed %q, read again %d (%v)", text, b, b, again, err)
		}
	})
}

func TestSecretsDoNotShow(t *testing.T) {
	c := defaults(t)
	c.YDB, c.YDBUser, c.YDBPassword, c.YDBToken = "grpc://h:1/local", "u", "hush", "hush"
	var out bytes.Buffer
	if err := c.WriteYAML(&out); err != nil {
		t.Fatal(err)
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("configuration", slog.Any("password", c.YDBPassword))
	slog.New(slog.NewJSONHandler(&out, nil)).Info("configuration", slog.Any("password", c.YDBPassword))
	fmt.Fprintf(&out, "%v %+v %#v %s", c, c, c, c.YDBPassword)
	if strings.Contains(out.String(), "hush") {
		t.Errorf("a secret shows in:\n%s", out.String())
	}
	if !strings.Contains(out.String(), "ydb_password: '"+mask) && !strings.Contains(out.String(), "ydb_password: "+mask) && !strings.Contains(out.String(), `ydb_password: "`+mask) {
		t.Errorf("a set secret looks unset:\n%s", out.String())
	}
}

// What check prints can be used as a file again.
func TestWriteYAMLReadsBack(t *testing.T) {
	c := defaults(t)
	c.Listen, c.Account, c.QueueRoot = "[::1]:0", "000000000012", "true"
	c.Codecs = map[int32]string{10010: "brotli", 10002: "no"}
	c.TopicRetention = 90 * time.Minute
	var out bytes.Buffer
	if err := c.WriteYAML(&out); err != nil {
		t.Fatal(err)
	}
	again, _, err := parse(t, []string{"--config={file}"}, nil, out.String())
	if err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	again.File = c.File
	if diff := cmp.Diff(c, again); diff != "" {
		t.Errorf("%s\nin\n%s", diff, out.String())
	}
}
