package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// parse runs the command line parser as the commands do. A non-empty file
// becomes the YAML file that {file} in args and env stands for.
func parse(t *testing.T, args, env []string, file string) (Config, *Resolver, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sqsgate.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	fill := func(in []string) []string {
		out := make([]string, len(in))
		for i, s := range in {
			out[i] = strings.ReplaceAll(s, "{file}", path)
		}
		return out
	}
	var c struct{ Config }
	r := NewResolver(fill(env))
	parser, err := kong.New(&c, kong.Resolvers(r))
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(fill(args))
	return c.Config, r, err
}

func defaults(t *testing.T) Config {
	t.Helper()
	c, _, err := parse(t, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	c, err = c.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	want := Config{
		Process: Process{LogLevel: "info", LogFormat: "text"},
		Topicd:  Topicd{TopicListen: "127.0.0.1:2136", DataDir: "./sqsgate-data", Database: "/local"},
		Gateway: Gateway{
			Listen: "127.0.0.1:9324", AdminListen: "127.0.0.1:9325",
			Region: "us-east-1", Account: "000000000000",
			StateRoot: "sqsgate", Consumer: "ydb-sqs-consumer",
			TopicRetention: time.Hour, RequestTimeout: 10 * time.Second, RefreshInterval: 10 * time.Second,
			BodyCacheBytes: 128 << 20,
			Receive:        Receive{MaxAnswerBytes: 16 << 20, Oversize: "dead_letter"},
			FIFO:           FIFO{MessagesPerSecondPerPartition: 1000, ThrottleWait: 200 * time.Millisecond},
			Auth:           Auth{Mode: "none"},
		},
	}
	if diff := cmp.Diff(want, defaults(t)); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestPrecedence(t *testing.T) {
	const file = "listen: :1\nadmin_listen: :2\nfifo: {throttle_wait: 3s}\ncodecs: {10010: brotli}\naccount: 000000000010\n"
	c, r, err := parse(t,
		[]string{"--config", "{file}", "--listen=:5"},
		[]string{"SQSGATE_LISTEN=:4", "SQSGATE_ADMIN_LISTEN=:6", "SQSGATE_PORT=tcp://10.0.0.1:80", "SQSGATE_REGION=", "HOME=/root"},
		file)
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != ":5" || c.AdminListen != ":6" || c.FIFO.ThrottleWait != 3*time.Second {
		t.Errorf("flag %q, variable %q, file %v", c.Listen, c.AdminListen, c.FIFO.ThrottleWait)
	}
	if c.Region != "us-east-1" {
		t.Errorf("an empty variable counts: region %q", c.Region)
	}
	if c.Account != "000000000010" {
		t.Errorf("the account was read as a number: %q", c.Account)
	}
	if diff := cmp.Diff(map[int32]string{10010: "brotli"}, c.Codecs); diff != "" {
		t.Errorf("codecs: %s", diff)
	}
	for name, want := range map[string]string{"listen": "", "admin-listen": "SQSGATE_ADMIN_LISTEN", "fifo-throttle-wait": "line 3"} {
		if got := r.Source(name); got != want && !strings.HasSuffix(got, " "+want) {
			t.Errorf("source of %s: %q, want %q", name, got, want)
		}
	}
}

func TestConfigFileFromTheEnvironment(t *testing.T) {
	c, _, err := parse(t, nil, []string{"SQSGATE_CONFIG={file}"}, "region: eu-west-1")
	if err != nil || c.Region != "eu-west-1" {
		t.Errorf("region %q, error %v", c.Region, err)
	}
}

func TestBadSettingsAreNamed(t *testing.T) {
	for name, test := range map[string]struct {
		args, env []string
		file      string
		want      []string // all of it in the error
	}{
		"flag":             {args: []string{"--request-timeout=soon"}, want: []string{"--request-timeout", "soon"}},
		"unknown flag":     {args: []string{"--lissten=:1"}, want: []string{"--lissten"}},
		"variable":         {env: []string{"SQSGATE_BODY_CACHE_BYTES=much"}, want: []string{"--body-cache-bytes", "SQSGATE_BODY_CACHE_BYTES", "much"}},
		"file value":       {args: []string{"--config={file}"}, file: "region: x\nrequest_timeout: 10\n", want: []string{"--request-timeout", "line 2", `"10"`}},
		"unknown key":      {args: []string{"--config={file}"}, file: "listen: :1\nlissten: :1\n", want: []string{"line 2", "lissten"}},
		"unknown sub-key":  {args: []string{"--config={file}"}, file: "fifo:\n  wait: 1s\n", want: []string{"line 2", "fifo.wait"}},
		"group as value":   {args: []string{"--config={file}"}, file: "fifo: 3\n", want: []string{"line 1"}},
		"key twice":        {args: []string{"--config={file}"}, file: "region: a\nregion: b\n", want: []string{"line 2", "region"}},
		"value as mapping": {args: []string{"--config={file}"}, file: "region: {a: b}\n", want: []string{"line 1", "region"}},
		"not YAML":         {args: []string{"--config={file}"}, file: "a: [\n", want: []string{"--config", "yaml"}},
		"two documents":    {args: []string{"--config={file}"}, file: "region: a\n---\nregion: b\n", want: []string{"more than one"}},
		"no such file":     {args: []string{"--config={file}.not"}, want: []string{"--config", ".yaml.not"}},
		"config in a file": {args: []string{"--config={file}"}, file: "config: other.yaml\n", want: []string{"unknown key", "config"}},
		"codec number":     {args: []string{"--config={file}"}, file: "codecs: {ten: x}\n", want: []string{"--codecs", "line 1", "ten"}},
		"log level":        {env: []string{"SQSGATE_LOG_LEVEL=loud"}, want: []string{"--log-level", "loud"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := parse(t, test.args, test.env, test.file)
			if err == nil {
				t.Fatal("was taken")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestEmptyFile(t *testing.T) {
	for _, file := range []string{"", "# nothing\n", "---\n"} {
		if _, _, err := parse(t, []string{"--config={file}"}, nil, file); err != nil {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add("listen: :1\nfifo: {throttle_wait: 3s}\ncodecs: {10010: a}\n")
	f.Add("a: &x {b: *x}\n")
	f.Add("fifo: &f\n  throttle_wait: 1s\nauth: *f\n")
	f.Add("? [a]\n: b\n")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := parseFile(strings.NewReader(text))
		if err == nil && values == nil {
			t.Error("neither values nor an error")
		}
		for name, v := range values {
			if v.line < 1 {
				t.Errorf("%s has no line", name)
			}
		}
	})
}
