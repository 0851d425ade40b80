package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"sqsgate/codec"
	"sqsgate/gateway/catalog"
	"sqsgate/internal/ydbstatus"
	"sqsgate/topicd"
)

const defaultConsumer = "ydb-sqs-consumer"

// direct is an HTTP transport without a network, for virtual time.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// inBubble runs a test against a stack in virtual time.
func inBubble(t *testing.T, p parts, test func(t *testing.T, s *stack)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := p.assemble(t)
		s.url, s.client = "http://127.0.0.1:9324", &http.Client{Transport: direct{s.handler}}
		test(t, s)
	})
}

func elapse(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
	synctest.Wait()
}

func (s *stack) makeTopic(path string, partitions int64, consumers ...string) {
	s.t.Helper()
	req := &Ydb_Topic.CreateTopicRequest{Path: path, PartitioningSettings: &Ydb_Topic.PartitioningSettings{MinActivePartitions: partitions}}
	for _, name := range consumers {
		req.Consumers = append(req.Consumers, &Ydb_Topic.Consumer{Name: name})
	}
	resp, err := s.conn.Topics().CreateTopic(s.t.Context(), req)
	must(s.t, ydbstatus.Operation(resp.GetOperation(), err, nil))
}

func (s *stack) dropTopic(path string) {
	s.t.Helper()
	resp, err := s.conn.Topics().DropTopic(s.t.Context(), &Ydb_Topic.DropTopicRequest{Path: path})
	must(s.t, ydbstatus.Operation(resp.GetOperation(), err, nil))
}

func (s *stack) alter(req *Ydb_Topic.AlterTopicRequest) {
	s.t.Helper()
	resp, err := s.conn.Topics().AlterTopic(s.t.Context(), req)
	must(s.t, ydbstatus.Operation(resp.GetOperation(), err, nil))
}

// describe is nil when there is no topic.
func (s *stack) describe(path string) *Ydb_Topic.DescribeTopicResult {
	s.t.Helper()
	var result Ydb_Topic.DescribeTopicResult
	resp, err := s.conn.Topics().DescribeTopic(context.WithoutCancel(s.t.Context()), &Ydb_Topic.DescribeTopicRequest{Path: path})
	err = ydbstatus.Operation(resp.GetOperation(), err, &result)
	if ydbstatus.Is(err, Ydb.StatusIds_SCHEME_ERROR) {
		return nil
	}
	must(s.t, err)
	return &result
}

func (s *stack) queueNames() []string {
	s.t.Helper()
	var list []string
	urls, _ := s.call("ListQueues", object{})["QueueUrls"].([]any)
	for _, u := range urls {
		_, name, _ := strings.Cut(text(u), "/000000000000/")
		list = append(list, name)
	}
	return list
}

// drain receives and deletes until nothing comes for a second, and returns the bodies.
func (s *stack) drain(queueURL string) []string {
	s.t.Helper()
	var got []string
	for {
		messages, _ := s.again("ReceiveMessage", object{
			"QueueUrl": queueURL, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 1,
		})["Messages"].([]any)
		if len(messages) == 0 {
			return got
		}
		for i := range messages {
			m, _ := messages[i].(object)
			got = append(got, text(m["Body"]))
			s.call("DeleteMessage", object{"QueueUrl": queueURL, "ReceiptHandle": m["ReceiptHandle"]})
		}
	}
}

func (s *stack) url4(name string) string { return s.url + "/000000000000/" + name }

func TestConsumerIsSupplied(t *testing.T) {
	for _, on := range []bool{false, true} {
		inBubble(t, parts{catalog: func(o *catalog.Options) { o.AutoCreateConsumer = on }}, func(t *testing.T, s *stack) {
			s.makeTopic("/local/dir/orders", 2, "reader")
			s.put("/local/dir/orders", codec.Record{Codec: codec.Raw, Data: []byte("early")})
			var alters atomic.Int32
			s.control.Intercept(func(p topicd.Passing) topicd.Fault {
				if p.Method == "AlterTopic" && p.Direction == topicd.FromClient {
					alters.Add(1)
				}
				return topicd.Fault{}
			})
			if !on {
				if code := s.refused("GetQueueUrl", object{"QueueName": "dir/orders"}); code != "AWS.SimpleQueueService.NonExistentQueue" {
					t.Errorf("a topic without the consumer: %s", code)
				}
				if n := alters.Load(); n != 0 {
					t.Errorf("the topic was altered %d times", n)
				}
				return
			}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() { s.call("GetQueueUrl", object{"QueueName": "dir/orders"}) })
			}
			wg.Wait()
			if n := alters.Load(); n != 1 {
				t.Errorf("the topic was altered %d times, want once", n)
			}
			if got := s.drain(s.url4("dir/orders")); !slices.Equal(got, []string{"early"}) {
				t.Errorf("received %q", got)
			}
			if got := s.queueNames(); !slices.Equal(got, []string{"dir/orders"}) {
				t.Errorf("queues %q", got)
			}
			if code := s.refused("GetQueueUrl", object{"QueueName": "dir/none"}); code != "AWS.SimpleQueueService.NonExistentQueue" {
				t.Errorf("no topic at all: %s", code)
			}
			s.call("SendMessage", object{"QueueUrl": s.url4("dir/orders@second"), "MessageBody": "both"})
			if got := s.drain(s.url4("dir/orders@second")); !slices.Contains(got, "both") {
				t.Errorf("received %q with another consumer", got)
			}
		})
	}
}

