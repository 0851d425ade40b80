// Package admin is the handler of the admin port: metrics, health, and
// profiles. It asks for no credentials and is not meant for the public.
//
//	/metrics       Prometheus, of the registry it is given
//	/healthz       200 while the process runs
//	/readyz        200 when every check passes, else 503; JSON says what and why
//	/debug/pprof/  profiles of the Go runtime
//
// The package has no goroutine that outlives a request and keeps no state.
package admin
