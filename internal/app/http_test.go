package app

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sqsgate/config"
	"sqsgate/consumer"
	"sqsgate/gateway"
	"sqsgate/gateway/catalog"
	"sqsgate/partition"
)

// pipes is a listener whose connections are pipes, so that time can be virtual.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// A client that is slow holds its connection for a bounded time: 10 s for the
// headers, a minute for a request, two minutes between two of them.
func TestSlowClients(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.FooBar\r\nContent-Length: 1000\r\n\r\n"
	tests := []struct {
		name  string
		first string        // sent at once
		then  string        // a byte of it every second
		ends  time.Duration // when the server closes the connection
		want  string        // the start of what it said before
	}{
		{"nothing at all", "", "", headerTimeout, ""},
		{"headers by the byte", "", head, headerTimeout, "HTTP/1.1 400 Bad Request\r\n"},
		{"body by the byte", head, strings.Repeat(" ", 1000), time.Minute, "HTTP/1.1 400 Bad Request\r\n"},
		{"body that never comes", head, "", time.Minute, "HTTP/1.1 400 Bad Request\r\n"},
		{"nothing more", strings.Replace(head, "1000", "2", 1) + "{}", "", idleTimeout, "HTTP/1.1 400 Bad Request\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := gatewayProcess{log: slog.New(slog.DiscardHandler), cfg: config.Config{Gateway: config.Gateway{RequestTimeout: 10 * time.Second}}}
				edge, err := gateway.New(gateway.Options{Catalog: new(catalog.Catalog), Consumer: new(consumer.Consumer), Pool: new(partition.Pool)})
				if err != nil {
					t.Fatal(err)
				}
				server := p.httpServer(edge.Handler())
				lis := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
				served := make(chan error, 1)
				go func() { served <- server.Serve(lis) }()
				near, far := net.Pipe()
				lis.accepted <- far
				begin := time.Now()
				written := make(chan struct{})
				go func() {
					defer close(written)
					// What the server does not want any more fails.
					_, err := io.WriteString(near, tt.first)
					for i := 0; err == nil && i < len(tt.then); i++ {
						timer := time.NewTimer(time.Second)
						<-timer.C
						_, err = io.WriteString(near, tt.then[i:i+1])
					}
				}()
				said, err := io.ReadAll(bufio.NewReader(near))
				if err != nil || !strings.HasPrefix(string(said), tt.want) || tt.want == "" && len(said) > 0 {
					t.Errorf("the server said %q, %v; want %q", said, err, tt.want)
				}
				if took := time.Since(begin); took < tt.ends || took > tt.ends+2*time.Second {
					t.Errorf("the connection was closed after %v, want %v", took, tt.ends)
				}
				if err := errors.Join(near.Close(), server.Close()); err != nil {
					t.Error(err)
				}
				<-written
				if err := <-served; !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			})
		})
	}
}
