// Package sigv4 tells who sent a request: it verifies AWS Signature Version 4,
// in the Authorization header or in the query string (presigned), against a
// ring of static keys, and says what the key's holder may do.
//
// It verifies only. It does not sign, read bodies, or know of SQS actions beyond
// their names, and it has no chunked, unsigned or asymmetric (SigV4A) payloads:
// SQS has none of these.
//
// A Verifier is immutable but for its cache of derived keys, which a mutex
// guards and which takes a key only after a signature made with it has proved
// right, so that strangers can neither fill nor empty it. The package has no
// goroutines. Time is an argument.
//
// What a signature covers: the method, the path, the whole query string, the
// body, and the headers it names. Host, the date and, where there is one, the
// target (it names the action) have to be among these.
package sigv4
