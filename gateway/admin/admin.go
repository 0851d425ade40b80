package admin

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options is what the admin port shows. The zero value serves everything, with
// no metrics and always ready.
type Options struct {
	// Gatherer is what /metrics shows; nil shows nothing.
	Gatherer prometheus.Gatherer
	// Checks by name; all must pass for /readyz.
	Checks map[string]Check
	// CheckTimeout bounds all checks of one request together. Default 2 s.
	CheckTimeout time.Duration
	Logger       *slog.Logger // nil discards
}

func (o *Options) withDefaults() {
	if o.Gatherer == nil {
		o.Gatherer = prometheus.NewRegistry()
	}
	if o.CheckTimeout == 0 {
		o.CheckTimeout = 2 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

func (o *Options) validate() error {
	if o.CheckTimeout < 0 {
		return errors.New("admin: negative CheckTimeout")
	}
	return nil
}

// New returns the handler.
func New(o Options) (http.Handler, error) {
	o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	r := mux.NewRouter()
	r.Handle("/metrics", promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn),
		// One broken collector must not hide the rest.
		ErrorHandling: promhttp.ContinueOnError,
	})).Methods(http.MethodGet)
	r.HandleFunc("/healthz", healthz).Methods(http.MethodGet, http.MethodHead)
	r.Handle("/readyz", &readiness{checks: o.Checks, timeout: o.CheckTimeout, log: o.Logger}).
		Methods(http.MethodGet, http.MethodHead)

	profiles := r.PathPrefix("/debug/pprof").Subrouter()
	profiles.HandleFunc("/cmdline", pprof.Cmdline)
	profiles.HandleFunc("/profile", pprof.Profile)
	profiles.HandleFunc("/symbol", pprof.Symbol)
	profiles.HandleFunc("/trace", pprof.Trace)
	profiles.PathPrefix("/").HandlerFunc(pprof.Index) // the other profiles by name
	return r, nil
}

func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n")) // the client has gone: nobody to tell
}
