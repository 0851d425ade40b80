package wire

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"sqsgate/gateway/api"
)

// Format is how a request's answer is written; it implies the protocol.
type Format uint8

// The formats.
const (
	JSON      Format = iota // the JSON protocol
	XML                     // the Query protocol
	QueryJSON               // the Query protocol, asked for JSON by Accept
)

// ContentType is the value of the header of that name.
func (f Format) ContentType() string {
	switch f {
	case JSON:
		return "application/x-amz-json-1.0"
	case XML:
		return "text/xml"
	case QueryJSON:
	}
	return "application/json"
}

const targetPrefix = "AmazonSQS."

// FormatOf chooses the protocol of a request: JSON when its content type or an
// X-Amz-Target header says so, Query otherwise.
func FormatOf(h http.Header) Format {
	if strings.HasPrefix(h.Get("Content-Type"), "application/x-amz-json-") || h.Get("X-Amz-Target") != "" {
		return JSON
	}
	if strings.Contains(h.Get("Accept"), "application/json") {
		return QueryJSON
	}
	return XML
}

// Input is one request. It is decoded once, by the method of its action.
type Input struct {
	// Action is the action's name; "" when the request has none.
	Action string

	json bool
	body []byte
	form form
}

// NewJSON makes the Input of a JSON request. It takes the body over.
func NewJSON(h http.Header, body []byte) (*Input, error) {
	if !utf8.Valid(body) {
		return nil, serialization("The request is not valid UTF-8.")
	}
	action, _ := strings.CutPrefix(h.Get("X-Amz-Target"), targetPrefix)
	return &Input{Action: action, json: true, body: body}, nil
}

// NewQuery makes the Input of a Query request from its query string and, for a
// POST, its body. It takes the body over.
func NewQuery(rawQuery string, body []byte) (*Input, error) {
	var f form
	if err := f.parse([]byte(rawQuery)); err != nil {
		return nil, err
	}
	if err := f.parse(body); err != nil {
		return nil, err
	}
	return &Input{Action: f.get("Action"), form: f}, nil
}

func serialization(format string, args ...any) *api.Error {
	return api.Errorf(api.Serialization, format, args...)
}
