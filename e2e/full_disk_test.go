//go:build e2e

package e2e

import (
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/cockroachdb/pebble/v2/vfs"

	"sqsgate/topicd"
)

// fillable is the real file system, which can claim to be full.
type fillable struct {
	vfs.FS
	full atomic.Bool
}

// GetDiskUsage is what the store looks at before it takes data.
func (f *fillable) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	usage, err := f.FS.GetDiskUsage(path)
	if f.full.Load() {
		usage.AvailBytes = 0
	}
	return usage, err
}

// TestFullDisk: while the topic server's disk is full, sends fail with
// ServiceUnavailable; nothing that was answered is lost, and when there is room
// again everything goes on by itself.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := &fillable{FS: vfs.Default}
	srv, err := topicd.New(topicd.Options{DataDir: filepath.Join(t.TempDir(), "data"), FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Errorf("closing the topic server: %v", err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	d := &Deployment{t: t, split: true, flags: []string{"--request-timeout", "1s"}}
	d.last.Topic = lis.Addr().String()
	d.StartGateway()
	t.Cleanup(func() {
		d.KillGateway()
		if t.Failed() {
			t.Logf("gateway log:\n%s", &d.gatewayLog)
		}
	})

	a := d.Actions(t, jsonProtocol)
	q, ordered := a.Create(t, "full"), a.Create(t, "full.fifo")
	var before []string
	for range 20 {
		before = append(before, aws.ToString(q.Send("before").MessageId))
	}
	first := ordered.Send("1", inGroup("g", "1"))
	held := q.ReceiveOne(visibleAfter(600))

	disk.full.Store(true)
	for range 2 {
		_, err := a.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: q.URL, MessageBody: aws.String("refused")})
		wantCode(t, "sending to a full disk", err, "ServiceUnavailable")
		_, err = a.SendMessage(t.Context(), &sqs.SendMessageInput{
			QueueUrl: ordered.URL, MessageBody: aws.String("2"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("2"),
		})
		wantCode(t, "sending to a FIFO queue on a full disk", err, "ServiceUnavailable")
	}

	disk.full.Store(false)
	var second *sqs.SendMessageOutput
	eventually(t, 20*time.Second, "sends are taken again", func() bool {
		_, err := a.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: q.URL, MessageBody: aws.String("after")})
		return err == nil
	})
	eventually(t, 20*time.Second, "FIFO sends are taken again", func() bool {
		second, err = a.SendMessage(t.Context(), &sqs.SendMessageInput{
			QueueUrl: ordered.URL, MessageBody: aws.String("2"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("2"),
		})
		return err == nil
	})
	if got := ordered.Receive(10, 10); len(got) != 2 || *got[0].MessageId != *first.MessageId || *got[1].MessageId != *second.MessageId {
		t.Errorf("the FIFO queue has %v, want each send once", bodies(got))
	}
	q.Delete(held)
	missing := map[string]bool{}
	for _, id := range before {
		missing[id] = true
	}
	delete(missing, aws.ToString(held.MessageId))
	eventually(t, 20*time.Second, "all that was sent before comes", func() bool {
		for _, m := range q.Receive(10, 1) {
			delete(missing, aws.ToString(m.MessageId))
		}
		return len(missing) == 0
	})
	q.WantNone(1)
}
