package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"sqsgate/gateway/api"
)

// The reference decoder: the same rules by way of encoding/json, slow and short.

var errReference = errors.New("refused")

type refMember struct {
	name  string
	value json.RawMessage
}

// refMembers returns the members of an object in order; nil for null.
func refMembers(raw []byte) ([]refMember, bool, error) {
	raw = bytes.TrimSpace(raw)
	if string(raw) == "null" {
		return nil, false, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false, errReference
	}
	var list []refMember
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, false, errReference
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, false, err
		}
		list = append(list, refMember{name, v})
	}
	if _, err := d.Token(); err != nil {
		return nil, false, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, false, errReference
	}
	return list, true, nil
}

func refString(raw []byte) (s string, set bool, err error) {
	if string(bytes.TrimSpace(raw)) == "null" {
		return "", false, nil
	}
	err = json.Unmarshal(raw, &s)
	return s, true, err
}

func refText(raw []byte) (api.Text, error) {
	s, set, err := refString(raw)
	return api.Text{Value: s, Set: set}, err
}

func refInt(raw []byte) (api.Int, error) {
	if string(bytes.TrimSpace(raw)) == "null" {
		return api.Int{}, nil
	}
	var n int64
	err := json.Unmarshal(raw, &n)
	return api.Int{Value: n, Set: true}, err
}

func refList(raw []byte) ([]json.RawMessage, error) {
	var list []json.RawMessage
	err := json.Unmarshal(raw, &list)
	return list, err
}

func refAttributes(raw []byte) ([]api.Attribute, error) {
	members, _, err := refMembers(raw)
	if err != nil {
		return nil, err
	}
	var out []api.Attribute
	for _, m := range members {
		fields, present, err := refMembers(m.value)
		if err != nil {
			return nil, err
		}
		a := api.Attribute{Name: m.name}
		var text, blob []byte
		last := ""
		for _, f := range fields {
			switch f.name {
			case "DataType":
				if a.DataType, _, err = refString(f.value); err != nil {
					return nil, err
				}
			case "StringValue":
				s, set, err := refString(f.value)
				if err != nil {
					return nil, err
				}
				text = nil
				if a.HasString = set; set {
					text, last = []byte(s), "text"
				}
			case "BinaryValue":
				if _, _, err := refString(f.value); err != nil {
					return nil, err
				}
				blob = nil
				if err := json.Unmarshal(f.value, &blob); err != nil {
					return nil, err
				}
				if a.HasBinary = blob != nil; a.HasBinary {
					last = "blob"
				}
			case "StringListValues", "BinaryListValues":
				list, err := refList(f.value)
				if err != nil {
					return nil, err
				}
				for _, item := range list {
					_, set, err := refString(item)
					if err != nil {
						return nil, err
					}
					a.HasList = a.HasList || set
				}
			}
		}
		switch {
		case a.HasString && a.HasBinary && last == "text", a.HasString && !a.HasBinary:
			a.Value = text
		case a.HasBinary:
			a.Value = blob
		}
		for i := range out {
			if out[i].Name == a.Name {
				out = append(out[:i], out[i+1:]...)
				break
			}
		}
		if present {
			out = append(out, a)
		}
	}
	return out, nil
}

func refEntry(members []refMember) (e api.SendEntry, err error) {
	for _, m := range members {
		switch m.name {
		case "Id":
			e.ID, _, err = refString(m.value)
		case "MessageBody":
			s, set, bad := refString(m.value)
			e.Body, err = nil, bad
			if set {
				e.Body = []byte(s)
			}
		case "DelaySeconds":
			e.Delay, err = refInt(m.value)
		case "MessageAttributes":
			e.Attributes, err = refAttributes(m.value)
		case "MessageSystemAttributes":
			e.SystemAttributes, err = refAttributes(m.value)
		case "MessageDeduplicationId":
			e.DeduplicationID, err = refText(m.value)
		case "MessageGroupId":
			e.GroupID, err = refText(m.value)
		}
		if err != nil {
			return e, err
		}
	}
	return e, nil
}

