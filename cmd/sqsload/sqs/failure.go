package sqs

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

// ErrAnswer means that the server's answer could not be understood.
var ErrAnswer = errors.New("malformed answer")

// Failure is a request that the server refused.
type Failure struct {
	Status  int    // HTTP status; 0 for an entry of a batch
	Code    string // without namespace, "QueueDoesNotExist"
	Message string
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s (status %d): %s", f.Code, f.Status, f.Message)
}

// Code is a short name of a failure for counting: the server's code, or
// "timeout", "malformed answer", "connection".
func Code(err error) string {
	var refused *Failure
	var network net.Error
	switch {
	case errors.As(err, &refused):
		return refused.Code
	case errors.Is(err, ErrAnswer):
		return "malformed answer"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "timeout"
	default:
		return "connection"
	}
}

// failure reads an error's answer. Anything may stand there: proxies answer too.
func failure(status int, queryError string, answer []byte) *Failure {
	f := &Failure{Status: status}
	in := scanner{data: answer}
	in.object(func(key []byte) {
		switch string(key) {
		case "__type":
			f.Code = string(in.text())
		case "message", "Message":
			f.Message = string(in.text())
		default:
			in.skip()
		}
	})
	if in.failed {
		f.Code, f.Message = "", string(bytes.ToValidUTF8(answer[:min(len(answer), 200)], nil))
	}
	if at := strings.LastIndexByte(f.Code, '#'); at >= 0 {
		f.Code = f.Code[at+1:]
	}
	if f.Code == "" {
		f.Code, _, _ = strings.Cut(queryError, ";")
	}
	if f.Code == "" {
		f.Code = fmt.Sprintf("HTTP %d", status)
	}
	return f
}
