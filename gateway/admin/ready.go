package admin

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Check returns nil when its part can serve, otherwise why not. It must return
// when ctx ends.
type Check func(ctx context.Context) error

// readiness answers /readyz.
type readiness struct {
	checks  map[string]Check
	timeout time.Duration
	log     *slog.Logger
}

// report is the body of the answer. NotReady maps the name of a failed check to
// its reason.
type report struct {
	Ready    bool              `json:"ready"`
	NotReady map[string]string `json:"not_ready,omitempty"`
}

func (h *readiness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rep := h.run(r.Context())
	body, err := json.MarshalIndent(rep, "", "  ")
	if err != nil {
		panic("admin: a report of strings cannot be encoded: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !rep.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write(append(body, '\n')) // the client has gone: nobody to tell
}

// run asks all checks at once, so that one that hangs does not use up the time
// of the others.
func (h *readiness) run(ctx context.Context) report {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		bad = make(map[string]string)
	)
	for name, check := range h.checks {
		wg.Go(func() {
			if err := check(ctx); err != nil {
				h.log.Debug("not ready", slog.String("check", name), slog.Any("error", err))
				mu.Lock()
				defer mu.Unlock()
				bad[name] = err.Error()
			}
		})
	}
	wg.Wait()
	return report{Ready: len(bad) == 0, NotReady: bad}
}
