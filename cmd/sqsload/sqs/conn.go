package sqs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

const (
	contentType  = "application/x-amz-json-1.0"
	maxAnswer    = 16 << 20 // bytes; ten messages of 1 MiB fit
	readBuffer   = 32 << 10
	maxExtraTime = 20 * time.Second // of a long poll, on top of the timeout
)

var errInterrupted = errors.New("connection interrupted")

// Conn is one keep-alive connection to an endpoint, dialled when first used and
// again after a failure.
type Conn struct {
	endpoint Endpoint
	timeout  time.Duration
	sign     Signer

	in      *bufio.Reader
	payload []byte // body of the request
	request []byte // head and body
	answer  []byte // body of the answer, valid until the next call
	broken  bool   // nothing more can follow on the connection

	mu          sync.Mutex // guards the rest; Interrupt comes from elsewhere
	conn        net.Conn
	interrupted bool
}

// Signer adds to the head of a request what the server wants for proof of the
// sender: whole lines that end with CR LF.
type Signer func(head []byte, host, target string, payload []byte) ([]byte, error)

// NewConn makes a connection without dialling. timeout bounds dialling and each
// call (a long poll's wait comes on top). sign may be nil.
func NewConn(endpoint Endpoint, timeout time.Duration, sign Signer) *Conn {
	return &Conn{endpoint: endpoint, timeout: timeout, sign: sign}
}

// Interrupt fails the call under way and all later ones. It may be called at
// any time, from any goroutine.
func (c *Conn) Interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupted = true
	if c.conn != nil {
		_ = c.conn.SetDeadline(time.Unix(1, 0)) // of a closed connection: nothing to interrupt
	}
}

// Close hangs up.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return nil
	}
	err := c.conn.Close()
	c.conn = nil
	return err
}

// arm returns the connection with the deadline of the next call set, and dials
// when there is none.
func (c *Conn) arm(extra time.Duration) (net.Conn, error) {
	if c.broken {
		c.broken = false
		_ = c.Close() // it has failed already
	}
	c.mu.Lock()
	conn, stopped := c.conn, c.interrupted
	c.mu.Unlock()
	if stopped {
		return nil, errInterrupted
	}
	if conn == nil {
		ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
		defer cancel()
		dialled, err := c.endpoint.dial(ctx)
		if err != nil {
			return nil, fmt.Errorf("connecting to %s: %w", c.endpoint, err)
		}
		conn = dialled
		if c.in == nil {
			c.in = bufio.NewReaderSize(conn, readBuffer)
		} else {
			c.in.Reset(conn)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
	if c.interrupted {
		return nil, errInterrupted
	}
	return conn, conn.SetDeadline(time.Now().Add(c.timeout + min(extra, maxExtraTime)))
}

// call sends c.payload and returns the answer's body. extra is what the server
// may take longer.
func (c *Conn) call(action string, extra time.Duration) ([]byte, error) {
	conn, err := c.arm(extra)
	if err != nil {
		return nil, err
	}
	if err := c.head(action); err != nil {
		return nil, err
	}
	c.request = append(c.request, c.payload...)
	if _, err := conn.Write(c.request); err != nil {
		c.broken = true
		return nil, fmt.Errorf("sending %s: %w", action, err)
	}
	status, queryError, err := c.read()
	if err != nil {
		c.broken = true
		return nil, fmt.Errorf("reading the answer to %s: %w", action, err)
	}
	if status != 200 {
		return nil, failure(status, queryError, c.answer)
	}
	return c.answer, nil
}

func (c *Conn) head(action string) error {
	h := append(c.request[:0], "POST / HTTP/1.1\r\nHost: "...)
	h = append(h, c.endpoint.host...)
	h = append(h, "\r\nContent-Type: "+contentType+"\r\nX-Amz-Target: AmazonSQS."...)
	h = append(h, action...)
	h = append(h, "\r\nContent-Length: "...)
	h = strconv.AppendInt(h, int64(len(c.payload)), 10)
	h = append(h, "\r\n"...)
	if c.sign != nil {
		signed, err := c.sign(h, c.endpoint.host, "AmazonSQS."+action, c.payload)
		if err != nil {
			return fmt.Errorf("signing %s: %w", action, err)
		}
		h = signed
	}
	c.request = append(h, "\r\n"...)
	return nil
}

// read takes one answer into c.answer.
func (c *Conn) read() (status int, queryError string, err error) {
	line, err := c.line()
	if err != nil {
		return 0, "", err
	}
	// HTTP/1.1 200 OK
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) || line[8] != ' ' {
		return 0, "", fmt.Errorf("%w: status line %q", ErrAnswer, line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, "", fmt.Errorf("%w: status line %q", ErrAnswer, line)
	}
	length, chunked := -1, false
	for {
		line, err := c.line()
		if err != nil {
			return 0, "", err
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case is(name, "content-length"):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 {
				return 0, "", fmt.Errorf("%w: content length %q", ErrAnswer, value)
			}
		case is(name, "transfer-encoding"):
			chunked = is(value, "chunked")
		case is(name, "connection"):
			c.broken = c.broken || is(value, "close")
		case is(name, "x-amzn-query-error"):
			queryError = string(value)
		}
	}
	c.answer = c.answer[:0]
	switch {
	case chunked:
		err = c.readChunks()
	case length >= 0:
		err = c.readBytes(length)
	default:
		err = fmt.Errorf("%w: neither a length nor chunks", ErrAnswer)
	}
	return status, queryError, err
}

func (c *Conn) readChunks() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseUint(string(size), 16, 31)
		if err != nil {
			return fmt.Errorf("%w: chunk size %q", ErrAnswer, size)
		}
		if n == 0 {
			break
		}
		if err := c.readBytes(int(n)); err != nil {
			return err
		}
		if line, err := c.line(); err != nil || len(line) != 0 {
			return fmt.Errorf("%w: no line end after a chunk", ErrAnswer)
		}
	}
	for { // trailers
		if line, err := c.line(); err != nil || len(line) == 0 {
			return err
		}
	}
}

func (c *Conn) readBytes(n int) error {
	have := len(c.answer)
	if n > maxAnswer-have {
		return fmt.Errorf("%w: more than %d bytes", ErrAnswer, maxAnswer)
	}
	if cap(c.answer) < have+n {
		c.answer = append(make([]byte, 0, 2*(have+n)), c.answer...)
	}
	c.answer = c.answer[:have+n]
	_, err := io.ReadFull(c.in, c.answer[have:])
	return err
}

// line returns a line without its end, valid until the next read.
func (c *Conn) line() ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func is(got []byte, want string) bool {
	return len(got) == len(want) && bytes.EqualFold(got, []byte(want))
}
