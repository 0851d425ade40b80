package ydbtopic

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	ydbconfig "github.com/ydb-platform/ydb-go-sdk/v3/config"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// Options says which cluster to dial and as whom. Without user and token the
// connection is anonymous.
type Options struct {
	// DSN is grpc[s]://host:port/database.
	DSN string

	User     string
	Password string

	// Token is an access token. TokenFile names a file that holds one; it is
	// read again when it has changed.
	Token     string
	TokenFile string

	// CAFile holds PEM certificates to trust beside the system's.
	CAFile string

	// ProbeInterval is the time between two questions whether the cluster still
	// answers. Default 3 s.
	ProbeInterval time.Duration
	// ConnectTimeout bounds one attempt to open the driver and one probe.
	// Default 5 s.
	ConnectTimeout time.Duration
	// MaxBackoff is the longest pause between two attempts to connect.
	// Default 5 s.
	MaxBackoff time.Duration

	Logger *slog.Logger // nil discards
}

func (o *Options) withDefaults() {
	if o.ProbeInterval == 0 {
		o.ProbeInterval = 3 * time.Second
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 5 * time.Second
	}
	if o.MaxBackoff == 0 {
		o.MaxBackoff = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

func (o *Options) validate() error {
	if o.ProbeInterval < 0 || o.ConnectTimeout < 0 || o.MaxBackoff < 0 {
		return errors.New("negative duration in the connection's options")
	}
	if o.User != "" && (o.Token != "" || o.TokenFile != "") {
		return errors.New("both a user and a token are given")
	}
	if o.Token != "" && o.TokenFile != "" {
		return errors.New("both a token and a token file are given")
	}
	return nil
}

// target is a parsed DSN.
type target struct {
	host     string
	database string
	secure   bool
}

func (t target) String() string {
	scheme := "grpc"
	if t.secure {
		scheme = "grpcs"
	}
	return scheme + "://" + t.host + t.database
}

// ParseDSN checks a DSN of the form grpc[s]://host:port/database and returns
// its database. Errors do not repeat the DSN, which may hold a password.
func ParseDSN(dsn string) (database string, err error) {
	t, err := parseTarget(dsn)
	return t.database, err
}

func parseTarget(dsn string) (target, error) {
	const form = "want grpc[s]://host:port/database"
	u, err := url.Parse(dsn)
	if err != nil {
		return target{}, errors.New("not a URL: " + form)
	}
	if u.Scheme != "grpc" && u.Scheme != "grpcs" {
		return target{}, fmt.Errorf("scheme %q: %s", u.Scheme, form)
	}
	if u.User != nil {
		return target{}, errors.New("user and password belong in options of their own, not in the address")
	}
	host, port, err := net.SplitHostPort(u.Host)
	if err != nil || host == "" || port == "" {
		return target{}, fmt.Errorf("host %q: %s", u.Host, form)
	}
	database := strings.TrimRight(u.Path, "/")
	if database == "" || u.RawQuery != "" || u.Fragment != "" {
		return target{}, fmt.Errorf("path %q: %s", u.RequestURI(), form)
	}
	return target{host: u.Host, database: database, secure: u.Scheme == "grpcs"}, nil
}

// maxMessageBytes bounds what is sent and received at once. Clusters take requests
// of 64 MB, and read responses hold one message at least.
const maxMessageBytes = 128 << 20

// driverOptions reads the CA file, so its errors come at once and not from a
// retry in the background.
func (o *Options) driverOptions(secure bool) ([]ydb.Option, error) {
	opts := []ydb.Option{
		ydb.WithDialTimeout(o.ConnectTimeout),
		// A message takes more in a read response than in the request that wrote it.
		ydb.WithGrpcMaxMessageSize(maxMessageBytes),
		// gRPC's own pauses grow to two minutes, and calls fail until one is over.
		ydb.With(ydbconfig.WithGrpcOptions(grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: o.MaxBackoff},
			MinConnectTimeout: o.ConnectTimeout,
		}))),
	}
	if o.CAFile != "" {
		if !secure {
			return nil, fmt.Errorf("CA file %s given for a grpc:// address, which is not encrypted", o.CAFile)
		}
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading the CA file: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s holds no PEM certificate", o.CAFile)
		}
		opts = append(opts, ydb.WithCertificatesFromPem(pem))
	}
	switch {
	case o.User != "":
		opts = append(opts, ydb.WithStaticCredentials(o.User, o.Password))
	case o.TokenFile != "":
		tf, err := openTokenFile(o.TokenFile)
		if err != nil {
			return nil, err
		}
		opts = append(opts, ydb.WithCredentials(tf))
	case o.Token != "":
		opts = append(opts, ydb.WithAccessTokenCredentials(o.Token))
	default:
		opts = append(opts, ydb.WithAnonymousCredentials())
	}
	return opts, nil
}
