//go:build e2e

package e2e

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicoptions"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topictypes"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topicwriter"
)

// TestTopicWithoutConsumer: the first who asks for the queue gets the consumer made.
// A message too large for an answer does not keep the others back, and a topic that
// is dropped takes its queue along.
func TestTopicWithoutConsumer(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		a, db := d.Actions(t, jsonProtocol), d.YDB(t)
		if err := db.Topic().Create(t.Context(), "theirs", topicoptions.CreateWithPartitionWriteSpeedBytesPerSecond(50<<20),
			topicoptions.CreateWithPartitionWriteBurstBytes(50<<20)); err != nil {
			t.Fatal(err)
		}
		const fits = 11 << 20
		for _, body := range [][]byte{[]byte("first"), make([]byte, 13<<20), make([]byte, fits), []byte("last")} {
			write(t, db, "theirs", topictypes.CodecRaw, topicwriter.Message{Data: bytes.NewReader(body)})
		}
		out, err := a.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("theirs")})
		if err != nil {
			t.Fatal(err)
		}
		q := &Queue{Actions: a, t: t, URL: out.QueueUrl}
		var got []int
		for len(got) < 3 {
			m := q.ReceiveOne()
			got = append(got, len(aws.ToString(m.Body)))
			q.Delete(m)
		}
		if want := []int{len("first"), (fits + 2) / 3 * 4, len("last")}; !slices.Equal(got, want) {
			t.Errorf("received bodies of %d bytes, want %d", got, want)
		}
		if err := db.Topic().Drop(t.Context(), "theirs"); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(30 * time.Second)
		for {
			_, err := a.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: q.URL, WaitTimeSeconds: 1})
			if err != nil {
				wantCode(t, "receiving from a dropped topic", err, "AWS.SimpleQueueService.NonExistentQueue")
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("the queue of a dropped topic goes on answering")
			}
		}
	}, "--auto-create-consumer", "--receive-oversize", "skip")
}