// showShared has the server say that the default consumer of a topic is a shared one.
func (s *stack) showShared(topic string) {
	s.control.Intercept(func(p topicd.Passing) topicd.Fault {
		resp, ok := p.Message.(*Ydb_Topic.DescribeTopicResponse)
		if !ok || p.Direction != topicd.FromServer {
			return topicd.Fault{}
		}
		var result Ydb_Topic.DescribeTopicResult
		if resp.GetOperation().GetResult().UnmarshalTo(&result) != nil || result.GetSelf().GetName() != topic {
			return topicd.Fault{}
		}
		for _, c := range result.GetConsumers() {
			kind := protowire.Number(9) // streaming
			if c.GetName() == defaultConsumer {
				kind = 10
			}
			c.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, kind, protowire.BytesType), nil))
		}
		packed, err := anypb.New(&result)
		must(s.t, err)
		return topicd.Fault{Answer: &Ydb_Topic.DescribeTopicResponse{
			Operation: &Ydb_Operations.Operation{Ready: true, Status: Ydb.StatusIds_SUCCESS, Result: packed},
		}}
	})
}

// A queue whose consumer others have replaced by a shared one is forgotten, with
// all it had.
func TestConsumerBecomesShared(t *testing.T) {
	inBubble(t, parts{}, func(t *testing.T, s *stack) {
		const journal = "/local/sqsgate/journal/orders/__ydb-sqs-consumer"
		s.makeTopic("/local/orders", 1, defaultConsumer)
		s.call("SendMessage", object{"QueueUrl": s.url4("orders"), "MessageBody": "x"})
		s.call("ReceiveMessage", object{"QueueUrl": s.url4("orders")})
		if s.describe(journal) == nil {
			t.Fatal("there is no journal")
		}
		s.showShared("orders")
		s.refused("CreateQueue", object{"QueueName": "orders"})
		elapse(t, time.Minute)
		if s.describe(journal) != nil {
			t.Error("the journal is still there")
		}
		if got := s.queueNames(); len(got) != 0 {
			t.Errorf("queues %q", got)
		}
	})
}

// A consumer that the server shows as a shared one is of no use.
func TestSharedConsumerIsRefused(t *testing.T) {
	inBubble(t, parts{}, func(t *testing.T, s *stack) {
		s.makeTopic("/local/orders", 1, defaultConsumer, "other")
		s.showShared("orders")
		for action, params := range map[string]object{
			"GetQueueUrl":    {"QueueName": "orders"},
			"CreateQueue":    {"QueueName": "orders"},
			"SendMessage":    {"QueueUrl": s.url4("orders"), "MessageBody": "x"},
			"ReceiveMessage": {"QueueUrl": s.url4("orders")},
		} {
			got, err := s.send(t.Context(), s.request(action, params))
			must(t, err)
			if code := got.header.Get("X-Amzn-Query-Error"); code != "AWS.SimpleQueueService.UnsupportedOperation;Sender" ||
				!strings.Contains(string(got.body), defaultConsumer) || !strings.Contains(string(got.body), "--consumer") {
				t.Errorf("%s: %s %s", action, code, got.body)
			}
		}
		elapse(t, 2*time.Minute) // walks for new topics
		if got := s.queueNames(); len(got) != 0 {
			t.Errorf("queues %q", got)
		}
		s.call("SendMessage", object{"QueueUrl": s.url4("orders@other"), "MessageBody": "x"})
		if got := s.drain(s.url4("orders@other")); !slices.Equal(got, []string{"x"}) {
			t.Errorf("received %q with the streaming consumer", got)
		}
	})
}

