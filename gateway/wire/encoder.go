package wire

import (
	"encoding/base64"
	"strconv"

	"sqsgate/gateway/api"
)

const namespace = "http://queue.amazonaws.com/doc/2012-11-05/"

// Encoder writes one answer into a buffer. The zero Encoder, after Reset, is
// ready; it is meant to be pooled.
//
// Its methods come in the vocabulary of the three formats at once: a list or a
// map has a JSON name and the name of its repeated XML element. Where Query's
// JSON differs from both, the method knows.
type Encoder struct {
	buf       []byte
	format    Format
	action    string
	requestID string
}

// Reset starts a new answer and forgets the old one, whose Bytes end here.
func (e *Encoder) Reset(f Format, action, requestID string) {
	*e = Encoder{buf: e.buf[:0], format: f, action: action, requestID: requestID}
}

// Bytes is the answer. It is valid until the next Reset.
func (e *Encoder) Bytes() []byte { return e.buf }

// Cap is the size of the buffer, for the pool to let go of large ones.
func (e *Encoder) Cap() int { return cap(e.buf) }

func (e *Encoder) raw(s string) { e.buf = append(e.buf, s...) }

// comma separates members and items of JSON: everything but the first of its
// collection follows a value.
func (e *Encoder) comma() {
	if n := len(e.buf); n > 0 && e.buf[n-1] != '{' && e.buf[n-1] != '[' {
		e.buf = append(e.buf, ',')
	}
}

func (e *Encoder) key(name string) {
	e.comma()
	e.buf = append(e.buf, '"')
	e.raw(name)
	e.raw(`":`)
}

func (e *Encoder) tag(name string) {
	e.buf = append(e.buf, '<')
	e.raw(name)
	e.buf = append(e.buf, '>')
}

func (e *Encoder) endTag(name string) {
	e.raw("</")
	e.raw(name)
	e.buf = append(e.buf, '>')
}

// begin opens the result, end closes it. A result without members is empty.
func (e *Encoder) begin() {
	switch e.format {
	case JSON:
		e.raw("{")
	case XML:
		e.xmlHead()
		e.tag(e.action + "Result")
	case QueryJSON:
		e.raw(`{"` + e.action + `Response":{"` + e.action + `Result":{`)
	}
}

func (e *Encoder) xmlHead() {
	e.raw(`<?xml version="1.0"?><`)
	e.raw(e.action)
	e.raw(`Response xmlns="` + namespace + `">`)
}

func (e *Encoder) end() {
	switch e.format {
	case JSON:
		e.raw("}")
	case XML:
		open := e.action + "Result>"
		if n := len(e.buf) - len(open); string(e.buf[n:]) == open && e.buf[n-1] == '<' {
			e.buf = append(e.buf[:len(e.buf)-1], "/>"...)
		} else {
			e.endTag(e.action + "Result")
		}
		e.xmlTail()
	case QueryJSON:
		e.raw(`},"ResponseMetadata":{"RequestId":`)
		e.quote(e.requestID)
		e.raw("}}}")
	}
}

func (e *Encoder) xmlTail() {
	e.raw("<ResponseMetadata>")
	e.str("RequestId", e.requestID)
	e.raw("</ResponseMetadata>")
	e.endTag(e.action + "Response")
}

// Nothing writes the answer of an action that has no result. In JSON it is
// empty, as recorded at AWS, not an object without members.
func (e *Encoder) Nothing(*api.Nothing) {
	switch e.format {
	case JSON:
	case XML:
		e.xmlHead()
		e.xmlTail()
	case QueryJSON:
		e.raw(`{"` + e.action + `Response":{"ResponseMetadata":{"RequestId":`)
		e.quote(e.requestID)
		e.raw("}}}")
	}
}

func (e *Encoder) quote(s string) {
	e.buf = append(e.buf, '"')
	e.buf = appendJSONString(e.buf, s)
	e.buf = append(e.buf, '"')
}

// str writes a member that is a string.
func (e *Encoder) str(name, value string) {
	if e.format == XML {
		e.tag(name)
		e.buf = appendXMLString(e.buf, value)
		e.endTag(name)
		return
	}
	e.key(name)
	e.quote(value)
}

// optional is str, or nothing for "".
func (e *Encoder) optional(name, value string) {
	if value != "" {
		e.str(name, value)
	}
}

func (e *Encoder) bytes(name string, value []byte) {
	if e.format == XML {
		e.tag(name)
		e.buf = appendXML(e.buf, value)
		e.endTag(name)
		return
	}
	e.key(name)
	e.buf = append(e.buf, '"')
	e.buf = appendJSON(e.buf, value)
	e.buf = append(e.buf, '"')
}

func (e *Encoder) blob(name string, value []byte) {
	if e.format == XML {
		e.tag(name)
		e.buf = base64.StdEncoding.AppendEncode(e.buf, value)
		e.endTag(name)
		return
	}
	e.key(name)
	e.buf = append(e.buf, '"')
	e.buf = base64.StdEncoding.AppendEncode(e.buf, value)
	e.buf = append(e.buf, '"')
}

func (e *Encoder) int(name string, value int64) {
	if e.format == XML {
		e.str(name, strconv.FormatInt(value, 10))
		return
	}
	e.key(name)
	e.buf = strconv.AppendInt(e.buf, value, 10)
}

func (e *Encoder) bool(name string, value bool) {
	if e.format == XML {
		e.str(name, strconv.FormatBool(value))
		return
	}
	e.key(name)
	e.buf = strconv.AppendBool(e.buf, value)
}

// list opens a list of structures or strings, endList closes it.
func (e *Encoder) list(json string) {
	if e.format != XML {
		e.key(json)
		e.raw("[")
	}
}

func (e *Encoder) endList() {
	if e.format != XML {
		e.raw("]")
	}
}

// item opens a structure of a list, endItem closes it.
func (e *Encoder) item(xml string) {
	if e.format == XML {
		e.tag(xml)
		return
	}
	e.comma()
	e.raw("{")
}

func (e *Encoder) endItem(xml string) {
	if e.format == XML {
		e.endTag(xml)
		return
	}
	e.raw("}")
}

// strings writes a list of strings, or nothing when it is empty.
func (e *Encoder) strings(json, xml string, values []string) {
	if len(values) == 0 {
		return
	}
	e.list(json)
	for _, v := range values {
		if e.format == XML {
			e.str(xml, v)
			continue
		}
		e.comma()
		e.quote(v)
	}
	e.endList()
}

// pairs writes a map of strings, or nothing when it is empty. name is Name or
// Key, the element of its names.
func (e *Encoder) pairs(json, xml, name string, pairs []api.Pair) {
	if len(pairs) == 0 {
		return
	}
	if e.format == JSON {
		e.key(json)
		e.raw("{")
		for _, p := range pairs {
			e.comma()
			e.quote(p.Name)
			e.raw(":")
			e.quote(p.Value)
		}
		e.raw("}")
		return
	}
	e.list(json)
	for _, p := range pairs {
		e.item(xml)
		e.str(name, p.Name)
		e.str("Value", p.Value)
		e.endItem(xml)
	}
	e.endList()
}
