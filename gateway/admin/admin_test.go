package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func get(t *testing.T, o Options, path string) *httptest.ResponseRecorder {
	t.Helper()
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestPaths(t *testing.T) {
	reg := prometheus.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "sqsgate_test_total", Help: "For the test."})
	reg.MustRegister(c)
	c.Add(3)
	for path, want := range map[string]string{
		"/metrics":                    "sqsgate_test_total 3",
		"/healthz":                    "ok",
		"/readyz":                     `"ready": true`,
		"/debug/pprof/":               "goroutine",
		"/debug/pprof/goroutine":      "",
		"/debug/pprof/cmdline":        "admin",
		"/debug/pprof/heap?debug=1":   "heap profile",
		"/debug/pprof/symbol":         "num_symbols",
		"/debug/pprof/allocs?debug=1": "heap profile",
	} {
		w := get(t, Options{Gatherer: reg}, path)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d, body without %q", path, w.Code, want)
		}
	}
	if w := get(t, Options{}, "/"); w.Code != http.StatusNotFound {
		t.Errorf("/: status %d", w.Code)
	}
}

func TestReadyzNamesWhatIsNotReady(t *testing.T) {
	w := get(t, Options{Checks: map[string]Check{
		"cluster": func(context.Context) error { return errors.New("no route to host") },
		"catalog": func(context.Context) error { return nil },
	}}, "/readyz")
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d", w.Code)
	}
	var got report
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := report{NotReady: map[string]string{"cluster": "no route to host"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got): %s", diff)
	}
}

// Checks run side by side: two that hang cost one timeout.
func TestReadyzBoundsItsChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		start := time.Now()
		w := get(t, Options{Checks: map[string]Check{"a": hang, "b": hang}, CheckTimeout: 3 * time.Second}, "/readyz")
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("status %d", w.Code)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	if _, err := New(Options{CheckTimeout: -1}); err == nil {
		t.Error("a negative timeout was taken")
	}
}
