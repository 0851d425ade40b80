package ydbtopic

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// eventually asks until ok, or fails after 10 s with the last reason.
func eventually(t *testing.T, what string, ok func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		err := ok()
		if err == nil {
			return
		}
		if !wait(ctx, 20*time.Millisecond) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func dial(t *testing.T, o Options) *Conn {
	t.Helper()
	o.ProbeInterval = 50 * time.Millisecond
	o.MaxBackoff = 200 * time.Millisecond
	o.ConnectTimeout = 2 * time.Second
	c, err := Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func drop(ctx context.Context, c *Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := c.Topics().DropTopic(ctx, &Ydb_Topic.DropTopicRequest{Path: "q"})
	return err
}

// A cluster may be down at the start, come up, go away and return.
func TestDialFollowsTheCluster(t *testing.T) {
	s := &server{}
	addr, stop := s.start(t, "127.0.0.1:0")
	stop()

	c := dial(t, Options{DSN: "grpc://" + addr + "/local"})
	if err := c.Ready(); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("ready without a cluster: %v", err)
	}
	if err := drop(t.Context(), c); status.Code(err) != codes.Unavailable {
		t.Errorf("call without a cluster: %v", err)
	}

	_, stop = s.start(t, addr)
	eventually(t, "cluster came up", c.Ready)
	if err := drop(t.Context(), c); err != nil {
		t.Errorf("call: %v", err)
	}
	if got := s.header.Load().Get("x-ydb-database"); len(got) != 1 || got[0] != "/local" {
		t.Errorf("database header %q", got)
	}

	stop()
	eventually(t, "cluster went away", func() error {
		if c.Ready() == nil {
			return errors.New("still ready")
		}
		return nil
	})
	if err := drop(t.Context(), c); status.Code(err) != codes.Unavailable {
		t.Errorf("call after the cluster went away: %v", err)
	}

	_, stop = s.start(t, addr)
	defer stop()
	eventually(t, "cluster came back", c.Ready)
	eventually(t, "calls pass again", func() error { return drop(t.Context(), c) })
}

func TestDialToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"anonymous":  {Options{}, ""},
		"token":      {Options{Token: "given"}, "given"},
		"token file": {Options{TokenFile: file}, "from-file"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{}
			addr, stop := s.start(t, "127.0.0.1:0")
			defer stop()
			test.options.DSN = "grpc://" + addr + "/local"
			c := dial(t, test.options)
			eventually(t, "ready", c.Ready)
			if err := drop(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.header.Load().Get("x-ydb-auth-ticket"), ","); got != test.want {
				t.Errorf("ticket %q, want %q", got, test.want)
			}
		})
	}
}

func TestDialRefusesWhatCannotWork(t *testing.T) {
	dir := t.TempDir()
	notPEM := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(notPEM, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"scheme":         {Options{DSN: "http://h:1/local"}, "http"},
		"no database":    {Options{DSN: "grpc://h:1"}, "path"},
		"no port":        {Options{DSN: "grpc://h/local"}, "host"},
		"password":       {Options{DSN: "grpc://u:secret@h:1/local"}, "options of their own"},
		"two identities": {Options{DSN: "grpc://h:1/local", User: "u", Token: "t"}, "both"},
		"plain with CA":  {Options{DSN: "grpc://h:1/local", CAFile: notPEM}, "not encrypted"},
		"CA not PEM":     {Options{DSN: "grpcs://h:1/local", CAFile: notPEM}, "no PEM"},
		"CA missing":     {Options{DSN: "grpcs://h:1/local", CAFile: filepath.Join(dir, "none")}, "none"},
		"token missing":  {Options{DSN: "grpc://h:1/local", TokenFile: filepath.Join(dir, "none")}, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Dial(t.Context(), test.options)
			if err == nil {
				_ = c.Close(t.Context()) // only so that nothing is left running
				t.Fatal("was taken")
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %q, want one with %q and no password", err, test.want)
			}
		})
	}
}

func TestTokenFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	write := func(token string, modified time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, modified, modified); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	write("one", start)
	f, err := openTokenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	f.now = func() time.Time { return now }
	expect := func(want string) {
		t.Helper()
		if got, err := f.Token(t.Context()); err != nil || got != want {
			t.Errorf("token %q (%v), want %q", got, err, want)
		}
	}
	write("two", start.Add(time.Hour))
	expect("one") // looked at a moment ago
	now = now.Add(tokenRecheck)
	expect("two")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	now = now.Add(tokenRecheck)
	expect("two") // better an old token than none
}
