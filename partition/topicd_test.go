package partition

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	dto "github.com/prometheus/client_model/go"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/codec"
	"sqsgate/internal/logread"
	"sqsgate/internal/ydbstatus"
	"sqsgate/internal/ydbtopic"
	"sqsgate/topicd"
)

// embedded starts a topic server with one topic of n partitions.
func embedded(t testing.TB, o topicd.Options, path string, n int64) Ydb_Topic_V1.TopicServiceClient {
	t.Helper()
	server, err := topicd.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	topics := ydbtopic.InProcess("/local", server.Register).Topics()
	response, err := topics.CreateTopic(context.Background(), &Ydb_Topic.CreateTopicRequest{
		Path:                              path,
		PartitioningSettings:              &Ydb_Topic.PartitioningSettings{MinActivePartitions: n},
		PartitionWriteSpeedBytesPerSecond: 1 << 30,
		PartitionWriteBurstBytes:          1 << 30,
	})
	if err := ydbstatus.Operation(response.GetOperation(), err, nil); err != nil {
		t.Fatal(err)
	}
	return topics
}

// contents reads a partition from its first message.
func contents(t *testing.T, topics Ydb_Topic_V1.TopicServiceClient, id int64) []string {
	t.Helper()
	r, err := logread.Open(t.Context(), topics, logread.Request{Path: standard.Path, Partition: id, Credit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []string
	for _, end := r.Bounds(); int64(len(all)) < end; {
		messages, _, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			if m.Offset != int64(len(all)) {
				t.Fatalf("offset %d after %d messages", m.Offset, len(all))
			}
			all = append(all, string(m.Data))
		}
	}
	return all
}

// Sessions die and fail to open again and again under load: each message ends
// up in the log once, at the place its result says.
func TestEmbeddedServerWithFaults(t *testing.T) {
	control := topicd.NewControl()
	topics := embedded(t, topicd.Options{FS: vfs.NewMem(), Control: control}, standard.Path, 2)
	p, err := New(Options{Topics: topics, Lanes: 3})
	if err != nil {
		t.Fatal(err)
	}
	var over atomic.Bool
	var faults, writers sync.WaitGroup
	faults.Go(func() {
		defer over.Store(true)
		for round := range 12 {
			<-time.After(time.Duration(rand.IntN(20)) * time.Millisecond)
			release := control.HoldAcks(standard.Path)
			<-time.After(5 * time.Millisecond)
			control.KillSessions(standard.Path)
			release()
			if round%4 == 0 {
				control.Fail("StreamWrite", 1, Ydb.StatusIds_UNAVAILABLE)
			}
		}
	})
	var mu sync.Mutex
	places := map[string]Result{}
	for w := range 8 {
		writers.Go(func() {
			for n := 0; !over.Load(); n++ {
				batch := []Message{
					message(fmt.Sprint("group", w), fmt.Sprintf("%d/%d/a", w, n)),
					message("", fmt.Sprintf("%d/%d/b", w, n)),
					message(fmt.Sprint("group", w), fmt.Sprintf("%d/%d/c", w, n)),
				}
				results := p.Write(t.Context(), standard, batch)
				mu.Lock()
				for i, r := range results {
					if r.Err != nil {
						t.Error(r.Err)
					}
					places[string(batch[i].Record.Data)] = r
				}
				mu.Unlock()
				if results[0].Offset >= results[2].Offset {
					t.Errorf("a group's messages are at %d and %d", results[0].Offset, results[2].Offset)
				}
			}
		})
	}
	faults.Wait()
	writers.Wait()
	closePool(t, p)
	var lookups dto.Metric
	if err := p.metrics.lookups.Write(&lookups); err != nil || lookups.GetCounter().GetValue() == 0 {
		t.Errorf("no offset was looked up (%v): the faults did not bite", err)
	}
	total := 0
	for id := range int64(2) {
		for offset, body := range contents(t, topics, id) {
			total++
			if r := places[body]; r.Partition != id || r.Offset != int64(offset) {
				t.Errorf("%s is at %d/%d, its result says %+v", body, id, offset, r)
			}
		}
	}
	if total != len(places) {
		t.Errorf("%d messages in the log, %d results", total, len(places))
	}
}

// An acknowledgement that never comes: the message is stored, the session dies,
// the offset is found by reading.
func TestEmbeddedServerLosesAcknowledgement(t *testing.T) {
	control := topicd.NewControl()
	topics := embedded(t, topicd.Options{FS: vfs.NewMem(), Control: control}, standard.Path, 1)
	p, err := New(Options{Topics: topics})
	if err != nil {
		t.Fatal(err)
	}
	defer closePool(t, p)
	for i := range 2 {
		release := control.HoldAcks(standard.Path)
		done := make(chan []Result)
		go func() { done <- p.Write(t.Context(), standard, []Message{message("g", "a"), message("g", "b")}) }()
		for len(contents(t, topics, 0)) < 2*i+2 {
			<-time.After(time.Millisecond)
		}
		control.KillSessions(standard.Path)
		release()
		results := <-done
		for k, r := range results {
			if r.Err != nil || r.Offset != int64(2*i+k) {
				t.Errorf("round %d message %d: %+v", i, k, r)
			}
		}
	}
	if got := fmt.Sprint(contents(t, topics, 0)); got != "[a b a b]" {
		t.Errorf("log %s", got)
	}
}

func TestEmbeddedServerRefuses(t *testing.T) {
	topics := embedded(t, topicd.Options{FS: vfs.NewMem()}, standard.Path, 1)
	p, err := New(Options{Topics: topics})
	if err != nil {
		t.Fatal(err)
	}
	defer closePool(t, p)
	large := message("g", "large")
	large.Record.Metadata = []codec.Item{{Key: "k", Value: make([]byte, codec.MaxMetadataBytes)}}
	results := p.Write(t.Context(), standard, []Message{message("g", "a"), large, message("g", "b")})
	if results[0].Err != nil || results[2].Err != nil || !ydbstatus.Is(results[1].Err, Ydb.StatusIds_BAD_REQUEST) {
		t.Errorf("got %+v", results)
	}
	if got := fmt.Sprint(contents(t, topics, 0)); got != "[a b]" {
		t.Errorf("log %s", got)
	}
	if r := one(t.Context(), p, Topic{Path: "/local/none"}, "", "a"); !errors.Is(r.Err, ErrTopicGone) {
		t.Errorf("got %v", r.Err)
	}
	response, err := topics.DropTopic(t.Context(), &Ydb_Topic.DropTopicRequest{Path: standard.Path})
	if err := ydbstatus.Operation(response.GetOperation(), err, nil); err != nil {
		t.Fatal(err)
	}
	if r := one(t.Context(), p, standard, "g", "late"); !errors.Is(r.Err, ErrTopicGone) {
		t.Errorf("got %v", r.Err)
	}
}

// BenchmarkEmbedded writes 1 KiB messages through one partition to the embedded
// server on disk, durable before every answer.
func BenchmarkEmbedded(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 1024)
	for _, c := range []struct {
		callers, batch int
		groups         bool
	}{{1, 1, false}, {64, 1, false}, {64, 1, true}, {64, 10, false}, {64, 10, true}} {
		b.Run(fmt.Sprintf("callers=%d/batch=%d/groups=%v", c.callers, c.batch, c.groups), func(b *testing.B) {
			topics := embedded(b, topicd.Options{DataDir: b.TempDir()}, standard.Path, 1)
			p, err := New(Options{Topics: topics})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			var callers sync.WaitGroup
			for k := range c.callers {
				callers.Go(func() {
					msgs := make([]Message, c.batch)
					for i := range msgs {
						msgs[i].Record = codec.Record{Codec: codec.Raw, Data: body}
						if c.groups {
							msgs[i].Group = fmt.Sprint(k, "-", i)
						}
					}
					for n := k; n < b.N; n += c.callers {
						for _, r := range p.Write(context.Background(), standard, msgs) {
							if r.Err != nil {
								b.Error(r.Err)
							}
						}
					}
				})
			}
			callers.Wait()
			b.ReportMetric(float64(b.N*c.batch)/b.Elapsed().Seconds(), "msg/s")
			if err := p.Close(context.Background()); err != nil {
				b.Error(err)
			}
		})
	}
}
