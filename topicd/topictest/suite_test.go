package topictest

import (
	"errors"
	"net"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"sqsgate/topicd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTopicd(t *testing.T) {
	s, err := topicd.New(topicd.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(conn.Close(), s.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	Run(t, Target{Conn: conn, Database: "/local"})
}

func TestCluster(t *testing.T) {
	address := os.Getenv("SQSGATE_TEST_YDB")
	if address == "" {
		t.Skip("SQSGATE_TEST_YDB names no cluster")
	}
	db, err := ydb.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(t.Context()); err != nil {
			t.Log(err)
		}
	})
	Run(t, Target{Conn: ydb.GRPCConn(db), Database: db.Name()})
}
