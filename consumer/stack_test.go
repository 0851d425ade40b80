package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sqsgate/codec"
	"sqsgate/consumer"
	"sqsgate/consumer/journal"
	"sqsgate/internal/ydbstatus"
	"sqsgate/internal/ydbtopic"
	"sqsgate/topicd"
)

const (
	topic     = "/local/q"
	shared    = "ydb-sqs-consumer"
	stateRoot = "/local/sqsgate"
)

// stack is a topic server in the process with one shared consumer on it. All of
// it lives in a synctest bubble: time passes when everything waits.
type stack struct {
	t       testing.TB
	fs      vfs.FS
	control *topicd.Control
	server  *topicd.Server
	conn    *ydbtopic.Conn
	options consumer.Options
	c       *consumer.Consumer
}

// bubble runs test in virtual time with a stack whose topic has some
// partitions. Everything is closed at the end.
func bubble(t *testing.T, partitions int64, test func(t *testing.T, s *stack), change ...func(*consumer.Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, vfs.NewCrashableMem(), change...)
		defer s.close()
		s.createTopic(topic, partitions)
		test(t, s)
	})
}

// open starts a server on fs, and a consumer.
func open(t testing.TB, fs vfs.FS, change ...func(*consumer.Options)) *stack {
	t.Helper()
	s := &stack{t: t, fs: fs, control: topicd.NewControl()}
	server, err := topicd.New(topicd.Options{FS: fs, Control: s.control})
	if err != nil {
		t.Fatal(err)
	}
	s.server = server
	s.conn = ydbtopic.InProcess("/local", server.Register)
	s.options = consumer.Options{Topics: s.conn.Topics(), Scheme: s.conn.Scheme(), Database: "/local"}
	for _, c := range change {
		c(&s.options)
	}
	s.c = s.another("first")
	return s
}

// another makes one more consumer on the same server, as another gateway would.
func (s *stack) another(address string) *consumer.Consumer {
	s.t.Helper()
	o := s.options
	o.Address = address
	c, err := consumer.New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *stack) close() {
	s.closeConsumer(s.c)
	if err := errors.Join(s.conn.Close(context.Background()), s.server.Close()); err != nil {
		s.t.Errorf("closing the server: %v", err)
	}
}

func (s *stack) closeConsumer(c *consumer.Consumer) {
	if err := c.Close(context.Background()); err != nil {
		s.t.Errorf("closing the consumer: %v", err)
	}
}

// restart is a graceful stop of the consumer and a new one.
func (s *stack) restart() {
	s.closeConsumer(s.c)
	s.c = s.another("restarted")
}

// crash goes on with what the disk holds when the power fails now: a new server
// and a new consumer.
func (s *stack) crash() {
	s.goOn(s.powerFailure(vfs.CrashCloneCfg{}))
}

// powerFailure is what the disk holds when the power fails now. The stack itself
// works on.
func (s *stack) powerFailure(cfg vfs.CrashCloneCfg) *vfs.MemFS {
	mem, ok := s.fs.(*vfs.MemFS)
	if !ok {
		s.t.Fatal("the file system cannot crash")
	}
	return mem.CrashClone(cfg)
}

// goOn replaces the stack by one on another disk.
func (s *stack) goOn(after *vfs.MemFS) {
	s.close()
	next := open(s.t, after)
	next.options.BodyCacheBytes = s.options.BodyCacheBytes
	*s = *next
}

func (s *stack) createTopic(path string, partitions int64) {
	s.t.Helper()
	resp, err := s.conn.Topics().CreateTopic(s.t.Context(), &Ydb_Topic.CreateTopicRequest{
		Path:                 path,
		PartitioningSettings: &Ydb_Topic.PartitioningSettings{MinActivePartitions: partitions},
		Consumers:            []*Ydb_Topic.Consumer{{Name: shared}},
	})
	if err := ydbstatus.Operation(resp.GetOperation(), err, nil); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stack) dropTopic(path string) {
	s.t.Helper()
	resp, err := s.conn.Topics().DropTopic(s.t.Context(), &Ydb_Topic.DropTopicRequest{Path: path})
	s.must(ydbstatus.Operation(resp.GetOperation(), err, nil))
}

