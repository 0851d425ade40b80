package gateway

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strconv"

	"sqsgate/gateway/api"
	"sqsgate/gateway/sigv4"
	"sqsgate/gateway/wire"
)

// maxBody bounds a request's body, in bytes. 1 MiB of messages takes three times
// that when every byte is escaped in a form (%C3), or every character outside
// ASCII in JSON (\u00e9, as Python's encoder does it).
const maxBody = 4 << 20

// call is a request on its way to its action.
type call struct {
	request *http.Request
	event   *event
	who     *sigv4.Identity // nil: everybody may do everything
	// undelivered, when set, takes back what an answer that could not be written
	// has handed out.
	undelivered func()
}

// exchange is the ResponseWriter of a request inside the middlewares. It carries
// what they and the event need, so that no request has to be copied for it.
type exchange struct {
	http.ResponseWriter
	event event
	call  call
	wrote bool
	// headers holds the values of the answer's header, one each.
	headers [3]string
}

// Places in exchange.headers.
const (
	headerRequestID = iota
	headerContentType
	headerContentLength
)

// set gives a header its value without an allocation of its own.
func (x *exchange) set(key string, place int, value string) {
	x.headers[place] = value
	x.Header()[key] = x.headers[place : place+1 : place+1]
}

// Unwrap serves http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader notes that the answer has begun.
func (x *exchange) WriteHeader(status int) {
	x.wrote = true
	x.event.status = status
	x.ResponseWriter.WriteHeader(status)
}

// exchangeOf is the exchange that observe put around the writer.
func exchangeOf(w http.ResponseWriter) *exchange {
	x, ok := w.(*exchange)
	if !ok {
		panic("gateway: a handler runs outside observe")
	}
	return x
}

// observe gives the request its id and, when it is over, its log line and
// metrics.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{ResponseWriter: w}
		x.event.start = s.opts.Now()
		x.event.requestID = newRequestID()
		x.event.format = wire.FormatOf(r.Header)
		x.set("X-Amzn-Requestid", headerRequestID, x.event.requestID)
		s.metrics.inFlight.Inc()
		defer func() {
			s.metrics.inFlight.Dec()
			s.finish(r, &x.event)
		}()
		next.ServeHTTP(x, r)
	})
}

// newRequestID makes a random UUID. It names a request in logs, nothing secret.
func newRequestID() string {
	var b [16]byte
	for i, v := 0, rand.Uint64(); i < 8; i++ {
		b[i] = byte(v >> (8 * i))
	}
	for i, v := 0, rand.Uint64(); i < 8; i++ {
		b[8+i] = byte(v >> (8 * i))
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	var t [36]byte
	hex.Encode(t[:8], b[:4])
	hex.Encode(t[9:13], b[4:6])
	hex.Encode(t[14:18], b[6:8])
	hex.Encode(t[19:23], b[8:10])
	hex.Encode(t[24:], b[10:])
	t[8], t[13], t[18], t[23] = '-', '-', '-', '-'
	return string(t[:])
}

// limit bounds the requests at work and the bytes of their bodies.
func (s *Server) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := r.ContentLength
		if size < 0 {
			size = maxBody
		}
		size = min(size, maxBody)
		requests, bytes := s.inFlight.Add(1), s.inFlightBytes.Add(size)
		defer func() {
			s.inFlight.Add(-1)
			s.inFlightBytes.Add(-size)
		}()
		if requests > int64(s.opts.MaxInFlight) || bytes > s.opts.MaxInFlightBytes {
			s.fail(exchangeOf(w), nil, api.Errorf(api.ServiceUnavailable, "The server is handling too many requests. Try again later."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// guard makes an InternalFailure of a panic.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(p)
			}
			x := exchangeOf(w)
			s.metrics.panics.Inc()
			s.opts.Logger.LogAttrs(r.Context(), slog.LevelError, "panic in a request",
				slog.String("request_id", x.event.requestID), slog.String("action", x.event.action),
				slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			if x.wrote {
				panic(http.ErrAbortHandler)
			}
			s.fail(x, nil, errPanic)
		}()
		next.ServeHTTP(w, r)
	})
}

