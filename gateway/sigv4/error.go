package sigv4

import "fmt"

// Reason classifies what is wrong with a request's signature.
type Reason uint8

// The reasons a request is refused for.
const (
	// MissingToken: the request is not signed.
	MissingToken Reason = iota + 1
	// Incomplete: a part of the signature is absent or cannot be read.
	Incomplete
	// UnknownKey: no such access key.
	UnknownKey
	// BadScope: signed for another day, region or service than the request's.
	BadScope
	// Expired: signed too long ago.
	Expired
	// NotYetValid: signed too far in the future.
	NotYetValid
	// BadPayload: x-amz-content-sha256 is not the digest of the body.
	BadPayload
	// Mismatch: the signature is not that of this request and this key's secret.
	Mismatch
)

// Error is a refused request. It holds nothing that the caller does not know.
type Error struct {
	Reason  Reason
	Message string
	// CanonicalRequest and StringToSign are what the signature should have been
	// made of; set for a Mismatch.
	CanonicalRequest string
	StringToSign     string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func refuse(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// clip bounds what an error repeats of a request, in bytes.
func clip(s string, most int) string {
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