// message is one message to write.
type message struct {
	body, group, deduplication string
	delay                      int  // seconds, with a group or without
	private                    bool // the server does not know the id
}

// write stores messages in a partition and tells the consumer, as the gateway
// does. It returns the offset of the first.
func (s *stack) write(partition int64, messages ...message) int64 {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	stream, err := s.conn.Topics().StreamWrite(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	init := &Ydb_Topic.StreamWriteMessage_InitRequest{
		Path: topic, Partitioning: &Ydb_Topic.StreamWriteMessage_InitRequest_PartitionId{PartitionId: partition},
	}
	s.must(stream.Send(&Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_InitRequest{InitRequest: init},
	}))
	answer := func() *Ydb_Topic.StreamWriteMessage_FromServer {
		m, err := stream.Recv()
		if err == nil {
			err = ydbstatus.Check(m.GetStatus(), m.GetIssues())
		}
		s.must(err)
		return m
	}
	answer()
	request := &Ydb_Topic.StreamWriteMessage_WriteRequest{Codec: int32(Ydb_Topic.Codec_CODEC_RAW)}
	for i, m := range messages {
		out := codec.Message{Body: []byte(m.body), GroupID: m.group, DeduplicationID: m.deduplication, DelaySeconds: -1, PrivateDeduplication: m.private}
		if m.delay > 0 {
			out.DelaySeconds = m.delay
		}
		record, err := codec.Encode(&out)
		s.must(err)
		data := &Ydb_Topic.StreamWriteMessage_WriteRequest_MessageData{
			SeqNo: int64(i + 1), CreatedAt: timestamppb.Now(), Data: record.Data, UncompressedSize: int64(len(record.Data)),
		}
		for _, item := range record.Metadata {
			data.MetadataItems = append(data.MetadataItems, &Ydb_Topic.MetadataItem{Key: item.Key, Value: item.Value})
		}
		request.Messages = append(request.Messages, data)
	}
	s.must(stream.Send(&Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest{WriteRequest: request},
	}))
	first := int64(-1)
	for range len(messages) {
		for _, ack := range answer().GetWriteResponse().GetAcks() {
			if first < 0 {
				first = ack.GetWritten().GetOffset()
			}
			s.c.Wrote(topic, partition, ack.GetWritten().GetOffset())
			messages = messages[1:]
		}
		if len(messages) == 0 {
			break
		}
	}
	return first
}

func (s *stack) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// plain are messages without anything but their bodies.
func plain(bodies ...string) []message {
	list := make([]message, len(bodies))
	for i, b := range bodies {
		list[i] = message{body: b}
	}
	return list
}

// spec is the queue of the topic.
func spec(fifo bool) consumer.Spec {
	return consumer.Spec{
		Topic: topic, Consumer: shared, Incarnation: 7, FIFO: fifo,
		Settings: consumer.Settings{Retention: 4 * 24 * time.Hour},
	}
}

func (s *stack) standard() *consumer.Queue { return s.c.Queue(spec(false)) }
func (s *stack) fifo() *consumer.Queue     { return s.c.Queue(spec(true)) }

// receive asks for up to 10 messages for a minute, waiting as long as given.
func (s *stack) receive(q *consumer.Queue, wait time.Duration) []consumer.Received {
	s.t.Helper()
	return s.receiveFor(q, wait, time.Minute)
}

func (s *stack) receiveFor(q *consumer.Queue, wait, visibility time.Duration) []consumer.Received {
	s.t.Helper()
	got, err := q.Receive(s.t.Context(), consumer.ReceiveRequest{Max: 10, Visibility: visibility, Wait: wait})
	if err != nil {
		s.t.Fatalf("receiving: %v", err)
	}
	return got
}

