package sqs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"
)

// ErrRemote means that the endpoint is not on this machine and was not allowed
// to be elsewhere.
var ErrRemote = errors.New("not a loopback address; a load against another machine needs --allow-remote")

// Endpoint is where requests go, whatever host a queue's URL names.
type Endpoint struct {
	host    string // as the Host header has it
	address string // host:port
	tls     bool
	remote  bool // other machines are allowed
}

// ParseEndpoint reads http[s]://host[:port]. With allowRemote false every
// connection is refused unless it leads to a loopback address.
func ParseEndpoint(raw string, allowRemote bool) (Endpoint, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return Endpoint{}, fmt.Errorf("endpoint %q: %w", raw, err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return Endpoint{}, fmt.Errorf("endpoint %q: want http://host:port or https://host:port", raw)
	}
	if (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.User != nil {
		return Endpoint{}, fmt.Errorf("endpoint %q: want no path, query or user", raw)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return Endpoint{
		host:    u.Host,
		address: net.JoinHostPort(u.Hostname(), port),
		tls:     u.Scheme == "https",
		remote:  allowRemote,
	}, nil
}

// String is the endpoint as a URL.
func (e Endpoint) String() string {
	if e.tls {
		return "https://" + e.host
	}
	return "http://" + e.host
}

func (e Endpoint) dial(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{}
	if !e.remote {
		// Here, after names are resolved: a name says nothing about the place.
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || !at.Addr().Unmap().IsLoopback() {
				return ErrRemote
			}
			return nil
		}
	}
	if e.tls {
		secure := tls.Dialer{NetDialer: &dialer, Config: &tls.Config{NextProtos: []string{"http/1.1"}}}
		return secure.DialContext(ctx, "tcp", e.address)
	}
	return dialer.DialContext(ctx, "tcp", e.address)
}
