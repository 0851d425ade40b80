package config

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/CONFIG.md")

// TestReference keeps docs/CONFIG.md true to the structs. `make gen` rewrites
// the page.
func TestReference(t *testing.T) {
	path := filepath.Join("..", "docs", "CONFIG.md")
	want := reference()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/CONFIG.md is stale: run make gen")
	}
}

func reference() []byte {
	var b bytes.Buffer
	b.WriteString(`<!-- Generated from package config by make gen. Do not edit. -->

# Configuration

Every setting has one name in three places: the flag ` + "`--topic-listen`" + `, the variable
` + "`SQSGATE_TOPIC_LISTEN`" + ` and the YAML key ` + "`topic_listen`" + ` of the file given with ` + "`--config`" + `
or ` + "`SQSGATE_CONFIG`" + `. A dot in a key stands for nesting. Flags beat variables, variables beat
the file. An unknown flag or key, a bad value, or an address in use ends the process with one
message and exit status 2. Unknown ` + "`SQSGATE_*`" + ` variables are ignored.

` + "`sqsgate check`" + ` takes the same settings, checks them and prints the outcome with secrets masked.
Durations are written like 200ms, 10s or 24h.
`)
	titles := map[string]string{
		"Process": "Process (`serve`, `topicd`)",
		"Topicd":  "Embedded topic server (`serve` without `--ydb`, `topicd`)",
		"Gateway": "Gateway (`serve`)",
	}
	part := ""
	for _, s := range new(Config).settings() {
		if s.part != part {
			part = s.part
			fmt.Fprintf(&b, "\n## %s\n\n| flag | YAML key | default | meaning |\n|---|---|---|---|\n", titles[part])
		}
		cell := func(text string) string {
			if text == "" {
				return ""
			}
			return "`" + text + "`"
		}
		flag := "--" + s.name
		if s.fileOnly {
			flag = ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(flag), cell(s.path), cell(s.fallback), strings.ReplaceAll(s.help, "|", `\|`))
	}
	b.WriteString(`
## Access keys

` + "`auth.keys`" + ` can stand in the file alone. Each key has:

| key | meaning |
|---|---|
| ` + "`access_key_id`" + ` | the id that callers name: 1 to 128 visible characters without , / = |
| ` + "`secret`, `secret_file`, `secret_env`" + ` | the secret, or the file or the environment variable that holds it: one of the three |
| ` + "`principal`" + ` | who holds the key; messages sent with it have it as SenderId. Default: the id |
| ` + "`queues`" + ` | beginnings of the queue names the key is good for. Default: all |
| ` + "`actions`" + ` | names of the actions the key is good for. The action of one message covers its batch. Default: all |

## Queues

` + "`queues`" + ` can stand in the file alone. Each queue has a ` + "`name`" + `, ` + "`attributes`" + ` as those of CreateQueue, and
` + "`tags`" + `. A policy can be written as a mapping. A queue that is not there is made; one that is gets the attributes
and tags that stand here and keeps its others, and its messages. FifoQueue need not be named. A queue that cannot be
had so ends the process with a message that names it, and exit status 2.

## Example

` + "```yaml" + `
listen: 0.0.0.0:9324
public_url: https://sqs.example.com
ydb: grpcs://ydb.example.com:2135/eu/prod
ydb_token_file: /run/secrets/ydb-token
ydb_ca_file: /etc/ssl/ydb-ca.pem
queue_root: queues
fifo:
  messages_per_second_per_partition: 1000
codecs:
  10010: brotli
queues:
  - name: orders
    attributes:
      VisibilityTimeout: 60
      RedrivePolicy:
        deadLetterTargetArn: arn:aws:sqs:us-east-1:000000000000:orders-dead
        maxReceiveCount: 5
    tags: {team: shop}
  - name: orders-dead
    attributes: {MessageRetentionPeriod: 1209600}
auth:
  mode: sigv4
  keys:
    - access_key_id: AKIAORDERS
      secret_env: ORDERS_SECRET
      principal: orders
      queues: [orders-]
      actions: [SendMessage, GetQueueUrl]
` + "```" + `
`)
	return b.Bytes()
}

// The example of the page is a valid file.
func TestReferenceExample(t *testing.T) {
	_, rest, _ := strings.Cut(string(reference()), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	c, _, err := parse(t, []string{"--config={file}"}, nil, example)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ORDERS_SECRET", "hush")
	if _, err := c.Resolved(); err != nil {
		t.Error(err)
	}
}
