package topicd

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"
)

func TestScheme(t *testing.T) {
	fs := vfs.NewMem()
	ts := start(t, Options{FS: fs})
	scheme := Ydb_Scheme_V1.NewSchemeServiceClient(ts.conn)
	ctx := t.Context()
	mkdir := func(path string, want Ydb.StatusIds_StatusCode) {
		t.Helper()
		res, err := scheme.MakeDirectory(ctx, &Ydb_Scheme.MakeDirectoryRequest{Path: path})
		wantStatus(t, want)(res, err)
	}
	rmdir := func(path string, want Ydb.StatusIds_StatusCode) {
		t.Helper()
		res, err := scheme.RemoveDirectory(ctx, &Ydb_Scheme.RemoveDirectoryRequest{Path: path})
		wantStatus(t, want)(res, err)
	}
	list := func(path string) string {
		t.Helper()
		res, err := scheme.ListDirectory(ctx, &Ydb_Scheme.ListDirectoryRequest{Path: path})
		op := wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
		out := new(Ydb_Scheme.ListDirectoryResult)
		if err := op.GetResult().UnmarshalTo(out); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(out.GetSelf().GetName(), ":", out.GetSelf().GetType())
		for _, c := range out.GetChildren() {
			text += fmt.Sprint(" ", c.GetName(), ":", c.GetType())
		}
		return text
	}
	mkdir("/local/a/b", Ydb.StatusIds_SUCCESS)
	mkdir("a/b", Ydb.StatusIds_SUCCESS)
	mkdir("/else/a", Ydb.StatusIds_SCHEME_ERROR)
	mkdir("a//b", Ydb.StatusIds_SCHEME_ERROR)
	mkdir("a/ü", Ydb.StatusIds_SCHEME_ERROR)
	mkdir("a/"+strings.Repeat("x", 256), Ydb.StatusIds_SCHEME_ERROR)
	mkdir("a/..", Ydb.StatusIds_SCHEME_ERROR)
	ts.createTopic(t, "/local/a/q.fifo", 1)
	ts.createTopic(t, "ab", 1)
	mkdir("a/q.fifo/x", Ydb.StatusIds_SCHEME_ERROR)
	rmdir("a", Ydb.StatusIds_SCHEME_ERROR)
	rmdir("missing", Ydb.StatusIds_SCHEME_ERROR)
	rmdir("ab", Ydb.StatusIds_SCHEME_ERROR)
	rmdir("/local", Ydb.StatusIds_SCHEME_ERROR)
	rmdir("a/b", Ydb.StatusIds_SUCCESS)
	create := func(path string, want Ydb.StatusIds_StatusCode) {
		t.Helper()
		res, err := ts.client.CreateTopic(ctx, &Ydb_Topic.CreateTopicRequest{Path: path})
		wantStatus(t, want)(res, err)
	}
	create("a/q.fifo", Ydb.StatusIds_ALREADY_EXISTS)
	create("a", Ydb.StatusIds_SCHEME_ERROR)
	create("no/such/topic", Ydb.StatusIds_SUCCESS)
	create("ab/topic", Ydb.StatusIds_SCHEME_ERROR)
	create("", Ydb.StatusIds_BAD_REQUEST)
	for range 2 { // the second time after a restart
		if got := list("/local/"); got != "local:DATABASE a:DIRECTORY ab:TOPIC no:DIRECTORY" {
			t.Error(got)
		}
		if got := list("no/such"); got != "such:DIRECTORY topic:TOPIC" {
			t.Error(got)
		}
		if got := list("a"); got != "a:DIRECTORY q.fifo:TOPIC" {
			t.Error(got)
		}
		if got := list("/"); got != "/:DIRECTORY local:DATABASE" {
			t.Error(got)
		}
		res, err := scheme.DescribePath(ctx, &Ydb_Scheme.DescribePathRequest{Path: "a/missing"})
		wantStatus(t, Ydb.StatusIds_SCHEME_ERROR)(res, err)
		ts.stop()
		ts = start(t, Options{FS: fs})
		scheme = Ydb_Scheme_V1.NewSchemeServiceClient(ts.conn)
	}
	// Relative paths belong to the database of the header.
	other := metadata.AppendToOutgoingContext(ctx, "x-ydb-database", "/other")
	res, err := ts.client.DescribeTopic(other, &Ydb_Topic.DescribeTopicRequest{Path: "ab"})
	wantStatus(t, Ydb.StatusIds_SCHEME_ERROR)(res, err)
	ours := metadata.AppendToOutgoingContext(ctx, "x-ydb-database", "/local")
	res, err = ts.client.DescribeTopic(ours, &Ydb_Topic.DescribeTopicRequest{Path: "ab"})
	wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
}

