// Package codec translates between SQS messages and topic records, and gives
// receivers the original bytes of a message.
//
// The gateway's side: a Message is what SendMessage gives; Encode makes the
// topic Record of it: body bytes as they are, everything else as metadata items
// under the names native YDB uses. Encodings.Decode goes the other way for any
// record of a topic, also one that a Topic API writer made. It never
// decompresses: a compressed or binary body becomes base64 with a BodyEncoding.
//
// The receiver's side: the function Decode, or a Decoder with options, takes
// body and BodyEncoding of a message that came through SQS and undoes the base64
// and the compression. It is for programs that receive with any AWS SDK; the
// gateway does not use it.
//
//	Topic API writer     gateway             SQS receiver
//	gzip(data) -> record -> Encodings.Decode -> base64, "gzip" -> Decode -> data
//
// The package does no I/O, has no goroutines and reads no clock, and knows
// neither YDB's protobuf types nor the rest of sqsgate.
package codec
