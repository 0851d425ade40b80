package gateway_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// numbers are the members that are numbers in JSON, unless they are an attribute
// of a queue.
func isNumber(path []string) bool {
	switch path[len(path)-1] {
	case "DelaySeconds", "MaxNumberOfMessages", "VisibilityTimeout", "WaitTimeSeconds", "MaxResults", "MaxNumberOfMessagesPerSecond":
		return path[0] != "Attributes"
	}
	return false
}

// ordered returns the members of a list that a script numbers, in order.
func ordered(list object) (members []any, ok bool) {
	if len(list) == 0 {
		return nil, false
	}
	keys := make([]int, 0, len(list))
	for key := range list {
		n, err := strconv.Atoi(key)
		if err != nil {
			return nil, false
		}
		keys = append(keys, n)
	}
	slices.Sort(keys)
	for _, n := range keys {
		members = append(members, list[strconv.Itoa(n)])
	}
	return members, true
}

// isMap tells the members whose names are the caller's.
func isMap(name string) bool {
	switch name {
	case "Attributes", "Tags", "tags", "MessageAttributes", "MessageSystemAttributes":
		return true
	}
	return false
}

type jsonProtocol struct{}

func (jsonProtocol) name() string { return "json" }

func (jsonProtocol) request(action string, params object) *http.Request {
	body, err := json.Marshal(jsonTree(nil, params))
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest(http.MethodPost, "http://sqs.test/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	return r
}

// jsonTree makes lists and numbers of what a script has as text. What is no
// number stays text, as a careless client sends it.
func jsonTree(path []string, v any) any {
	switch v := v.(type) {
	case object:
		if list, ok := ordered(v); ok && !isMap(path[len(path)-1]) {
			for i := range list {
				list[i] = jsonTree(append(path, "*"), list[i])
			}
			return list
		}
		out := object{}
		for key, value := range v {
			out[key] = jsonTree(append(path, key), value)
		}
		return out
	case string:
		if n, err := strconv.Atoi(v); err == nil && isNumber(path) {
			return n
		}
	}
	return v
}

// shapes are the JSON names of the errors by their Query codes.
var shapes = map[string]string{
	"AWS.SimpleQueueService.NonExistentQueue":             "com.amazonaws.sqs#QueueDoesNotExist",
	"QueueAlreadyExists":                                  "com.amazonaws.sqs#QueueNameExists",
	"AWS.SimpleQueueService.QueueDeletedRecently":         "com.amazonaws.sqs#QueueDeletedRecently",
	"InvalidAttributeName":                                "com.amazonaws.sqs#InvalidAttributeName",
	"InvalidAttributeValue":                               "com.amazonaws.sqs#InvalidAttributeValue",
	"InvalidParameterValue":                               "com.amazon.coral.service#InvalidParameterValueException",
	"MissingParameter":                                    "com.amazon.coral.service#MissingRequiredParameterException",
	"InvalidMessageContents":                              "com.amazonaws.sqs#InvalidMessageContents",
	"ReceiptHandleIsInvalid":                              "com.amazonaws.sqs#ReceiptHandleIsInvalid",
	"AWS.SimpleQueueService.TooManyEntriesInBatchRequest": "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
	"AWS.SimpleQueueService.EmptyBatchRequest":            "com.amazonaws.sqs#EmptyBatchRequest",
	"AWS.SimpleQueueService.BatchEntryIdsNotDistinct":     "com.amazonaws.sqs#BatchEntryIdsNotDistinct",
	"AWS.SimpleQueueService.InvalidBatchEntryId":          "com.amazonaws.sqs#InvalidBatchEntryId",
	"AWS.SimpleQueueService.BatchRequestTooLong":          "com.amazonaws.sqs#BatchRequestTooLong",
	"AWS.SimpleQueueService.PurgeQueueInProgress":         "com.amazonaws.sqs#PurgeQueueInProgress",
	"OverLimit":                 "com.amazonaws.sqs#OverLimit",
	"ResourceNotFoundException": "com.amazonaws.sqs#ResourceNotFoundException",
	"InvalidAddress":            "com.amazonaws.sqs#InvalidAddress",
	"InvalidAction":             "com.amazon.coral.service#UnknownOperationException",
}

func (jsonProtocol) read(_ string, r reply) (object, *failure, error) {
	if got := r.header.Get("Content-Type"); got != "application/x-amz-json-1.0" {
		return nil, nil, fmt.Errorf("content type %q", got)
	}
	var tree object
	if len(r.body) == 0 && r.status == http.StatusOK { // the action has no result
		return tree, nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(r.body))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, nil, err
	}
	query := r.header.Get("X-Amzn-Query-Error")
	if r.status == http.StatusOK {
		if query != "" {
			return nil, nil, fmt.Errorf("a success with x-amzn-query-error %q", query)
		}
		return tree, nil, nil
	}
	code, sender := strings.CutSuffix(query, ";Sender")
	if want := shapes[code]; !sender || tree["__type"] != want || len(tree) != 2 {
		return nil, nil, fmt.Errorf("x-amzn-query-error %q does not go with %v", query, tree)
	}
	return nil, &failure{code, text(tree["message"]), r.status}, nil
}

type queryProtocol struct{}

