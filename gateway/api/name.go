package api

import "strings"

const (
	nameText     = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
	fifoNameText = "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length"

	fifoSuffix = ".fifo"
	// maxExtendedName bounds names with a directory or a consumer, in bytes.
	maxExtendedName = 512
)

// IsFIFOName tells whether a queue of this name is a FIFO queue: its topic's
// name ends in .fifo.
func IsFIFOName(name string) bool {
	topic, _ := SplitName(name)
	return strings.HasSuffix(topic, fifoSuffix)
}

// SplitName splits an extended name dir/topic@consumer at its last @. The
// consumer is empty when the name has none.
func SplitName(name string) (topic, consumer string) {
	if i := strings.LastIndexByte(name, '@'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// CheckNewName checks the name of a queue to create. Names with a / or an @ are
// this project's extension; all others follow the rules of AWS.
func CheckNewName(name string, fifo bool) error {
	if name == "" {
		return Missing("QueueName")
	}
	ok := false
	switch {
	case strings.ContainsAny(name, "/@"):
		ok = ValidName(name) && IsFIFOName(name) == fifo
	case fifo:
		base, suffixed := strings.CutSuffix(name, fifoSuffix)
		ok = suffixed && len(name) <= MaxQueueNameLength && simple(base)
	default:
		ok = len(name) <= MaxQueueNameLength && simple(name)
	}
	if ok {
		return nil
	}
	if fifo {
		return &Error{Kind: InvalidParameterValue, Message: fifoNameText}
	}
	return &Error{Kind: InvalidParameterValue, Message: nameText}
}

// ValidName tells whether a queue can have this name at all: the parts of its
// path, and its consumer, hold letters, digits, '-', '_' and '.'.
func ValidName(name string) bool {
	if len(name) > maxExtendedName {
		return false
	}
	topic, consumer := SplitName(name)
	if len(topic) < len(name) && !validPart(consumer) {
		return false
	}
	for part := range strings.SplitSeq(topic, "/") {
		if !validPart(part) {
			return false
		}
	}
	return true
}

// validPart excludes "." and "..", which a path would resolve.
func validPart(part string) bool {
	if part == "" || part == "." || part == ".." || len(part) > 255 {
		return false
	}
	for i := range len(part) {
		if c := part[i]; !alphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// simple tells whether s is one or more of [A-Za-z0-9_-], the alphabet of queue
// names and batch entry ids.
func simple(s string) bool {
	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