func TestDiscovery(t *testing.T) {
	endpoint := func(ts *testServer) *Ydb_Discovery.EndpointInfo {
		t.Helper()
		res, err := Ydb_Discovery_V1.NewDiscoveryServiceClient(ts.conn).ListEndpoints(t.Context(), &Ydb_Discovery.ListEndpointsRequest{Database: "/local"})
		op := wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
		out := new(Ydb_Discovery.ListEndpointsResult)
		if err := op.GetResult().UnmarshalTo(out); err != nil {
			t.Fatal(err)
		}
		return out.GetEndpoints()[0]
	}
	ts := start(t, Options{})
	if e := endpoint(ts); fmt.Sprintf("%s:%d", e.GetAddress(), e.GetPort()) != ts.addr || e.GetSsl() || e.GetNodeId() != 1 {
		t.Errorf("endpoint %v, the server listens on %s", e, ts.addr)
	}
	if e := endpoint(start(t, Options{Advertise: "example.org:77"})); e.GetAddress() != "example.org" || e.GetPort() != 77 {
		t.Errorf("advertised %v", e)
	}
	who, err := Ydb_Discovery_V1.NewDiscoveryServiceClient(ts.conn).WhoAmI(t.Context(), &Ydb_Discovery.WhoAmIRequest{})
	wantStatus(t, Ydb.StatusIds_SUCCESS)(who, err)
	tx, err := ts.client.UpdateOffsetsInTransaction(t.Context(), &Ydb_Topic.UpdateOffsetsInTransactionRequest{})
	wantStatus(t, Ydb.StatusIds_UNSUPPORTED)(tx, err)
}

