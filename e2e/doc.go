// Package e2e tests the built binary with real clients, over TCP.
//
// Everything in it stands behind the build tag e2e: `make e2e`, or
// `go test -tags e2e ./e2e/...`. The binary is built once, or taken from
// SQSGATE_BIN. eachDeployment runs a test against `sqsgate serve` with the
// embedded topic server and against `sqsgate serve --ydb` with a `sqsgate
// topicd` of its own, so that both stay first-class.
//
// A Deployment can be killed, stopped and started again on its data. Ports are
// always picked by the system; the clients it hands out follow it to the new
// ones. The logs of its processes are printed when a test fails.
//
// A mixedLoad writes one topic through both APIs and holds what each side reads
// against a ledger. The test binary is a worker process, too, when the variable
// SQSGATE_E2E_WORKER has the URL of a queue.
package e2e
