package wire

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"sqsgate/gateway/api"
)

const (
	// maxParameters bounds the parameters of a Query request. A batch of ten with
	// ten attributes each has about 350.
	maxParameters = 5000
	// maxMembers bounds the members of one list.
	maxMembers = 1000
)

// pair is a decoded parameter; value is part of the request's memory.
type pair struct {
	key   string
	value []byte
}

// form is the parameters of a Query request, in their order.
type form struct {
	pairs []pair
}

// parse adds the parameters of b, which it decodes in place.
func (f *form) parse(b []byte) error {
	for len(b) > 0 {
		part, rest, _ := bytes.Cut(b, []byte{'&'})
		b = rest
		if len(part) == 0 {
			continue
		}
		if len(f.pairs) == maxParameters {
			return serialization("The request has more than %d parameters.", maxParameters)
		}
		key, value, _ := bytes.Cut(part, []byte{'='})
		key, okKey := unescape(key)
		value, okValue := unescape(value)
		if !okKey || !okValue {
			return serialization("The query string contains a syntax error.")
		}
		f.pairs = append(f.pairs, pair{string(key), value})
	}
	return nil
}

// unescape decodes percent-escapes and plus signs in place.
func unescape(b []byte) ([]byte, bool) {
	i := bytes.IndexAny(b, "%+")
	if i < 0 {
		return b[:len(b):len(b)], true
	}
	end := i
	for i < len(b) {
		switch c := b[i]; c {
		case '+':
			b[end] = ' '
			i++
		case '%':
			if i+2 >= len(b) {
				return nil, false
			}
			n, err := strconv.ParseUint(string(b[i+1:i+3]), 16, 8)
			if err != nil {
				return nil, false
			}
			b[end] = byte(n)
			i += 3
		default:
			b[end] = c
			i++
		}
		end++
	}
	return b[:end:end], true
}

// get returns the last value of a parameter, or "".
func (f *form) get(key string) string {
	for i := len(f.pairs) - 1; i >= 0; i-- {
		if f.pairs[i].key == key {
			return string(f.pairs[i].value)
		}
	}
	return ""
}

// each calls member for every parameter.
func (f *form) each(member func(key string, value []byte) error) error {
	for _, p := range f.pairs {
		if err := member(p.key, p.value); err != nil {
			return err
		}
	}
	return nil
}

// list collects the members of a list by their numbers. Numbers may have gaps
// and come in any order.
type list[T any] struct {
	numbers []int
	members []T
}

// at returns the member of a number, new when it was not met before.
func (l *list[T]) at(number int) (*T, error) {
	if n := len(l.numbers); n > 0 && l.numbers[n-1] == number {
		return &l.members[n-1], nil
	}
	if i := slices.Index(l.numbers, number); i >= 0 {
		return &l.members[i], nil
	}
	if len(l.numbers) == maxMembers {
		return nil, serialization("A list of the request has more than %d members.", maxMembers)
	}
	var zero T
	l.numbers, l.members = append(l.numbers, number), append(l.members, zero)
	return &l.members[len(l.members)-1], nil
}

// sorted returns the members in the order of their numbers.
func (l *list[T]) sorted() []T {
	if slices.IsSorted(l.numbers) {
		return l.members
	}
	order := make([]int, len(l.numbers))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return l.numbers[a] - l.numbers[b] })
	out := make([]T, len(order))
	for i, from := range order {
		out[i] = l.members[from]
	}
	return out
}

// member splits the key of a list's member, "Name.1.rest", when the list is one
// of names: documented, or the member's name that some clients use. A member
// without a number counts as the first. An empty list, "Name=", is no member.
func member(key string, value []byte, names ...string) (number int, rest string, ok bool) {
	name, rest, dotted := strings.Cut(key, ".")
	if !slices.Contains(names, name) {
		return 0, "", false
	}
	if !dotted {
		return 0, "", len(value) > 0
	}
	rest = strings.TrimPrefix(rest, "member.")
	digits, after, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return 0, rest, true
	}
	return n, after, true
}

func formInt(to *api.Int, parameter string, value []byte) error {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return api.InvalidValue(parameter, string(value), "Must be an integer.")
	}
	*to = api.Int{Value: n, Set: true}
	return nil
}

// formStrings adds a member of a list of strings.
func formStrings(l *list[string], number int, value []byte) error {
	s, err := l.at(number)
	if err == nil {
		*s = string(value)
	}
	return err
}

// formPairs adds a part of a member of a map of strings: "Name" or "Key", or
// "Value".
func formPairs(l *list[api.Pair], number int, part string, value []byte) error {
	p, err := l.at(number)
	if err != nil {
		return err
	}
	switch part {
	case "Name", "Key", "key":
		p.Name = string(value)
	case "Value", "value":
		p.Value = string(value)
	}
	return nil
}

func toMap(pairs []api.Pair) map[string]string {
	if len(pairs) == 0 {
		return nil
	}
	m := make(map[string]string, len(pairs))
	for _, p := range pairs {
		m[p.Name] = p.Value
	}
	return m
}

func formAttribute(l *list[api.Attribute], number int, part string, value []byte) error {
	a, err := l.at(number)
	if err != nil {
		return err
	}
	switch part {
	case "Name":
		a.Name = string(value)
	case "Value.DataType":
		a.DataType = string(value)
	case "Value.StringValue":
		a.Value, a.HasString = value, true
	case "Value.BinaryValue":
		decoded, err := base64.StdEncoding.AppendDecode(nil, value)
		if err != nil {
			return api.Errorf(api.InvalidParameterValue, "The binary value of a message attribute is not valid base64.")
		}
		a.Value, a.HasBinary = decoded, true
	default:
		a.HasList = a.HasList || strings.HasPrefix(part, "Value.StringListValue") || strings.HasPrefix(part, "Value.BinaryListValue")
	}
	return nil
}
