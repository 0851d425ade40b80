// Package ydbtopic is the connection to whatever serves the Topic API: a YDB
// cluster through the driver of ydb-go-sdk, or the embedded server through an
// in-process channel. Nothing else in sqsgate knows which of the two it is.
//
// A Conn hands out the generated stubs. On top of the SDK only discovery,
// balancing, credentials and TLS are used; retries and status reading are left
// to the callers, who know what may be repeated.
//
// Dial does not need the cluster to be up. One goroutine per dialled Conn opens
// the driver, with back-off, and afterwards asks the cluster every few seconds
// whether it still answers; Ready reports what it found. Until the driver is
// open every call fails with codes.Unavailable. Close stops the goroutine and
// waits for it.
//
// Messages sent through an in-process Conn are not copied: see InProcess.
package ydbtopic
