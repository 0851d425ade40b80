//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicoptions"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topictypes"
)

// TestOversize: a message of a Topic API writer that no answer can hold keeps
// nobody waiting, over a kill too. With a redrive policy it is in the dead-letter
// queue's topic once, where Topic API readers find it; SQS clients do not get it
// from there either.
func TestOversize(t *testing.T) {
	const size = 7 << 20 // with base64 more than the limit
	oversized := make([]byte, size)
	if _, err := io.ReadFull(rand.NewChaCha8([32]byte{}), oversized); err != nil {
		t.Fatal(err)
	}
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		a, db := d.Actions(t, jsonProtocol), d.YDB(t)
		fast := attributes{"YdbPartitionWriteSpeedBytes": fmt.Sprint(50 << 20)}
		var queues, dead []*Queue
		for _, suffix := range []string{"", ".fifo"} {
			letters := a.Create(t, "dead"+suffix, fast)
			policy := attributes{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"5"}`, *letters.arn())}
			dead = append(dead, letters)
			queues = append(queues, a.Create(t, "with-policy"+suffix, fast, policy), a.Create(t, "without"+suffix, fast))
		}
		held := map[*Queue]types.Message{}
		for _, q := range queues {
			writeStored(t, db, queueName(q), "writer", coding{codec: topictypes.CodecZstd, bodies: []storedBody{
				{stored: []byte("before")}, {stored: oversized}, {stored: []byte("behind")}, {stored: []byte("last")},
			}}, func(int) map[string][]byte { return map[string][]byte{"__key": []byte("g")} })
			held[q] = q.ReceiveOne(visibleAfter(600))
		}
		d.Kill()
		d.Start()

		for _, q := range queues {
			got := []string{storedText(t, held[q])}
			q.Delete(held[q])
			for len(got) < 3 {
				m := q.ReceiveOne()
				got = append(got, storedText(t, m))
				q.Delete(m)
			}
			if !q.isFIFO() {
				slices.Sort(got)
			}
			if !slices.Equal(got, []string{"before", "behind", "last"}) {
				t.Errorf("%s: received %q", queueName(q), got)
			}
			q.WantNone(1)
			eventually(t, 20*time.Second, "the queue is empty", func() bool { return q.Counts() == [3]string{"0", "0", "0"} })
		}
		for _, q := range dead {
			q.WantNone(1)
			wantOnly(t, d.YDB(t), queueName(q), oversized)
		}
		metrics := d.metrics(t)
		for _, outcome := range []string{"dead_letter", "skipped"} {
			if !strings.Contains(metrics, `sqsgate_consumer_oversized_messages_total{outcome="`+outcome+`"}`) {
				t.Errorf("nothing is counted as %s", outcome)
			}
		}
	}, "--receive-max-answer-bytes", "8MiB")
}

// storedText is what is behind the body of a message.
func storedText(t *testing.T, m types.Message) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(aws.ToString(m.Body))
	if err != nil || m.Attributes["BodyEncoding"] != "zstd" {
		t.Errorf("received %q, %v, as %q", abbreviate(aws.ToString(m.Body)), err, m.Attributes["BodyEncoding"])
	}
	return string(b)
}

// wantOnly reads a topic, which has one message of the data.
func wantOnly(t *testing.T, db *ydb.Driver, topic string, want []byte) {
	t.Helper()
	r := openReader(t, db, topic, "rescue", topicoptions.WithReaderBufferSizeBytes(64<<20),
		topicoptions.WithAddDecoder(topictypes.CodecZstd, func(r io.Reader) (io.Reader, error) { return r, nil }))
	ctx, cancel := context.WithTimeout(t.Context(), topicTimeout)
	defer cancel()
	m, err := r.ReadMessage(ctx)
	if err != nil {
		t.Fatalf("reading %s: %v", topic, err)
	}
	data, err := io.ReadAll(m)
	if err != nil || !bytes.Equal(data, want) || string(m.Metadata["__key"]) != "g" {
		t.Errorf("%s has %d bytes of group %q, %v; want %d", topic, len(data), m.Metadata["__key"], err, len(want))
	}
	call, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	if more, err := r.ReadMessage(call); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s has another message: %v, %v", topic, more, err)
	}
}

// metrics is what the gateway counts.
func (d *Deployment) metrics(t *testing.T) string {
	t.Helper()
	resp, err := http.Get(d.AdminURL() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(body)
}
