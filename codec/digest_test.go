package codec

import (
	"encoding/base64"
	"testing"
)

// Digests published by AWS's guide, its SDKs and recordings of its answers.
func TestAttributesMD5(t *testing.T) {
	trace, err := base64.StdEncoding.DecodeString("dHJhY2VwYXJlbnQeMDAtNzc0MDYyZDZjMzcwODFhNWEwYjliNWI4OGUzMDYyN2MtMmQyNDgyMjExZjY0ODlkYS0wMQ==")
	if err != nil {
		t.Fatal(err)
	}
	text := func(name, dataType, value string) Attribute {
		return Attribute{Name: name, DataType: dataType, Value: []byte(value)}
	}
	tests := []struct {
		name string
		list []Attribute
		want string
	}{
		{"none", nil, ""},
		{"string", []Attribute{text("Foo", "String", "Bar")}, "ae7155c6026991b6d54b11589678bf9c"},
		{"number", []Attribute{text("timestamp", "Number", "1493147359900")}, "235c5c510d26fb653d073faed50ae77c"},
		{"binary", []Attribute{{Name: "attr1", DataType: "Binary", Value: trace}}, "8cbe4db156db8a94db8b801b7addb984"},
		{"three kinds, unsorted, with a label", []Attribute{
			text("customNumberTypeAttrib", "Number.float", "4563442423554324324264524243.32543234"),
			text("binaryAttribute", "Binary", "Hello binary world!"),
			text("attribName1", "String", "attribValue 1"),
		}, "c932db14a896c663f83c260297d594ff"},
		{"system attribute", []Attribute{text("AWSTraceHeader", "String",
			"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1")}, "5ae4d5d7636402d80f4eb6d213245a88"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := append([]Attribute(nil), tt.list...)
			if got := AttributesMD5(tt.list); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			for i := range before {
				if tt.list[i].Name != before[i].Name {
					t.Fatal("the caller's list was reordered")
				}
			}
		})
	}
}

func TestBodyMD5(t *testing.T) {
	if got := BodyMD5(nil); got != "d41d8cd98f00b204e9800998ecf8427e" {
		t.Errorf("empty body: %s", got)
	}
	if got := BodyMD5([]byte("test")); got != "098f6bcd4621d373cade4e832627b4f6" {
		t.Errorf("test: %s", got)
	}
}

func TestMessageID(t *testing.T) {
	// The native server's id of the first message of this topic.
	if got := MessageID("/Root", "/Root/topic1", 0, 0); got != "67507D10-9D95-5D16-B4E8-D9FAD99F9125" {
		t.Errorf("got %s", got)
	}
	if MessageID("/Root", "/Root/topic1", 1, 10) == MessageID("/Root", "/Root/topic1", 11, 0) {
		t.Error("partition and offset run together")
	}
}

func TestSequenceNumber(t *testing.T) {
	tests := []struct {
		depth  int
		offset int64
		want   string
	}{
		{0, 0, "00000000000000000000"},
		{0, 42, "00000000000000000042"},
		{1, 0, "00000281474976710656"},
		{3, 7, "00000844424930131975"},
	}
	for _, tt := range tests {
		if got := SequenceNumber(tt.depth, tt.offset); got != tt.want {
			t.Errorf("SequenceNumber(%d, %d) = %s, want %s", tt.depth, tt.offset, got, tt.want)
		}
	}
}
