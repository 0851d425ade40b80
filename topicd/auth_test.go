package topicd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Auth_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Auth"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// With a static user nothing works without a token, and everything with one.
func TestLogin(t *testing.T) {
	ts := start(t, Options{User: "root", Password: "secret"})
	ctx := t.Context()
	login := Ydb_Auth_V1.NewAuthServiceClient(ts.conn)
	describe := &Ydb_Topic.DescribeTopicRequest{Path: "t"}
	if _, err := ts.client.DescribeTopic(ctx, describe); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a call without a token answered %v", err)
	}
	stream, err := ts.client.StreamWrite(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a stream without a token answered %v", err)
	}
	for _, req := range []*Ydb_Auth.LoginRequest{{User: "root", Password: "wrong"}, {User: "root"}, {User: "me", Password: "secret"}, {}} {
		res, err := login.Login(ctx, req)
		wantStatus(t, Ydb.StatusIds_UNAUTHORIZED)(res, err)
	}
	res, err := login.Login(ctx, &Ydb_Auth.LoginRequest{User: "root", Password: "secret"})
	result := new(Ydb_Auth.LoginResult)
	if err := wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err).GetResult().UnmarshalTo(result); err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]codes.Code{
		result.GetToken():                                codes.OK,
		result.GetToken() + "x":                          codes.Unauthenticated,
		strings.Replace(result.GetToken(), ".", ".e", 1): codes.Unauthenticated,
		"":    codes.Unauthenticated,
		"a.b": codes.Unauthenticated,
	} {
		_, err := ts.client.DescribeTopic(metadata.AppendToOutgoingContext(ctx, ticketHeader, token), describe)
		if status.Code(err) != want {
			t.Errorf("token %q answered %v, want %v", token, err, want)
		}
	}
	// The official client logs in by itself.
	db, err := ydb.Open(ctx, "grpc://"+ts.addr+"/local", ydb.WithStaticCredentials("root", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Topic().Create(ctx, "t"); err != nil {
		t.Error(err)
	}
	if err := db.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestTokensExpire(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	tok := newTokens("u", "p")
	token, err := tok.issue(now)
	if err != nil {
		t.Fatal(err)
	}
	if !tok.valid(token, now.Add(tokenLife-time.Second)) || tok.valid(token, now.Add(tokenLife)) {
		t.Error("the token does not live as long as it should")
	}
	if newTokens("u", "q").valid(token, now) {
		t.Error("the token is good after a change of the password")
	}
	if !newTokens("u", "p").valid(token, now) {
		t.Error("the token does not outlive a restart")
	}
}

func FuzzToken(f *testing.F) {
	tok := newTokens("u", "p")
	good, err := tok.issue(time.Now())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[:len(good)-1])
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		if token != good && tok.valid(token, time.Now()) {
			t.Errorf("%q is taken for a token", token)
		}
	})
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// Over TLS everything works the same, and discovery says that it is TLS.
func TestTLS(t *testing.T) {
	cert, pool := selfSigned(t)
	ts := start(t, Options{TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}})
	conn, err := grpc.NewClient(ts.addr, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ts.client = Ydb_Topic_V1.NewTopicServiceClient(conn)
	ts.createTopic(t, "t", 1)
	ts.fill(t, "t", 0, 2)
	res, err := Ydb_Discovery_V1.NewDiscoveryServiceClient(conn).ListEndpoints(t.Context(), &Ydb_Discovery.ListEndpointsRequest{Database: "/local"})
	list := new(Ydb_Discovery.ListEndpointsResult)
	if err := wantStatus(t, Ydb.StatusIds_SUCCESS)(res, err).GetResult().UnmarshalTo(list); err != nil {
		t.Fatal(err)
	}
	if e := list.GetEndpoints(); len(e) != 1 || !e[0].GetSsl() {
		t.Errorf("endpoints %v, want one with TLS", e)
	}
}

// DescribePartition is called as newer clients do, without generated code.
func TestDescribePartition(t *testing.T) {
	ts := start(t, Options{})
	ts.createTopic(t, "t", 2)
	ts.fill(t, "t", 1, 3)
	call := func(req *Ydb_Topic.DescribePartitionRequest, want Ydb.StatusIds_StatusCode) *Ydb_Topic.DescribePartitionResult {
		t.Helper()
		res := new(Ydb_Topic.DescribePartitionResponse)
		err := ts.conn.Invoke(t.Context(), describePartitionMethod, req, res)
		op := wantStatus(t, want)(res, err)
		out := new(Ydb_Topic.DescribePartitionResult)
		if want == Ydb.StatusIds_SUCCESS {
			if err := op.GetResult().UnmarshalTo(out); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	p := call(&Ydb_Topic.DescribePartitionRequest{Path: "t", PartitionId: 1, IncludeStats: true, IncludeLocation: true}, Ydb.StatusIds_SUCCESS).GetPartition()
	if p.GetPartitionId() != 1 || p.GetPartitionStats().GetPartitionOffsets().GetEnd() != 3 || p.GetPartitionLocation().GetNodeId() != nodeID {
		t.Errorf("described as %v", p)
	}
	call(&Ydb_Topic.DescribePartitionRequest{Path: "t", PartitionId: 2}, Ydb.StatusIds_SCHEME_ERROR)
	call(&Ydb_Topic.DescribePartitionRequest{Path: "t", PartitionId: -1}, Ydb.StatusIds_SCHEME_ERROR)
	call(&Ydb_Topic.DescribePartitionRequest{Path: "u"}, Ydb.StatusIds_SCHEME_ERROR)
	call(&Ydb_Topic.DescribePartitionRequest{}, Ydb.StatusIds_BAD_REQUEST)
}
