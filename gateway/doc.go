// Package gateway is the HTTP edge: the SQS API in front of the catalogue, the
// partition writers and the shared consumers.
//
// Server.Handler is the whole of it; internal/app owns the http.Server around
// it. A request goes through the middlewares (middleware.go: request id, one
// log line and metric, limits, a guard against panics), the one route table
// (routes.go) and its action (action_<name>.go, one an action). An action works
// on the shapes of package api; package wire reads and writes both protocols.
// Every error leaves through the one table in apierr.go.
//
// Move tasks are records of the catalogue; package movetask does their work.
//
// The package starts no goroutine. Each mutex is inside the type it guards and
// none is held over I/O: the cache of parsed queue attributes, the two cooldowns,
// and the deadlines that requests share. Bodies of sent messages share the memory
// of their request, which is therefore never pooled.
package gateway