func TestCreateChecks(t *testing.T) {
	ts := start(t, Options{})
	partitions := func(minActive, maxActive int64) *Ydb_Topic.PartitioningSettings {
		return &Ydb_Topic.PartitioningSettings{MinActivePartitions: minActive, MaxActivePartitions: maxActive}
	}
	codecs := func(c ...int32) *Ydb_Topic.SupportedCodecs { return &Ydb_Topic.SupportedCodecs{Codecs: c} }
	withUp := partitions(1, 2)
	withUp.AutoPartitioningSettings = &Ydb_Topic.AutoPartitioningSettings{
		Strategy:            Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_SCALE_UP,
		PartitionWriteSpeed: &Ydb_Topic.AutoPartitioningWriteSpeedStrategy{UpUtilizationPercent: 101},
	}
	many := make([]*Ydb_Topic.Consumer, maxConsumers+1)
	for i := range many {
		many[i] = &Ydb_Topic.Consumer{Name: fmt.Sprint("c", i)}
	}
	shared := &Ydb_Topic.Consumer{Name: "c"}
	shared.ProtoReflect().SetUnknown([]byte{10<<3 | 2, 0})
	streaming := &Ydb_Topic.Consumer{Name: "c"}
	streaming.ProtoReflect().SetUnknown([]byte{9<<3 | 2, 0})
	type req = Ydb_Topic.CreateTopicRequest
	type consumers = []*Ydb_Topic.Consumer
	for i, tc := range []struct {
		req  *req
		code Ydb.StatusIds_StatusCode
		text string
	}{
		{&req{PartitioningSettings: partitions(-1, 0)}, Ydb.StatusIds_BAD_REQUEST, "must be positive"},
		{&req{PartitioningSettings: partitions(math.MaxInt64, 0)}, Ydb.StatusIds_BAD_REQUEST, "Partitions count"},
		{&req{PartitioningSettings: partitions(3, 2)}, Ydb.StatusIds_BAD_REQUEST, "Max active partitions"},
		{&req{PartitioningSettings: withUp}, Ydb.StatusIds_BAD_REQUEST, "percent"},
		{&req{SupportedCodecs: codecs(5)}, Ydb.StatusIds_BAD_REQUEST, "Unknown codec with value 5"},
		{&req{SupportedCodecs: codecs(0)}, Ydb.StatusIds_BAD_REQUEST, "Unknown codec with value 0"},
		{&req{SupportedCodecs: codecs(1, 4, 10000, 10077)}, Ydb.StatusIds_SUCCESS, ""},
		{&req{RetentionPeriod: durationpb.New(0)}, Ydb.StatusIds_BAD_REQUEST, "retention_period"},
		{&req{RetentionPeriod: durationpb.New(-time.Hour)}, Ydb.StatusIds_BAD_REQUEST, "retention_period"},
		{&req{RetentionPeriod: &durationpb.Duration{Seconds: 1 << 31}}, Ydb.StatusIds_BAD_REQUEST, "retention_period"},
		{&req{PartitionWriteSpeedBytesPerSecond: 1 << 20, PartitionWriteBurstBytes: 2<<20 + 2}, Ydb.StatusIds_BAD_REQUEST, "Invalid write burst"},
		{&req{PartitionWriteSpeedBytesPerSecond: 1000, PartitionWriteBurstBytes: 1 << 20}, Ydb.StatusIds_SUCCESS, ""},
		{&req{Consumers: consumers{{}}}, Ydb.StatusIds_BAD_REQUEST, "empty name"},
		{&req{Consumers: consumers{{Name: "a/b"}}}, Ydb.StatusIds_BAD_REQUEST, "illegal"},
		{&req{Consumers: consumers{{Name: "a|b"}}}, Ydb.StatusIds_BAD_REQUEST, "illegal"},
		{&req{Consumers: consumers{{Name: "a"}, {Name: "a"}}}, Ydb.StatusIds_BAD_REQUEST, "Duplicate consumer name a"},
		{&req{Consumers: consumers{{Name: "a", Important: true, AvailabilityPeriod: durationpb.New(time.Hour)}}}, Ydb.StatusIds_BAD_REQUEST, "availability_period"},
		{&req{SupportedCodecs: codecs(1, 2), Consumers: consumers{{Name: "a", SupportedCodecs: codecs(1)}}}, Ydb.StatusIds_BAD_REQUEST, "codec 2"},
		{&req{Consumers: many}, Ydb.StatusIds_BAD_REQUEST, "3000"},
		{&req{Consumers: consumers{shared}}, Ydb.StatusIds_BAD_REQUEST, "shared consumers"},
		{&req{Consumers: consumers{streaming}}, Ydb.StatusIds_SUCCESS, ""},
		{&req{Attributes: map[string]string{"mine": "x"}}, Ydb.StatusIds_BAD_REQUEST, "Attribute mine is not supported"},
		{&req{Attributes: map[string]string{"_partitions_per_tablet": "21"}}, Ydb.StatusIds_BAD_REQUEST, "partitions_per_tablet"},
		{&req{Attributes: map[string]string{"_message_group_seqno_retention_period_ms": "1382400000"}}, Ydb.StatusIds_SUCCESS, ""},
		{&req{MeteringMode: Ydb_Topic.MeteringMode_METERING_MODE_REQUEST_UNITS}, Ydb.StatusIds_PRECONDITION_FAILED, "Metering mode"},
	} {
		tc.req.Path = fmt.Sprint("t", i)
		res, err := ts.client.CreateTopic(t.Context(), tc.req)
		if err != nil {
			t.Fatal(err)
		}
		op := res.GetOperation()
		if op.GetStatus() != tc.code || (tc.text != "" && !strings.Contains(op.GetIssues()[0].GetMessage(), tc.text)) {
			t.Errorf("case %d: %v, want %v %q", i, op, tc.code, tc.text)
		}
	}
}

