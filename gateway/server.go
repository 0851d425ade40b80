package gateway

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sqsgate/gateway/api"
	"sqsgate/gateway/wire"
)

// Server answers the SQS API. It is safe for concurrent use.
type Server struct {
	opts    Options
	metrics *metrics
	routes  map[string]route
	handler http.Handler
	queues  *queues
	purged  *cooldown
	deleted *cooldown
	// deadlines are those of requests that may wait so many seconds for messages.
	deadlines [api.MaxWaitSeconds + 1]deadlines
	// prefix is the path of PublicURL, which a proxy may pass on.
	prefix string

	inFlight      atomic.Int64
	inFlightBytes atomic.Int64
	encoders      sync.Pool // of *wire.Encoder
}

// New makes a Server.
func New(opts Options) (*Server, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	s := &Server{
		opts:    opts,
		metrics: newMetrics(opts.Registerer),
		queues:  newQueues(opts),
		purged:  newCooldown(opts.PurgeCooldown, opts.Now),
		deleted: newCooldown(opts.DeleteCooldown, opts.Now),
	}
	for seconds := range s.deadlines {
		s.deadlines[seconds].timeout = opts.RequestTimeout + time.Duration(seconds)*time.Second
	}
	s.encoders.New = func() any { return new(wire.Encoder) }
	if u, err := url.Parse(opts.PublicURL); err == nil {
		s.prefix = strings.TrimRight(u.Path, "/")
	}
	s.routes = s.table()
	s.handler = s.router()
	return s, nil
}

// Handler serves the SQS API.
func (s *Server) Handler() http.Handler { return s.handler }

// encoder borrows an Encoder; release gives it back.
func (s *Server) encoder() *wire.Encoder {
	e, ok := s.encoders.Get().(*wire.Encoder)
	if !ok {
		e = new(wire.Encoder)
	}
	return e
}

func (s *Server) release(e *wire.Encoder) {
	// A buffer that held ten large messages is not kept for answers of 400 bytes.
	if e.Cap() <= 64<<10 {
		s.encoders.Put(e)
	}
}

// Actions names the actions that are served.
func (s *Server) Actions() []string { return actionNames(s.routes) }

func unsupported(action string) error {
	return api.Errorf(api.UnsupportedOperation, "The action %s is not supported by this server yet.", action)
}