func (queryProtocol) name() string { return "query" }

func (queryProtocol) request(action string, params object) *http.Request {
	form := url.Values{"Action": {action}, "Version": {"2012-11-05"}}
	addForm(form, action, "", params)
	r := httptest.NewRequest(http.MethodPost, "http://sqs.test/", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// addForm adds members under the names the Query protocol has for them.
func addForm(form url.Values, action, front string, members object) {
	for name, v := range members {
		sub, ok := v.(object)
		if !ok {
			form.Set(front+name, text(v))
			continue
		}
		element, key, list := queryName(action, name)
		if list {
			values, _ := ordered(sub)
			for i, value := range values {
				numbered := fmt.Sprintf("%s%s.%d", front, element, i+1)
				if entry, ok := value.(object); ok {
					addForm(form, action, numbered+".", entry)
				} else {
					form.Set(numbered, text(value))
				}
			}
			continue
		}
		for i, of := range slices.Sorted(maps.Keys(sub)) {
			numbered := fmt.Sprintf("%s%s.%d.", front, element, i+1)
			form.Set(numbered+key, of)
			if value, ok := sub[of].(object); ok {
				addForm(form, action, numbered+"Value.", value)
			} else {
				form.Set(numbered+"Value", text(sub[of]))
			}
		}
	}
}

// queryName is the Query name of a member that is a list or a map, and what a
// map's names are called.
func queryName(action, name string) (element, key string, list bool) {
	switch name {
	case "Attributes":
		return "Attribute", "Name", false
	case "Tags", "tags":
		return "Tag", "Key", false
	case "MessageAttributes", "MessageSystemAttributes":
		return strings.TrimSuffix(name, "s"), "Name", false
	case "Entries":
		return action + "RequestEntry", "", true
	case "AWSAccountIds":
		return "AWSAccountId", "", true
	case "Actions":
		return "ActionName", "", true
	}
	return strings.TrimSuffix(name, "s"), "", true
}

// node is an element of an XML answer.
type node struct {
	XMLName  xml.Name
	Text     string `xml:",chardata"`
	Children []node `xml:",any"`
}

func (n *node) child(name string) *node {
	for i := range n.Children {
		if n.Children[i].XMLName.Local == name {
			return &n.Children[i]
		}
	}
	return &node{}
}

func (queryProtocol) read(action string, r reply) (object, *failure, error) {
	if got := r.header.Get("Content-Type"); got != "text/xml" {
		return nil, nil, fmt.Errorf("content type %q", got)
	}
	var root node
	decoder := xml.NewDecoder(bytes.NewReader(r.body))
	if err := decoder.Decode(&root); err != nil {
		return nil, nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("something follows the answer: %w", err)
	}
	if r.status != http.StatusOK {
		return nil, queryFailure(&root, r.status), nil
	}
	if got := root.XMLName.Local; got != action+"Response" || root.child("ResponseMetadata").child("RequestId").Text == "" {
		return nil, nil, fmt.Errorf("answer %s", got)
	}
	tree := object{}
	for i := range root.child(action + "Result").Children {
		addXML(tree, action, &root.child(action + "Result").Children[i])
	}
	return tree, nil, nil
}

func queryFailure(root *node, status int) *failure {
	e := root.child("Error")
	f := &failure{e.child("Code").Text, e.child("Message").Text, status}
	if e.child("Type").Text != "Sender" || root.child("RequestId").Text == "" {
		f.code += " without a type or a request id"
	}
	// The one text that differs.
	if f.code == "AWS.SimpleQueueService.NonExistentQueue" {
		if front, ok := strings.CutSuffix(f.message, " for this wsdl version."); ok {
			f.message = front + "."
		} else {
			f.message += " (without the wsdl version)"
		}
	}
	return f
}

// addXML adds an element to the JSON-shaped tree.
func addXML(tree object, action string, n *node) {
	name := n.XMLName.Local
	add := func(list string, v any) {
		have, _ := tree[list].([]any)
		tree[list] = append(have, v)
	}
	put := func(dict, key string, v any) {
		m, ok := tree[dict].(object)
		if !ok {
			m = object{}
			tree[dict] = m
		}
		m[key] = v
	}
	members := func(n *node) object {
		o := object{}
		for i := range n.Children {
			addXML(o, "", &n.Children[i])
		}
		return o
	}
	switch {
	case name == "QueueUrl" && action == "ListQueues":
		add("QueueUrls", n.Text)
	case name == "QueueUrl" && action == "ListDeadLetterSourceQueues":
		add("queueUrls", n.Text)
	case name == "Attribute":
		put("Attributes", n.child("Name").Text, n.child("Value").Text)
	case name == "Tag":
		put("Tags", n.child("Key").Text, n.child("Value").Text)
	case name == "MessageAttribute":
		put("MessageAttributes", n.child("Name").Text, members(n.child("Value")))
	case name == "Message" && len(n.Children) > 0:
		add("Messages", members(n))
	case name == "BatchResultErrorEntry":
		add("Failed", members(n))
	case name == "ListMessageMoveTasksResultEntry":
		add("Results", members(n))
	case strings.HasSuffix(name, "ResultEntry"):
		add("Successful", members(n))
	default:
		tree[name] = n.Text
	}
}
