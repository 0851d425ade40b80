// Package sqs is a lean client of the JSON protocol of Amazon SQS, for loads
// that share their cores with the server: one blocking HTTP/1.1 connection,
// requests and answers in buffers that are used again, no reflection on the
// calls a load is made of.
//
// It is not a general client: nothing is retried, because a load test has to
// see every failure, and a retry would hide a duplicate. Conn is for one
// goroutine, except Interrupt. There are no goroutines and no locks held over
// I/O.
package sqs
