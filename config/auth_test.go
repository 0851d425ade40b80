package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const keysFile = `
auth:
  mode: sigv4
  strict_region: true
  keys:
    - &admin {access_key_id: AKIAADMIN, secret: 0123}
    - access_key_id: 000456
      secret_env: TEST_SECRET
      principal: shop
      queues: [orders-, 007]
      actions:
        - SendMessage
        - GetQueueUrl
    - access_key_id: AKIAFILE
      secret_file: SECRETFILE
`

func TestKeys(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("from a file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEST_SECRET", "from a variable")
	c, _, err := parse(t, []string{"--config={file}"}, nil, strings.Replace(keysFile, "SECRETFILE", secret, 1))
	if err != nil {
		t.Fatal(err)
	}
	written := c
	c, err = c.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	want := Auth{Mode: "sigv4", StrictRegion: true, Keys: Keys{
		{AccessKeyID: "AKIAADMIN", Secret: "0123"},
		{
			AccessKeyID: "000456", Secret: "from a variable", SecretEnv: "TEST_SECRET", Principal: "shop",
			Queues: []string{"orders-", "007"}, Actions: []string{"SendMessage", "GetQueueUrl"},
		},
		{AccessKeyID: "AKIAFILE", Secret: "from a file", SecretFile: secret},
	}}
	if diff := cmp.Diff(want, c.Auth); diff != "" {
		t.Error(diff)
	}
	if written.Auth.Keys[1].Secret != "" {
		t.Error("what was parsed has changed too")
	}

	var out bytes.Buffer
	if err := c.WriteYAML(&out); err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"0123", "from a"} {
		if strings.Contains(out.String(), hidden) {
			t.Errorf("a secret shows:\n%s", out.String())
		}
	}
	again, _, err := parse(t, []string{"--config={file}"}, nil, strings.Replace(out.String(), mask, "0123", 1))
	if err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	if diff := cmp.Diff(written.Auth, again.Auth); diff != "" {
		t.Errorf("%s\nin\n%s", diff, out.String())
	}
}

func TestBadKeysAreNamed(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args, env []string
		file      string   // below "keys:"
		want      []string // all of it in the error
	}{
		"on the command line": {args: []string{"--auth-keys=[]"}, want: []string{"--auth-keys", "file of --config"}},
		"in a variable":       {env: []string{"SQSGATE_AUTH_KEYS=[]"}, want: []string{"SQSGATE_AUTH_KEYS", "file of --config"}},
		"none":                {file: " []", want: []string{"--auth-mode", "needs keys"}},
		"no list":             {file: " {access_key_id: A}", want: []string{"line 3", "want a list"}},
		"no key":              {file: " [A]", want: []string{"line 3", "access_key_id"}},
		"unknown":             {file: "\n  - {access_key_id: A,\n     secert: hush}", want: []string{"line 5", `"secert"`}},
		"name twice":          {file: "\n  - {access_key_id: A,\n     access_key_id: B}", want: []string{"line 5", `"access_key_id"`, "twice"}},
		"list as secret":      {file: " [{access_key_id: A, secret: [hush]}]", want: []string{"line 3", `"secret"`, "single value"}},
		"text as queues":      {file: " [{access_key_id: A, secret: hush, queues: q}]", want: []string{"line 3", `"queues"`, "want a list"}},
		"list in queues":      {file: " [{access_key_id: A, secret: hush, queues: [[q]]}]", want: []string{"line 3", `"queues"`, "single value"}},
		"no id":               {file: " [{access_key_id: A, secret: hush}, {secret: hush}]", want: []string{"auth.keys", "access_key_id of key 2"}},
		"slash in id":         {file: " [{access_key_id: A/B, secret: hush}]", want: []string{"auth.keys", "A/B"}},
		"twice":               {file: " [{access_key_id: A, secret: hush}, {access_key_id: A, secret: hush}]", want: []string{`auth.keys "A"`, "twice"}},
		"no secret":           {file: " [{access_key_id: A}]", want: []string{`auth.keys "A"`, "secret_file"}},
		"two secrets":         {file: " [{access_key_id: A, secret: hush, secret_env: E}]", want: []string{`auth.keys "A"`, "one of"}},
		"masked":              {file: " [{access_key_id: A, secret: '" + mask + "'}]", want: []string{`auth.keys "A"`, "masked"}},
		"no such file":        {file: " [{access_key_id: A, secret_file: " + empty + ".not}]", want: []string{`auth.keys "A"`, empty + ".not"}},
		"empty secret file":   {file: " [{access_key_id: A, secret_file: " + empty + "}]", want: []string{`auth.keys "A"`, "is empty"}},
		"variable not set":    {file: " [{access_key_id: A, secret_env: NOT_SET_ANYWHERE}]", want: []string{`auth.keys "A"`, "NOT_SET_ANYWHERE"}},
		"principal":           {file: " [{access_key_id: A, secret: hush, principal: a b}]", want: []string{`auth.keys "A"`, `"a b"`}},
		"empty queue":         {file: " [{access_key_id: A, secret: hush, queues: ['']}]", want: []string{`auth.keys "A"`, "queues"}},
		"unknown action":      {file: " [{access_key_id: A, secret: hush, actions: [sqs:SendMessage]}]", want: []string{`auth.keys "A"`, "sqs:SendMessage", "PurgeQueue"}},
		"batch":               {file: " [{access_key_id: A, secret: hush, actions: [SendMessageBatch]}]", want: []string{`auth.keys "A"`, "name SendMessage,"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--config={file}"}, test.args...)
			file := ""
			if test.file != "" {
				file = "auth:\n  mode: sigv4\n  keys:" + test.file + "\n"
			}
			c, _, err := parse(t, args, test.env, file)
			if err == nil {
				_, err = c.Resolved()
			}
			if err == nil {
				t.Fatal("was taken")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("a secret shows: %v", err)
			}
		})
	}
}

// Keys that nobody needs do no harm: one line turns signatures off.
func TestKeysWithoutSignatures(t *testing.T) {
	c, _, err := parse(t, []string{"--config={file}", "--auth-mode=none"}, nil, strings.Replace(keysFile, "SECRETFILE", "/not/there", 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resolved(); err != nil {
		t.Error(err)
	}
	c.Auth.Mode = "sigv4"
	var bad *Error
	if _, err := c.Resolved(); !errors.As(err, &bad) || bad.Key != keysPath {
		t.Errorf("with signatures: %v", err)
	}
}
