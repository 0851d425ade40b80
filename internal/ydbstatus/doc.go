// Package ydbstatus turns the status of a YDB answer into a Go error and says
// whether the call may be repeated.
//
// YDB reports failures inside successful gRPC answers: a unary call carries an
// Operation with a status, a stream message carries status and issues. This
// package is the one place that reads them. It holds no state.
package ydbstatus
