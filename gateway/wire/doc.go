// Package wire reads requests and writes answers in the two protocols of SQS:
// AWS JSON 1.0, and Query with its answers in XML or, if asked, in JSON.
//
// Input decodes a request into the shapes of package api; Encoder writes a
// result or a Fault. Both work by hand on byte slices, without reflection. An
// Input owns the body it was given and decodes escapes in place: message bodies
// and attribute values of the decoded requests share that memory, which must
// therefore not be used again.
//
// The package knows no error codes: a Fault carries them.
package wire