var errPanic = errors.New("panic in a request")

// serve finds the action of a request, runs it and writes its answer.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	x := exchangeOf(w)
	body, err := readBody(r)
	if err != nil {
		// What is left of a refused body is not worth reading.
		x.Header().Set("Connection", "close")
		s.fail(x, nil, err)
		return
	}
	x.event.bytesIn = len(body)
	who, err := s.authenticate(r, body, &x.event)
	if err != nil {
		s.fail(x, nil, err)
		return
	}
	var in *wire.Input
	if x.event.format == wire.JSON {
		in, err = wire.NewJSON(r.Header, body)
	} else {
		in, err = wire.NewQuery(r.URL.RawQuery, body)
	}
	if err != nil {
		s.fail(x, nil, err)
		return
	}
	rt, err := s.route(r, x, in)
	if err != nil {
		s.fail(x, in, err)
		return
	}
	x.event.action = in.Action
	out := s.encoder()
	defer s.release(out)
	out.Reset(x.event.format, in.Action, x.event.requestID)
	c := &x.call
	c.request, c.event, c.who = r, &x.event, who
	if err := s.mayCall(c); err != nil {
		s.fail(x, in, err)
		return
	}
	if err := rt.run(r.Context(), c, in, out); err != nil {
		s.fail(x, in, s.lost(c, err))
		return
	}
	s.write(x, http.StatusOK, out.Bytes())
	if x.event.unsent != nil && c.undelivered != nil {
		c.undelivered()
	}
}

// route finds the action in the table.
func (s *Server) route(r *http.Request, x *exchange, in *wire.Input) (route, error) {
	rt, known := s.routes[in.Action]
	if x.event.format == wire.JSON {
		if !known {
			return route{}, invalidAction(in.Action)
		}
		return rt, nil
	}
	if in.Action == "" {
		return route{}, api.Errorf(api.UnknownOperation, "The request names no action.")
	}
	if _, address := s.nameOfPath(r.URL.Path); !known || rt.notAtQueue && address {
		return route{}, invalidAction(in.Action)
	}
	return rt, nil
}

func invalidAction(name string) error {
	return api.Errorf(api.InvalidAction, "The action %.256s is not valid for this endpoint.", name)
}

// readBody reads the whole body into memory of its own: what is decoded from it
// shares that memory.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, tooLarge()
	}
	if r.ContentLength >= 0 {
		body := make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, body); err != nil {
			return nil, incomplete(err)
		}
		return body, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, incomplete(err)
	}
	if len(body) > maxBody {
		return nil, tooLarge()
	}
	return body, nil
}

func tooLarge() error {
	return api.Errorf(api.RequestTooLarge, "The request is larger than %d bytes.", maxBody)
}

func incomplete(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return api.Errorf(api.Serialization, "The request ended before its body.")
}

// fail writes an error. in is nil when the request could not be read.
func (s *Server) fail(x *exchange, in *wire.Input, err error) {
	action := "Unknown" // the request may well name one
	if in != nil {
		action = in.Action
	}
	e := outward(err)
	if e.Kind == api.UnknownOperation {
		x.event.format = wire.XML // whatever the request accepts
	}
	f := fault(e, x.event.format)
	f.Message += canonicalStrings(err, x.event.format)
	x.event.code = f.Code
	x.event.cause = err
	if x.event.format == wire.JSON {
		x.Header()["X-Amzn-Query-Error"] = []string{f.QueryError()}
	}
	out := s.encoder()
	defer s.release(out)
	out.Reset(x.event.format, action, x.event.requestID)
	out.Fault(&f)
	s.write(x, f.Status, out.Bytes())
}

func (s *Server) write(x *exchange, status int, body []byte) {
	x.set("Content-Type", headerContentType, x.event.format.ContentType())
	x.set("Content-Length", headerContentLength, strconv.Itoa(len(body)))
	x.event.bytesOut = len(body)
	x.WriteHeader(status)
	if _, err := x.Write(body); err != nil {
		x.event.unsent = err
	}
}