// Each consumer of a topic is a queue of its own.
func TestConsumersOfOneTopic(t *testing.T) {
	inBubble(t, parts{}, func(t *testing.T, s *stack) {
		s.makeTopic("/local/orders", 2, defaultConsumer, "b", "c")
		q, b, c := s.url4("orders"), s.url4("orders@b"), s.url4("orders@c")
		for i := range 6 {
			s.call("SendMessage", object{"QueueUrl": b, "MessageBody": fmt.Sprint(i)})
		}
		want := []string{"0", "1", "2", "3", "4", "5"}
		s.call("PurgeQueue", object{"QueueUrl": c})
		if got := s.drain(b); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("received %q by b", got)
		}
		held := s.messages(q, object{"MaxNumberOfMessages": 1, "VisibilityTimeout": 20})
		if len(held) != 1 {
			t.Fatalf("received %v", held)
		}
		s.call("DeleteQueue", object{"QueueUrl": b})
		if got := s.drain(c); len(got) != 0 {
			t.Errorf("received %q after the purge", got)
		}
		elapse(t, 30*time.Second)
		if got := s.drain(q); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("received %q by the default consumer", got)
		}
		if topic := s.describe("/local/orders"); len(topic.GetConsumers()) != 2 {
			t.Errorf("consumers %v after one was deleted", topic.GetConsumers())
		}
		if code := s.refused("ReceiveMessage", object{"QueueUrl": b}); code != "AWS.SimpleQueueService.NonExistentQueue" {
			t.Errorf("the deleted one: %s", code)
		}
	})
}

