// Package codec translates between SQS messages and topic records.
//
// A Message is what SendMessage gives; Encode makes the topic Record of it:
// body bytes as they are, everything else as metadata items under the names
// native YDB uses. Decode goes the other way for any record of a topic, also
// one that a Topic API writer made: a compressed or binary body becomes base64
// with a BodyEncoding. The package is pure: no I/O, clock or goroutine, and it
// knows neither YDB's protobuf types nor the rest of sqsgate.
package codec
