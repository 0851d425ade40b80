package api

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TraceHeader is the one system attribute a send may have.
const TraceHeader = "AWSTraceHeader"

func checkAttributes(attributes []Attribute, validText func([]byte) bool) error {
	if n := len(attributes); n > MaxMessageAttributes {
		return Errorf(InvalidParameterValue, "Number of message attributes [%d] exceeds the allowed maximum [%d].", n, MaxMessageAttributes)
	}
	for i := range attributes {
		a := &attributes[i]
		if err := checkAttributeName(a.Name); err != nil {
			return err
		}
		for j := range i {
			if attributes[j].Name == a.Name {
				return Errorf(InvalidParameterValue, "Message (user) attribute name '%s' already exists.", clip(a.Name))
			}
		}
		if err := checkAttributeValue(a, validText); err != nil {
			return err
		}
	}
	return nil
}

// checkAttributeName follows what AWS does rather than what it documents:
// letters outside ASCII pass.
func checkAttributeName(name string) error {
	lower := strings.ToLower(name)
	switch {
	case name == "" || utf8.RuneCountInString(name) > MaxAttributeNameLength:
		return Errorf(InvalidParameterValue, "Message (user) attribute name must be between 1 and %d characters long.", MaxAttributeNameLength)
	case strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon."):
		return Errorf(InvalidParameterValue, "You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. These strings are reserved for internal use.")
	case strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || strings.Contains(name, ".."):
		return Errorf(InvalidParameterValue, "Message (user) attribute name '%s' must not start or end with a period, or have periods in succession.", name)
	}
	for _, r := range name {
		if r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '.' {
			return Errorf(InvalidParameterValue, "Message (user) attribute name '%s' is invalid. It can contain A-Z, a-z, 0-9, underscore (_), hyphen (-), and period (.) characters.", name)
		}
	}
	return nil
}

// Transport is the part of a data type before its label: String, Number or
// Binary, or something SQS does not know.
func Transport(dataType string) string {
	transport, _, _ := strings.Cut(dataType, ".")
	return transport
}

func checkAttributeValue(a *Attribute, validText func([]byte) bool) error {
	transport := Transport(a.DataType)
	switch transport {
	case "String", "Number", "Binary":
	default:
		return Errorf(InvalidParameterValue, "The type of message (user) attribute '%s' is invalid. You must use only the following supported type prefixes: Binary, Number, String.", a.Name)
	}
	if utf8.RuneCountInString(a.DataType) > MaxAttributeNameLength || !validText([]byte(a.DataType)) {
		return Errorf(InvalidParameterValue, "The type of message (user) attribute '%s' must be at most %d valid characters long.", a.Name, MaxAttributeNameLength)
	}
	if a.HasList {
		return Errorf(InvalidParameterValue, "Message attribute list values in SendMessage operation are not supported.")
	}
	binary := transport == "Binary"
	if a.HasString && a.HasBinary || binary && a.HasString || !binary && a.HasBinary {
		field := "String"
		if binary {
			field = "Binary"
		}
		return Errorf(InvalidParameterValue, "The message (user) attribute '%s' with type '%s' must use field '%s'.", a.Name, clip(a.DataType), field)
	}
	if len(a.Value) == 0 {
		return Errorf(InvalidParameterValue, "Message (user) attribute '%s' must contain a non-empty value of type '%s'.", a.Name, transport)
	}
	if binary {
		return nil
	}
	if transport == "Number" && !validNumber(string(a.Value)) {
		return Errorf(InvalidParameterValue, "Can't cast the value of message (user) attribute '%s' to a number.", a.Name)
	}
	// Unlike a body's, a bad character here is an invalid parameter.
	if !validText(a.Value) {
		return &Error{Kind: InvalidParameterValue, Message: charactersText}
	}
	return nil
}

// validNumber: up to 38 significant digits, magnitude from 10^-128 to 10^126.
func validNumber(text string) bool {
	digits, seen, significant := 0, false, false
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	for _, c := range strings.TrimLeft(mantissa, "+-") {
		switch {
		case c >= '0' && c <= '9':
			seen = true
			if significant = significant || c != '0'; significant {
				digits++
			}
		case c != '.':
			return false // ParseFloat would take Inf, hexadecimals and _
		}
	}
	if !seen || digits > 38 {
		return false
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false
	}
	v = math.Abs(v)
	if !significant {
		return v == 0
	}
	return v >= 1e-128 && v <= 1e126
}

func checkSystemAttributes(attributes []Attribute, validText func([]byte) bool) error {
	for i := range attributes {
		a := &attributes[i]
		if a.Name != TraceHeader || i > 0 {
			return Errorf(InvalidParameterValue, "Message system attribute name '%s' is invalid.", clip(a.Name))
		}
		if a.DataType != "String" {
			return Errorf(InvalidParameterValue, "The type of message (system) attribute '%s' is invalid. You must use only the following supported type prefixes: String.", a.Name)
		}
		if a.HasBinary || a.HasList || len(a.Value) == 0 {
			return Errorf(InvalidParameterValue, "Message (system) attribute '%s' must contain a non-empty value of type 'String'.", a.Name)
		}
		if !validText(a.Value) {
			return &Error{Kind: InvalidParameterValue, Message: charactersText}
		}
	}
	return nil
}