func TestAlter(t *testing.T) {
	fs := vfs.NewMem()
	ts := start(t, Options{FS: fs})
	ts.createTopic(t, "t", 2, "c", "d")
	type req = Ydb_Topic.AlterTopicRequest
	alter := func(r *req, want Ydb.StatusIds_StatusCode) {
		t.Helper()
		r.Path = "t"
		res, err := ts.client.AlterTopic(t.Context(), r)
		wantStatus(t, want)(res, err)
	}
	r := ts.mustReader(t, "t", "c")
	r.recvStart()
	r.recvStart()
	parts := func(n int64) *Ydb_Topic.AlterPartitioningSettings {
		return &Ydb_Topic.AlterPartitioningSettings{SetMinActivePartitions: &n}
	}
	alter(&req{AlterPartitioningSettings: parts(1)}, Ydb.StatusIds_BAD_REQUEST)
	alter(&req{AlterPartitioningSettings: parts(3)}, Ydb.StatusIds_SUCCESS)
	if p := r.recvStart().GetPartitionSession().GetPartitionId(); p != 2 {
		t.Errorf("the reader got partition %d", p)
	}
	alter(&req{AddConsumers: []*Ydb_Topic.Consumer{{Name: "c"}}}, Ydb.StatusIds_ALREADY_EXISTS)
	alter(&req{DropConsumers: []string{"x"}}, Ydb.StatusIds_NOT_FOUND)
	alter(&req{AlterConsumers: []*Ydb_Topic.AlterConsumer{{Name: "x"}}}, Ydb.StatusIds_NOT_FOUND)
	alter(&req{AlterAttributes: map[string]string{"x": "y"}}, Ydb.StatusIds_BAD_REQUEST)
	alter(&req{
		SetRetentionPeriod: durationpb.New(time.Hour), AddConsumers: []*Ydb_Topic.Consumer{{Name: "e"}},
		AlterConsumers:                       []*Ydb_Topic.AlterConsumer{{Name: "d", SetImportant: ptr(true)}},
		SetPartitionWriteSpeedBytesPerSecond: ptr(int64(2 << 20)),
	}, Ydb.StatusIds_SUCCESS)
	auto := Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_SCALE_UP
	off := Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_DISABLED
	strategy := func(s Ydb_Topic.AutoPartitioningStrategy) *Ydb_Topic.AlterPartitioningSettings {
		return &Ydb_Topic.AlterPartitioningSettings{AlterAutoPartitioningSettings: &Ydb_Topic.AlterAutoPartitioningSettings{SetStrategy: &s}}
	}
	alter(&req{AlterPartitioningSettings: strategy(auto)}, Ydb.StatusIds_SUCCESS)
	alter(&req{AlterPartitioningSettings: strategy(off)}, Ydb.StatusIds_BAD_REQUEST)
	alter(&req{DropConsumers: []string{"c"}}, Ydb.StatusIds_SUCCESS)
	r.wantEnd(Ydb.StatusIds_SCHEME_ERROR, "no read rule")
	for range 2 {
		d := ts.describe(t, "t")
		speed := d.GetPartitioningSettings().GetAutoPartitioningSettings().GetPartitionWriteSpeed()
		if len(d.GetPartitions()) != 3 || len(d.GetConsumers()) != 2 || !d.GetConsumers()[0].GetImportant() ||
			d.GetRetentionPeriod().AsDuration() != time.Hour || d.GetPartitionWriteSpeedBytesPerSecond() != 2<<20 || d.GetPartitionWriteBurstBytes() != 1<<20 ||
			speed.GetUpUtilizationPercent() != 80 || speed.GetDownUtilizationPercent() != 20 || speed.GetStabilizationWindow().AsDuration() != 300*time.Second {
			t.Errorf("description %v", d)
		}
		ts.stop()
		ts = start(t, Options{FS: fs})
	}
	res, err := ts.client.DescribeConsumer(t.Context(), &Ydb_Topic.DescribeConsumerRequest{Path: "t", Consumer: "c"})
	wantStatus(t, Ydb.StatusIds_SCHEME_ERROR)(res, err)
	dropped, err := ts.client.AlterTopic(t.Context(), &req{Path: "missing"})
	wantStatus(t, Ydb.StatusIds_SCHEME_ERROR)(dropped, err)
}

