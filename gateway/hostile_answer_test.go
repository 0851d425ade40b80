package gateway_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

var requestID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// wellFormed tells what of an answer is not of the protocol it is given in,
// whatever was asked.
func wellFormed(r reply) error {
	id := r.header.Get("X-Amzn-Requestid")
	if !requestID.MatchString(id) {
		return fmt.Errorf("the request id is %q", id)
	}
	if !utf8.Valid(r.body) {
		return errors.New("the answer is not UTF-8")
	}
	fault := r.header.Get("X-Amzn-Query-Error")
	switch kind := r.header.Get("Content-Type"); kind {
	case "application/x-amz-json-1.0":
		return wellFormedJSON(r, fault)
	case "application/json":
		var root object
		if err := json.Unmarshal(r.body, &root); err != nil || fault != "" {
			return fmt.Errorf("%w, x-amzn-query-error %q", err, fault)
		}
		if e := member(root, "Error"); r.status != 200 && (text(e["Code"]) == "" || text(e["Message"]) == "" || root["RequestId"] != id) {
			return fmt.Errorf("%d with %q", r.status, r.body)
		}
		for name := range root {
			if r.status == 200 && (len(root) != 1 || !strings.HasSuffix(name, "Response")) {
				return fmt.Errorf("a success with %q", name)
			}
		}
		return nil
	case "text/xml":
		if fault != "" {
			return fmt.Errorf("XML with x-amzn-query-error %q", fault)
		}
		return wellFormedXML(r, id)
	default:
		return fmt.Errorf("the content type is %q", kind)
	}
}

func wellFormedJSON(r reply, fault string) error {
	if r.status == 200 && len(r.body) == 0 && fault == "" {
		return nil // an action without a result
	}
	var tree object
	if err := json.Unmarshal(r.body, &tree); err != nil {
		return err
	}
	if r.status == 200 {
		if _, typed := tree["__type"]; typed || fault != "" {
			return fmt.Errorf("a success with %v, x-amzn-query-error %q", tree["__type"], fault)
		}
		return nil
	}
	code, blame, _ := strings.Cut(fault, ";")
	namespace, shape, _ := strings.Cut(text(tree["__type"]), "#")
	if code == "" || (blame == "Sender") != (r.status < 500) || (blame == "Receiver") != (r.status >= 500) || shape == "" ||
		namespace != "com.amazonaws.sqs" && namespace != "com.amazon.coral.service" || text(tree["message"]) == "" || len(tree) != 2 {
		return fmt.Errorf("%d with %q and x-amzn-query-error %q", r.status, r.body, fault)
	}
	return nil
}

func wellFormedXML(r reply, id string) error {
	if r.status == 404 && string(r.body) == "<UnknownOperationException/>" {
		return nil
	}
	var root node
	decoder := xml.NewDecoder(bytes.NewReader(r.body))
	if err := decoder.Decode(&root); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("something follows the answer: %w", err)
	}
	if root.XMLName.Space != "http://queue.amazonaws.com/doc/2012-11-05/" {
		return fmt.Errorf("the name space is %q", root.XMLName.Space)
	}
	if r.status == 200 {
		if said := root.child("ResponseMetadata").child("RequestId").Text; !strings.HasSuffix(root.XMLName.Local, "Response") || said != id {
			return fmt.Errorf("a success in %s, with the request id %q", root.XMLName.Local, said)
		}
		return nil
	}
	e := root.child("Error")
	blame := e.child("Type").Text
	if root.XMLName.Local != "ErrorResponse" || root.child("RequestId").Text != id || e.child("Code").Text == "" || e.child("Message").Text == "" ||
		(blame == "Sender") != (r.status < 500) || (blame == "Receiver") != (r.status >= 500) {
		return fmt.Errorf("%d with %q", r.status, r.body)
	}
	return nil
}
