package app

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sqsgate/config"
)

func TestReadyFile(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	dir := t.TempDir()
	path := filepath.Join(dir, "ready.json")
	if err := os.WriteFile(path, []byte("stale"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := newReadyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file of an earlier process is still there")
	}
	if err := f.announce(log, addresses{SQS: "127.0.0.1:1", Admin: "127.0.0.1:2"}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if want := `{"sqs":"127.0.0.1:1","admin":"127.0.0.1:2"}` + "\n"; err != nil || string(got) != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left beside the file: %v (%v)", entries, err)
	}
	f.withdraw(log)
	f.withdraw(log)
	if _, err := os.Stat(path); err == nil {
		t.Error("the file outlives the process")
	}
}

func TestReadyFileThatCannotBeWritten(t *testing.T) {
	f, err := newReadyFile(filepath.Join(t.TempDir(), "none", "ready.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bad *config.Error
	if err := f.announce(slog.New(slog.DiscardHandler), addresses{}); !errors.As(err, &bad) || bad.Key != "ready-file" {
		t.Errorf("got %v", err)
	}
}

func TestListenNamesTheFlag(t *testing.T) {
	lis, err := listen(t.Context(), "listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lis.Close(); err != nil {
			t.Error(err)
		}
	}()
	var bad *config.Error
	if _, err := listen(t.Context(), "admin-listen", lis.Addr().String()); !errors.As(err, &bad) ||
		bad.Key != "admin-listen" || bad.Value != lis.Addr().String() {
		t.Errorf("got %v", err)
	}
}

func TestReachable(t *testing.T) {
	for bind, want := range map[string]string{"127.0.0.1:0": "127.0.0.1:", ":0": "127.0.0.1:", "0.0.0.0:0": "127.0.0.1:"} {
		lis, err := net.Listen("tcp", bind)
		if err != nil {
			t.Fatal(err)
		}
		if got := reachable(lis); !strings.HasPrefix(got, want) {
			t.Errorf("%s is reached at %s", bind, got)
		}
		if err := lis.Close(); err != nil {
			t.Error(err)
		}
	}
}