// A topic that others drop takes its queue with it: who waits is told, nothing is
// left, and a topic that is made again begins anew.
func TestDroppedTopic(t *testing.T) {
	inBubble(t, parts{}, func(t *testing.T, s *stack) {
		const journal = "/local/sqsgate/journal/orders.fifo/__ydb-sqs-consumer"
		u := s.create("orders.fifo", object{"FifoQueue": "true"})
		send := object{"QueueUrl": u, "MessageBody": "first", "MessageGroupId": "g", "MessageDeduplicationId": "1"}
		s.call("SendMessage", send)
		old := s.messages(u, nil)
		if len(old) != 1 {
			t.Fatalf("received %v", old)
		}
		s.call("DeleteMessage", object{"QueueUrl": u, "ReceiptHandle": old[0]["ReceiptHandle"]})
		if s.describe(journal) == nil {
			t.Fatal("there is no journal")
		}
		ended := make(chan string)
		begun := time.Now()
		go func() {
			ended <- s.refused("ReceiveMessage", object{"QueueUrl": u, "WaitTimeSeconds": 20})
		}()
		elapse(t, time.Second)
		s.dropTopic("/local/orders.fifo")
		if code := <-ended; code != "AWS.SimpleQueueService.NonExistentQueue" || time.Since(begun) > 5*time.Second {
			t.Errorf("the long poll ended with %q after %v", code, time.Since(begun))
		}
		for action, params := range map[string]object{
			"SendMessage":    send,
			"ReceiveMessage": {"QueueUrl": u},
			"DeleteMessage":  {"QueueUrl": u, "ReceiptHandle": old[0]["ReceiptHandle"]},
			"PurgeQueue":     {"QueueUrl": u},
			"SendMessageBatch": {"QueueUrl": u, "Entries": []object{
				{"Id": "a", "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "2"},
			}},
		} {
			if code := s.refused(action, params); code != "AWS.SimpleQueueService.NonExistentQueue" {
				t.Errorf("%s: %s", action, code)
			}
		}
		elapse(t, time.Second)
		if got := s.queueNames(); len(got) != 0 || s.describe(journal) != nil {
			t.Errorf("queues %q, journal %v", got, s.describe(journal))
		}

		s.makeTopic("/local/orders.fifo", 1, defaultConsumer)
		s.call("SendMessage", send) // neither a duplicate nor deleted
		if got := s.messages(u, nil); len(got) != 1 || got[0]["Body"] != "first" {
			t.Errorf("received %v of the topic that was made again", got)
		}
		if code := s.refused("DeleteMessage", object{"QueueUrl": u, "ReceiptHandle": old[0]["ReceiptHandle"]}); code != "ReceiptHandleIsInvalid" {
			t.Errorf("a handle of the dropped topic: %s", code)
		}
	})
}

// A topic that is dropped and made again at once is not taken for the old one, also
// when nobody has looked in between.
func TestTopicMadeAgain(t *testing.T) {
	for _, fifo := range []string{"", ".fifo"} {
		inBubble(t, parts{}, func(t *testing.T, s *stack) {
			name := "orders" + fifo
			params := func(i int) object {
				p := object{"QueueUrl": s.url4(name), "MessageBody": fmt.Sprint(i)}
				if fifo != "" {
					p["MessageGroupId"], p["MessageDeduplicationId"] = "g", fmt.Sprint(i)
				}
				return p
			}
			s.makeTopic("/local/"+name, 1, defaultConsumer)
			for i := range 5 {
				s.call("SendMessage", params(i))
			}
			if got := s.drain(s.url4(name)); len(got) != 5 {
				t.Fatalf("received %q", got)
			}
			s.dropTopic("/local/" + name)
			s.makeTopic("/local/"+name, 1, defaultConsumer)
			elapse(t, time.Second) // until the server has ended the read session
			for i := range 5 {
				s.again("SendMessage", params(i))
			}
			if got := s.drain(s.url4(name)); !slices.Equal(got, []string{"0", "1", "2", "3", "4"}) {
				t.Errorf("%s: received %q of the new topic", name, got)
			}
		})
	}
}

// again repeats a call while the queue is not available, as SDKs do.
func (s *stack) again(action string, params object) (out object) {
	s.t.Helper()
	for range 20 {
		got, err := s.send(s.t.Context(), s.request(action, params))
		must(s.t, err)
		switch {
		case got.status == http.StatusOK:
			must(s.t, json.Unmarshal(got.body, &out))
			return out
		case got.status != http.StatusServiceUnavailable:
			s.t.Fatalf("%s: %d %s", action, got.status, got.body)
		}
		<-time.After(100 * time.Millisecond)
	}
	s.t.Fatal("the queue does not come back")
	return nil
}

// Without its consumer a queue is gone, unless that is supplied.
func TestRemovedConsumer(t *testing.T) {
	for _, supplied := range []bool{false, true} {
		inBubble(t, parts{catalog: func(o *catalog.Options) { o.AutoCreateConsumer = supplied }}, func(t *testing.T, s *stack) {
			s.makeTopic("/local/orders", 1, defaultConsumer)
			u := s.url4("orders")
			s.call("SendMessage", object{"QueueUrl": u, "MessageBody": "first"})
			if got := s.drain(u); len(got) != 1 {
				t.Fatalf("received %q", got)
			}
			s.alter(&Ydb_Topic.AlterTopicRequest{Path: "/local/orders", DropConsumers: []string{defaultConsumer}})
			elapse(t, time.Second)
			if !supplied {
				if code := s.refused("ReceiveMessage", object{"QueueUrl": u}); code != "AWS.SimpleQueueService.NonExistentQueue" {
					t.Errorf("receive: %s", code)
				}
				if got := s.queueNames(); len(got) != 0 {
					t.Errorf("queues %q", got)
				}
				return
			}
			// As a new consumer it sees what the topic keeps.
			if code := s.refused("ReceiveMessage", object{"QueueUrl": u}); code != "ServiceUnavailable" {
				t.Errorf("receive: %s", code)
			}
			if got := s.drain(u); !slices.Equal(got, []string{"first"}) {
				t.Errorf("received %q", got)
			}
		})
	}
}

// What others change on a topic does not disturb its queue.
func TestAlteredTopic(t *testing.T) {
	inBubble(t, parts{}, func(t *testing.T, s *stack) {
		s.makeTopic("/local/orders", 1, defaultConsumer)
		u, sent := s.url4("orders"), 0
		for name, req := range map[string]*Ydb_Topic.AlterTopicRequest{
			"nothing": nil,
			"partitions": {AlterPartitioningSettings: &Ydb_Topic.AlterPartitioningSettings{
				SetMinActivePartitions: new(int64(3)),
			}},
			"retention":        {SetRetentionPeriod: durationpb.New(48 * time.Hour)},
			"important":        {AlterConsumers: []*Ydb_Topic.AlterConsumer{{Name: defaultConsumer, SetImportant: new(true)}}},
			"another consumer": {AddConsumers: []*Ydb_Topic.Consumer{{Name: "reader"}}},
			"autopartitioning": {AlterPartitioningSettings: &Ydb_Topic.AlterPartitioningSettings{
				SetMaxActivePartitions: new(int64(10)),
				AlterAutoPartitioningSettings: &Ydb_Topic.AlterAutoPartitioningSettings{
					SetStrategy: new(Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_SCALE_UP),
				},
			}},
		} {
			if req != nil {
				req.Path = "/local/orders"
				s.alter(req)
			}
			elapse(t, 2*time.Second)
			var want []string
			for range 12 {
				want = append(want, fmt.Sprintf("%04d", sent))
				s.call("SendMessage", object{"QueueUrl": u, "MessageBody": fmt.Sprintf("%04d", sent)})
				sent++
			}
			if got := s.drain(u); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
				t.Errorf("after %s: received %q, want %q", name, got, want)
			}
		}
		s.put("/local/orders", codec.Record{Codec: codec.Raw, Data: []byte("last")})
		if got := s.drain(u); !slices.Equal(got, []string{"last"}) {
			t.Errorf("received %q at last", got)
		}
	})
}