// refDocument returns the members of a whole request.
func refDocument(data []byte) ([]refMember, error) {
	if !utf8.Valid(data) {
		return nil, errReference
	}
	if len(bytes.Trim(data, " \t\r\n")) == 0 {
		return nil, nil
	}
	if !json.Valid(data) {
		return nil, errReference
	}
	members, present, err := refMembers(data)
	if err == nil && !present {
		return nil, errReference
	}
	return members, err
}

func refSendMessageBatch(data []byte) (r api.SendMessageBatchRequest, err error) {
	members, err := refDocument(data)
	if err != nil {
		return r, err
	}
	for _, m := range members {
		switch m.name {
		case "QueueUrl":
			if r.QueueURL, _, err = refString(m.value); err != nil {
				return r, err
			}
		case "Entries":
			list, err := refList(m.value)
			if err != nil {
				return r, err
			}
			r.Entries = nil
			for _, item := range list {
				fields, _, err := refMembers(item)
				if err != nil {
					return r, err
				}
				e, err := refEntry(fields)
				if err != nil {
					return r, err
				}
				r.Entries = append(r.Entries, e)
			}
		}
	}
	return r, nil
}

func refStrings(raw []byte) ([]string, error) {
	list, err := refList(raw)
	var out []string
	for _, item := range list {
		s, set, bad := refString(item)
		if bad != nil {
			return nil, bad
		}
		if set {
			out = append(out, s)
		}
	}
	return out, err
}

func refReceiveMessage(data []byte) (r api.ReceiveMessageRequest, err error) {
	members, err := refDocument(data)
	for i := 0; err == nil && i < len(members); i++ {
		v := members[i].value
		switch members[i].name {
		case "QueueUrl":
			r.QueueURL, _, err = refString(v)
		case "AttributeNames":
			r.AttributeNames, err = refStrings(v)
		case "MessageSystemAttributeNames":
			r.SystemAttributeNames, err = refStrings(v)
		case "MessageAttributeNames":
			r.MessageAttributeNames, err = refStrings(v)
		case "MaxNumberOfMessages":
			r.Max, err = refInt(v)
		case "VisibilityTimeout":
			r.Visibility, err = refInt(v)
		case "WaitTimeSeconds":
			r.Wait, err = refInt(v)
		case "ReceiveRequestAttemptId":
			r.AttemptID, err = refText(v)
		}
	}
	return r, err
}

func refHandleBatch(data []byte) (r api.HandleBatchRequest, err error) {
	members, err := refDocument(data)
	for i := 0; err == nil && i < len(members); i++ {
		switch members[i].name {
		case "QueueUrl":
			r.QueueURL, _, err = refString(members[i].value)
		case "Entries":
			r.Entries, err = refHandles(members[i].value)
		}
	}
	return r, err
}

func refHandles(raw []byte) (out []api.HandleEntry, err error) {
	list, err := refList(raw)
	for i := 0; err == nil && i < len(list); i++ {
		var fields []refMember
		if fields, _, err = refMembers(list[i]); err != nil {
			return nil, err
		}
		var e api.HandleEntry
		for _, f := range fields {
			switch f.name {
			case "Id":
				e.ID, _, err = refString(f.value)
			case "ReceiptHandle":
				e.ReceiptHandle, _, err = refString(f.value)
			case "VisibilityTimeout":
				e.Visibility, err = refInt(f.value)
			}
			if err != nil {
				return nil, err
			}
		}
		out = append(out, e)
	}
	return out, err
}

// replaced turns the three bytes that stand for half a surrogate pair into the
// replacement character, which encoding/json makes of it.
func replaced(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == 0xed && i+2 < len(s) && s[i+1] >= 0xa0 {
			b.WriteRune(utf8.RuneError)
			i += 3
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}