// want receives until the bodies are there, in any order, and returns the
// messages by body.
func (s *stack) want(q *consumer.Queue, want ...string) map[string]consumer.Received {
	s.t.Helper()
	got := make(map[string]consumer.Received)
	for deadline := time.Now().Add(time.Minute); len(got) < len(want) && time.Now().Before(deadline); {
		for _, m := range s.receive(q, time.Second) {
			got[string(m.Record.Data)] = m
		}
	}
	for _, body := range want {
		if _, there := got[body]; !there {
			s.t.Fatalf("%q did not come; got %v", body, bodies(mapValues(got)))
		}
	}
	if len(got) != len(want) {
		s.t.Fatalf("got %v, want %v", bodies(mapValues(got)), want)
	}
	return got
}

func (s *stack) wantNone(q *consumer.Queue, wait time.Duration) {
	s.t.Helper()
	if got := s.receive(q, wait); len(got) > 0 {
		s.t.Fatalf("received %v, want nothing", bodies(got))
	}
}

func (s *stack) delete(q *consumer.Queue, messages ...consumer.Received) {
	s.t.Helper()
	handles := make([]string, len(messages))
	for i, m := range messages {
		handles[i] = m.Handle
	}
	s.must(errors.Join(q.Delete(s.t.Context(), handles)...))
}

func (s *stack) hide(q *consumer.Queue, m consumer.Received, d time.Duration) {
	s.t.Helper()
	s.must(q.ChangeVisibility(s.t.Context(), []consumer.VisibilityChange{{Handle: m.Handle, Timeout: d}})[0])
}

func (s *stack) wantCounts(q *consumer.Queue, visible, inFlight, delayed int64) {
	s.t.Helper()
	got, err := q.Counts(s.t.Context())
	if want := (consumer.Counts{Visible: visible, InFlight: inFlight, Delayed: delayed}); err != nil || got != want {
		s.t.Errorf("counts %+v, %v; want %+v", got, err, want)
	}
}

// committed is the offset below which the server thinks the partition done.
func (s *stack) committed(topic, name string, partition int64) int64 {
	s.t.Helper()
	resp, err := s.conn.Topics().DescribeConsumer(s.t.Context(), &Ydb_Topic.DescribeConsumerRequest{Path: topic, Consumer: name, IncludeStats: true})
	var result Ydb_Topic.DescribeConsumerResult
	s.must(ydbstatus.Operation(resp.GetOperation(), err, &result))
	for _, p := range result.GetPartitions() {
		if p.GetPartitionId() == partition {
			return p.GetPartitionConsumerStats().GetCommittedOffset()
		}
	}
	s.t.Fatalf("%s has no partition %d", topic, partition)
	return 0
}

func journalPath() string { return journal.Path(stateRoot, path.Base(topic), shared) }

// fence takes the journal of a partition over, as another owner would.
func (s *stack) fence(partition int64) {
	s.t.Helper()
	log, _, err := journal.Open(s.t.Context(), journal.Options{
		Topics: s.conn.Topics(), Path: journalPath(), Partition: 0, Owner: "another",
		Key:   journal.Key{Incarnation: 7, Partition: partition},
		Acked: func(journal.Ack) {},
	})
	s.must(err)
	log.Close()
}

// after lets virtual time go by.
func after(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
	synctest.Wait()
}

func bodies(messages []consumer.Received) []string {
	list := make([]string, len(messages))
	for i, m := range messages {
		list[i] = string(m.Record.Data)
	}
	return list
}

func mapValues(m map[string]consumer.Received) []consumer.Received {
	list := make([]consumer.Received, 0, len(m))
	for _, r := range m {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b consumer.Received) int { return int(a.Offset - b.Offset) })
	return list
}

// numbered are the bodies name0, name1, ...
func numbered(name string, count int) []string {
	list := make([]string, count)
	for i := range list {
		list[i] = fmt.Sprint(name, i)
	}
	return list
}

// unavailable is a status the server answers with when it has lost a node.
const unavailable = Ydb.StatusIds_UNAVAILABLE

// tenForAMinute is a receive that does not wait.
var tenForAMinute = consumer.ReceiveRequest{Max: 10, Visibility: time.Minute}