// The key bounds and the choice of partitions are those of YDB.
func TestProducerToPartition(t *testing.T) {
	for _, tc := range []struct {
		n    int
		want string
	}{
		{2, "7ffffffffffffffffffffffffffffffe"},
		{4, "3ffffffffffffffffffffffffffffffe 7ffffffffffffffffffffffffffffffd bffffffffffffffffffffffffffffffc"},
	} {
		var got []string
		for i := range tc.n - 1 {
			got = append(got, hex.EncodeToString(upperBound(i, tc.n)))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("bounds of %d partitions: %v", tc.n, got)
		}
	}
	ts := start(t, Options{})
	ts.createTopic(t, "fixed", 4)
	set := &Ydb_Topic.PartitioningSettings{
		MinActivePartitions:      4,
		AutoPartitioningSettings: &Ydb_Topic.AutoPartitioningSettings{Strategy: Ydb_Topic.AutoPartitioningStrategy_AUTO_PARTITIONING_STRATEGY_SCALE_UP},
	}
	res, err := ts.client.CreateTopic(t.Context(), &Ydb_Topic.CreateTopicRequest{Path: "auto", PartitioningSettings: set})
	wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
	d := ts.describe(t, "auto").GetPartitions()
	if d[0].GetKeyRange().GetFromBound() != nil || d[3].GetKeyRange().GetToBound() != nil || hex.EncodeToString(d[1].GetKeyRange().GetFromBound()) != hex.EncodeToString(d[0].GetKeyRange().GetToBound()) {
		t.Errorf("key ranges %v", d)
	}
	if k := ts.describe(t, "fixed").GetPartitions()[1].GetKeyRange(); k != nil {
		t.Errorf("a fixed topic has the key range %v", k)
	}
	// MD5 begins: a 0cc1, key 3c6e, user-1 d6d7, message_group_id_1 26a8.
	for producer, want := range map[string]int64{"a": 0, "key": 0, "user-1": 3, "message_group_id_1": 0} {
		for _, topic := range []string{"fixed", "auto"} {
			w, _ := ts.openWriter(t, &writeInit{Path: topic, ProducerId: producer})
			if got := w.init.GetPartitionId(); got != want {
				t.Errorf("producer %q writes to partition %d of %s, want %d", producer, got, topic, want)
			}
		}
	}
	// The choice sticks when partitions are added.
	alter, err := ts.client.AlterTopic(t.Context(), &Ydb_Topic.AlterTopicRequest{
		Path: "fixed", AlterPartitioningSettings: &Ydb_Topic.AlterPartitioningSettings{SetMinActivePartitions: ptr(int64(8))},
	})
	wantStatus(t, Ydb.StatusIds_SUCCESS)(alter, err)
	w, _ := ts.openWriter(t, &writeInit{Path: "fixed", ProducerId: "user-1"})
	if got := w.init.GetPartitionId(); got != 3 {
		t.Errorf("a known producer writes to partition %d of 8, want 3", got)
	}
}

// usageFS reports the free space that the test sets.
type usageFS struct {
	vfs.FS
	avail atomic.Uint64
}

func (f *usageFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: f.avail.Load()}, nil
}

func TestDiskFull(t *testing.T) {
	fs := &usageFS{FS: vfs.NewMem()}
	fs.avail.Store(1 << 40)
	ts := start(t, Options{FS: fs})
	ts.createTopic(t, "t", 1, "c")
	w := ts.mustWriter(t, "t", "p", 0)
	w.write(1, "a")
	fs.avail.Store(0)
	w.request(1, message(2, "b"))
	w.wantEnd(Ydb.StatusIds_OVERLOADED, "Disk is full")
	res, err := ts.client.CommitOffset(t.Context(), &Ydb_Topic.CommitOffsetRequest{Path: "t", Consumer: "c", Offset: 1})
	wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err)
	fs.avail.Store(1 << 40)
	w = ts.mustWriter(t, "t", "p", 0)
	if w.init.GetLastSeqNo() != 1 || w.write(2, "b").GetWritten().GetOffset() != 1 {
		t.Error("the refused write left a trace")
	}
}

func TestLockedAndDamaged(t *testing.T) {
	dir := t.TempDir()
	ts := start(t, Options{DataDir: dir})
	ts.createTopic(t, "t", 1)
	if _, err := New(Options{DataDir: dir}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second server on the directory: %v", err)
	}
	ts.stop()
	names, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	if err := os.WriteFile(names[0], []byte("garbage that is no record at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{DataDir: dir}); err == nil || !strings.Contains(err.Error(), filepath.Base(names[0])) {
		t.Errorf("opening with a broken MANIFEST: %v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {DataDir: "x", Database: "local"}, {DataDir: "x", Database: "/local/"}, {DataDir: "x", TailBytes: -1}} {
		if _, err := New(o); err == nil {
			t.Errorf("New accepts %+v", o)
		}
	}
}
