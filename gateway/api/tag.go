package api

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckTags checks tags to set on a queue that has current ones.
func CheckTags(set, current map[string]string) error {
	n := len(current)
	for _, key := range slices.Sorted(maps.Keys(set)) {
		value := set[key]
		switch {
		case key == "" || utf8.RuneCountInString(key) > MaxTagKeyLength:
			return Errorf(InvalidParameterValue, "Tag keys must be between 1 and %d characters in length.", MaxTagKeyLength)
		case utf8.RuneCountInString(value) > MaxTagValueLength:
			return Errorf(InvalidParameterValue, "Tag values must be between 0 and %d characters in length.", MaxTagValueLength)
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return Errorf(InvalidParameterValue, "Tag keys cannot start with aws:, which is reserved.")
		case !tagText(key) || !tagText(value):
			return Errorf(InvalidParameterValue, "Tag keys and values can only include letters, digits, spaces and _ . : / = + - @.")
		}
		if _, ok := current[key]; !ok {
			n++
		}
	}
	if n > MaxTags {
		return Errorf(InvalidParameterValue, "Too many tags added for queue, the maximum is %d.", MaxTags)
	}
	return nil
}

func tagText(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsSpace(r) && !strings.ContainsRune("_.:/=+-@", r) {
			return false
		}
	}
	return true
}
