package codec

import (
	"errors"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message attributes are kept as native YDB keeps them, in protobuf:
//
//	message TMessageAttributes { repeated TMessageAttribute attributes = 1; }
//	message TMessageAttribute {
//	  string Name = 1; string DataType = 2; bytes StringValue = 3; bytes BinaryValue = 4;
//	}
const (
	fieldAttribute = 1

	fieldName        = 1
	fieldDataType    = 2
	fieldStringValue = 3
	fieldBinaryValue = 4
)

const (
	// maxAttributes bounds what is taken from records of other writers; SQS
	// itself allows ten.
	maxAttributes    = 100
	maxAttributeName = 256
	maxAttributeType = 256
)

var errBadAttributes = errors.New("message attributes do not decode")

// Binary reports whether the value is raw bytes: data type Binary, with or
// without a label.
func (a *Attribute) Binary() bool { return dataTypeIs(a.DataType, "Binary") }

func dataTypeIs(dataType, base string) bool {
	rest, ok := strings.CutPrefix(dataType, base)
	return ok && (rest == "" || rest[0] == '.')
}

func attributeSize(a *Attribute) int {
	// Each of the three field tags takes one byte.
	return 3 + protowire.SizeBytes(len(a.Name)) + protowire.SizeBytes(len(a.DataType)) + protowire.SizeBytes(len(a.Value))
}

func attributesSize(list []Attribute) int {
	n := 0
	for i := range list {
		n += 1 + protowire.SizeBytes(attributeSize(&list[i]))
	}
	return n
}

func appendAttributes(b []byte, list []Attribute) []byte {
	for i := range list {
		a := &list[i]
		b = protowire.AppendTag(b, fieldAttribute, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(attributeSize(a)))
		b = protowire.AppendTag(b, fieldName, protowire.BytesType)
		b = protowire.AppendString(b, a.Name)
		b = protowire.AppendTag(b, fieldDataType, protowire.BytesType)
		b = protowire.AppendString(b, a.DataType)
		var value protowire.Number = fieldStringValue
		if a.Binary() {
			value = fieldBinaryValue
		}
		b = protowire.AppendTag(b, value, protowire.BytesType)
		b = protowire.AppendBytes(b, a.Value)
	}
	return b
}

// decodeAttributes reads what appendAttributes or a native server wrote. Values
// alias b. Unknown fields are skipped; a list with an attribute that an SQS
// client could not be given is refused as a whole.
func decodeAttributes(b []byte) ([]Attribute, error) {
	var list []Attribute
	err := eachField(b, func(num int32, value []byte) error {
		if num != fieldAttribute {
			return nil
		}
		a, err := decodeAttribute(value)
		if err != nil {
			return err
		}
		if len(list) == maxAttributes {
			return errBadAttributes
		}
		for i := range list {
			if list[i].Name == a.Name {
				return errBadAttributes
			}
		}
		if list == nil {
			list = make([]Attribute, 0, 4)
		}
		list = append(list, a)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func decodeAttribute(b []byte) (Attribute, error) {
	var name, dataType, text, binary []byte
	err := eachField(b, func(num int32, value []byte) error {
		switch num {
		case fieldName:
			name = value
		case fieldDataType:
			dataType = value
		case fieldStringValue:
			text = value
		case fieldBinaryValue:
			binary = value
		}
		return nil
	})
	if err != nil {
		return Attribute{}, err
	}
	if len(name) == 0 || len(name) > maxAttributeName || len(dataType) > maxAttributeType || !ValidBody(name) || !ValidBody(dataType) {
		return Attribute{}, errBadAttributes
	}
	a := Attribute{Name: string(name), DataType: typeName(dataType)}
	switch {
	case a.Binary():
		a.Value = binary
	case dataTypeIs(a.DataType, "String") || dataTypeIs(a.DataType, "Number"):
		if !ValidBody(text) {
			return Attribute{}, errBadAttributes
		}
		a.Value = text
	default:
		return Attribute{}, errBadAttributes
	}
	return a, nil
}

// typeName spares an allocation for the types without a label.
func typeName(b []byte) string {
	switch string(b) {
	case "String":
		return "String"
	case "Number":
		return "Number"
	case "Binary":
		return "Binary"
	}
	return string(b)
}

// eachField calls f with the length-delimited fields of the message b, in order,
// and skips fields of other wire types.
func eachField(b []byte, f func(int32, []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errBadAttributes
		}
		b = b[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return errBadAttributes
			}
			b = b[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return errBadAttributes
		}
		if err := f(int32(num), value); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
