package api

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func validText(b []byte) bool {
	return utf8.Valid(b) && !strings.ContainsAny(string(b), "\x00\x01\x0b\ufffe")
}

// kindOf returns the kind and text of an error, 0 and "" for nil.
func kindOf(t *testing.T, err error) (Kind, string) {
	t.Helper()
	if err == nil {
		return 0, ""
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *Error", err)
	}
	return e.Kind, e.Message
}

func attribute(name, dataType, value string) Attribute {
	return Attribute{Name: name, DataType: dataType, Value: []byte(value), HasString: true}
}

func TestCheckSend(t *testing.T) {
	t.Parallel()
	standard := SendRules{MaxBytes: MaxMessageBytes, ValidText: validText}
	small := SendRules{MaxBytes: 1024, ValidText: validText}
	fifo := SendRules{FIFO: true, MaxBytes: MaxMessageBytes, ValidText: validText}
	content := SendRules{FIFO: true, ContentBased: true, MaxBytes: MaxMessageBytes, ValidText: validText}
	text := func(s string) Text { return Text{Value: s, Set: true} }
	delay := func(n int64) Int { return Int{Value: n, Set: true} }
	body := []byte("b")
	const idText = " can only include alphanumeric and punctuation characters. 1 to 128 in length."
	tests := []struct {
		name  string
		rules SendRules
		entry SendEntry
		batch bool
		kind  Kind
		text  string
	}{
		{"plain", standard, SendEntry{Body: body}, false, 0, ""},
		{"empty body", standard, SendEntry{Body: []byte{}}, false, MissingParameter, "The request must contain the parameter MessageBody."},
		{"control character", standard, SendEntry{Body: []byte("a\x01")}, false, InvalidMessageContents, charactersText},
		{"exactly full", small, SendEntry{Body: make1(1024)}, false, 0, ""},
		{"one over", small, SendEntry{Body: make1(1025)}, false, InvalidParameterValue, "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes."},
		{"one over in a batch", small, SendEntry{Body: make1(1025)}, true, InvalidParameterValue, "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes."},
		{"attributes count", small, SendEntry{Body: make1(1017), Attributes: []Attribute{attribute("k", "String", "x")}}, false, InvalidParameterValue, "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes."},
		{"attributes just fit", small, SendEntry{Body: make1(1016), Attributes: []Attribute{attribute("k", "String", "x")}}, false, 0, ""},
		{"system attributes do not count", small, SendEntry{Body: make1(1024), SystemAttributes: []Attribute{attribute(TraceHeader, "String", "Root=1")}}, false, 0, ""},
		{"delay 900", standard, SendEntry{Body: body, Delay: delay(900)}, false, 0, ""},
		{"delay 901", standard, SendEntry{Body: body, Delay: delay(901)}, false, InvalidParameterValue, "Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900."},
		{"FIFO delay 0", content, SendEntry{Body: body, GroupID: text("g"), Delay: delay(0)}, false, 0, ""},
		{"FIFO delay 2", content, SendEntry{Body: body, GroupID: text("g"), Delay: delay(2)}, false, InvalidParameterValue, "Value 2 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type."},
		{"FIFO without a group", content, SendEntry{Body: body}, false, MissingParameter, "The request must contain the parameter MessageGroupId."},
		{"FIFO without a deduplication id", fifo, SendEntry{Body: body, GroupID: text("g")}, false, InvalidParameterValue, "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"},
		{"deduplication id with a space", fifo, SendEntry{Body: body, GroupID: text("g"), DeduplicationID: text("group 123")}, false, InvalidParameterValue, "Value group 123 for parameter MessageDeduplicationId is invalid. Reason: MessageDeduplicationId" + idText},
		{"longest group", standard, SendEntry{Body: body, GroupID: text(strings.Repeat("g", 128))}, false, 0, ""},
		{"all punctuation", fifo, SendEntry{Body: body, GroupID: text("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), DeduplicationID: text("d")}, false, 0, ""},
		{"empty group", standard, SendEntry{Body: body, GroupID: text("")}, false, InvalidParameterValue, "Value  for parameter MessageGroupId is invalid. Reason: MessageGroupId" + idText},
		{"deduplication id on a standard queue", standard, SendEntry{Body: body, DeduplicationID: text("d")}, false, InvalidParameterValue, "Value d for parameter MessageDeduplicationId is invalid. Reason: The request include parameter that is not valid for this queue type."},
		{"unknown system attribute", standard, SendEntry{Body: body, SystemAttributes: []Attribute{attribute("Other", "String", "x")}}, false, InvalidParameterValue, "Message system attribute name 'Other' is invalid."},
		{"trace header of another type", standard, SendEntry{Body: body, SystemAttributes: []Attribute{attribute(TraceHeader, "Number", "1")}}, false, InvalidParameterValue, "The type of message (system) attribute 'AWSTraceHeader' is invalid. You must use only the following supported type prefixes: String."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			kind, message := kindOf(t, CheckSend(&tt.entry, tt.rules, tt.batch))
			if kind != tt.kind || message != tt.text {
				t.Errorf("got %d %q, want %d %q", kind, message, tt.kind, tt.text)
			}
		})
	}
}

func make1(n int) []byte { return []byte(strings.Repeat("a", n)) }

func TestCheckAttributes(t *testing.T) {
	t.Parallel()
	many := func(n int) []Attribute {
		var list []Attribute
		for i := range n {
			list = append(list, attribute("a"+string(rune('a'+i)), "String", "v"))
		}
		return list
	}
	binary := Attribute{Name: "b", DataType: "Binary.png", Value: []byte{0, 255}, HasBinary: true}
	one := func(a Attribute) []Attribute { return []Attribute{a} }
	tests := []struct {
		name       string
		attributes []Attribute
		text       string // "" = valid, "*" = any error
	}{
		{"ten", many(10), ""},
		{"eleven", many(11), "Number of message attributes [11] exceeds the allowed maximum [10]."},
		{"binary with a label", one(binary), ""},
		{"number with a label", one(attribute("n", "Number.java.lang.Long", "1493147359900")), ""},
		{"letters outside ASCII", one(attribute("Größe-été_1.x", "String", "v")), ""},
		{"256 characters", one(attribute(strings.Repeat("L", 256), "String", "v")), ""},
		{"257 characters", one(attribute(strings.Repeat("L", 257), "String", "v")), "*"},
		{"no name", one(attribute("", "String", "v")), "*"},
		{"aWs.", one(attribute("aWs.x", "String", "v")), "*"},
		{"AMAZON.", one(attribute("AMAZON.x", "String", "v")), "*"},
		{"leading period", one(attribute(".x", "String", "v")), "*"},
		{"trailing period", one(attribute("x.", "String", "v")), "*"},
		{"two periods", one(attribute("x..y", "String", "v")), "*"},
		{"section sign", one(attribute("x§", "String", "v")), "*"},
		{"not UTF-8", one(attribute("x\xff", "String", "v")), "*"},
		{"repeated", append(many(2), many(1)...), "*"},
		{"unknown type", one(attribute("a", "Invalid", "v")), "The type of message (user) attribute 'a' is invalid. You must use only the following supported type prefixes: Binary, Number, String."},
		{"type in lower case", one(attribute("a", "string", "v")), "*"},
		{"no type", one(attribute("a", "", "v")), "*"},
		{"empty string", one(attribute("ErrorDetails", "String", "")), "Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'."},
		{"no value", one(Attribute{Name: "a", DataType: "Binary"}), "Message (user) attribute 'a' must contain a non-empty value of type 'Binary'."},
		{"string in a binary", one(attribute("a", "Binary", "v")), "The message (user) attribute 'a' with type 'Binary' must use field 'Binary'."},
		{"both fields", one(Attribute{Name: "a", DataType: "String", Value: []byte("v"), HasString: true, HasBinary: true}), "*"},
		{"list values", one(Attribute{Name: "a", DataType: "String", Value: []byte("v"), HasString: true, HasList: true}), "Message attribute list values in SendMessage operation are not supported."},
		{"no number", one(attribute("a", "Number", "12a")), "Can't cast the value of message (user) attribute 'a' to a number."},
		{"control character", one(attribute("a", "String", "\x01")), charactersText},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			kind, text := kindOf(t, checkAttributes(tt.attributes, validText))
			switch {
			case tt.text == "" && text != "":
				t.Errorf("refused: %s", text)
			case tt.text != "" && kind != InvalidParameterValue:
				t.Errorf("kind %d, want InvalidParameterValue", kind)
			case tt.text != "*" && text != tt.text:
				t.Errorf("got %q, want %q", text, tt.text)
			}
		})
	}
}

func TestValidNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"0": true, "-0.00": true, "42": true, "+1.5e10": true, "-.5": true, "1e126": true, "1e-128": true,
		"12345678901234567890123456789012345678": true, "0.00012345678901234567890123456789012345678": true,
		"123456789012345678901234567890123456789": false, "1e127": false, "1e-129": false, "1e-400": false, "": false, ".": false,
		"Inf": false, "NaN": false, "0x10": false, "1_000": false, "1 ": false, "--1": false, "1e": false, "1.2.3": false,
	} {
		if got := validNumber(text); got != want {
			t.Errorf("validNumber(%q) = %t", text, got)
		}
	}
}

func TestBatchChecks(t *testing.T) {
	t.Parallel()
	send := func(ids ...string) []SendEntry {
		var list []SendEntry
		for _, id := range ids {
			list = append(list, SendEntry{ID: id, Body: []byte("b"), GroupID: Text{"g", true}, DeduplicationID: Text{"d", true}})
		}
		return list
	}
	ids := strings.Split("a b c d e f g h i j k", " ")
	const idText = "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long."
	large := send("a", "b")
	large[0].Body, large[1].Body = make1(MaxMessageBytes), make1(1)
	noGroup, noID := send("a", "b"), send("a", "b")
	noGroup[1].GroupID = Text{}
	noID[1].DeduplicationID = Text{}
	tests := []struct {
		name    string
		entries []SendEntry
		content bool
		kind    Kind
		text    string
	}{
		{"ten", send(ids[:10]...), false, 0, ""},
		{"none", nil, false, EmptyBatchRequest, "There should be at least one SendMessageBatchRequestEntry in the request."},
		{"eleven", send(ids...), false, TooManyEntriesInBatchRequest, "Maximum number of entries per request are 10. You have sent 11."},
		{"empty id", send(""), false, InvalidBatchEntryID, idText},
		{"colon", send("a:b"), false, InvalidBatchEntryID, idText},
		{"80", send(strings.Repeat("i", 80)), false, 0, ""},
		{"81", send(strings.Repeat("i", 81)), false, InvalidBatchEntryID, idText},
		{"repeated", send("id_1", "id_2", "id_2"), false, BatchEntryIDsNotDistinct, "Id id_2 repeated."},
		{"repeated among eleven", send(append(ids[:10:10], "a")...), false, BatchEntryIDsNotDistinct, "Id a repeated."},
		{"too long", large, false, BatchRequestTooLong, "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes."},
		{"no group", noGroup, true, InvalidParameterValue, "The request must contain the parameter MessageGroupId."},
		{"no deduplication id", noID, false, InvalidParameterValue, noDeduplicationText},
		{"content is the id", noID, true, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			kind, text := kindOf(t, CheckSendBatch(tt.entries, true, tt.content))
			if kind != tt.kind || text != tt.text {
				t.Errorf("got %d %q, want %d %q", kind, text, tt.kind, tt.text)
			}
		})
	}
	if kind, text := kindOf(t, CheckHandleBatch(nil, "DeleteMessageBatchRequestEntry")); kind != EmptyBatchRequest ||
		text != "There should be at least one DeleteMessageBatchRequestEntry in the request." {
		t.Errorf("empty delete batch: %d %q", kind, text)
	}
	if err := CheckSendBatch(noGroup, false, false); err != nil {
		t.Errorf("a standard queue needs no group: %v", err)
	}
}
