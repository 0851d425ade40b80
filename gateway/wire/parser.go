package wire

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"sqsgate/gateway/api"
)

// maxDepth bounds the nesting of a request, unknown members included.
const maxDepth = 1000

// parser reads one JSON document from front to back. Strings are unescaped in
// place, so a part that was read cannot be read again. Member names are case
// sensitive; of a repeated member the last counts; null is the same as absent.
type parser struct {
	buf   []byte
	pos   int
	depth int
}

// document reads the object that is the whole of a request. member is called
// with each name and must consume the value. An empty body is an empty object.
func (p *parser) document(member func(name []byte) error) error {
	p.space()
	if p.pos == len(p.buf) {
		return nil
	}
	if p.buf[p.pos] != '{' {
		return p.mismatch("a structure")
	}
	if _, err := p.object(member); err != nil {
		return err
	}
	p.space()
	if p.pos != len(p.buf) {
		return p.malformed()
	}
	return nil
}

// object reads an object, or null: false.
func (p *parser) object(member func(name []byte) error) (bool, error) {
	if ok, err := p.open('{', "a structure or map"); !ok {
		return false, err
	}
	for first := true; ; first = false {
		p.space()
		switch {
		case p.next('}'):
			p.depth--
			return true, nil
		case !first && !p.next(','):
			return false, p.malformed()
		}
		p.space()
		if p.pos >= len(p.buf) || p.buf[p.pos] != '"' {
			return false, p.malformed()
		}
		name, err := p.quoted()
		if err != nil {
			return false, err
		}
		p.space()
		if !p.next(':') {
			return false, p.malformed()
		}
		if err := member(name); err != nil {
			return false, err
		}
	}
}

// array reads an array, or null. item must consume one value.
func (p *parser) array(item func() error) error {
	if ok, err := p.open('[', "a list"); !ok {
		return err
	}
	p.space()
	if p.next(']') {
		p.depth--
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		p.space()
		if p.next(']') {
			p.depth--
			return nil
		}
		if !p.next(',') {
			return p.malformed()
		}
	}
}

// open consumes the start of a collection, or a null: false without an error.
func (p *parser) open(start byte, want string) (bool, error) {
	p.space()
	if p.null() {
		return false, nil
	}
	if !p.next(start) {
		return false, p.mismatch(want)
	}
	if p.depth++; p.depth > maxDepth {
		return false, serialization("The request is nested too deeply.")
	}
	return true, nil
}

// bytes reads a string, or null: nil. The result is part of the request.
func (p *parser) bytes(to *[]byte) error {
	p.space()
	if p.null() {
		*to = nil
		return nil
	}
	if p.pos >= len(p.buf) || p.buf[p.pos] != '"' {
		return p.mismatch("a String")
	}
	b, err := p.quoted()
	*to = b
	return err
}

func (p *parser) string(to *string) error {
	var b []byte
	err := p.bytes(&b)
	*to = string(b)
	return err
}

func (p *parser) text(to *api.Text) error {
	var b []byte
	err := p.bytes(&b)
	*to = api.Text{Value: string(b), Set: b != nil}
	return err
}

func (p *parser) blob(to *[]byte) error {
	var b []byte
	if err := p.bytes(&b); err != nil {
		return err
	}
	if b == nil {
		*to = nil
		return nil
	}
	decoded, err := base64.StdEncoding.AppendDecode(make([]byte, 0, len(b)*3/4), b)
	if err != nil {
		return serialization("A binary value is not valid base64.")
	}
	*to = decoded
	return nil
}

func (p *parser) int(to *api.Int) error {
	p.space()
	*to = api.Int{}
	if p.null() {
		return nil
	}
	start := p.pos
	if p.pos >= len(p.buf) || p.buf[p.pos] != '-' && (p.buf[p.pos] < '0' || p.buf[p.pos] > '9') {
		return p.mismatch("an Integer")
	}
	if err := p.number(); err != nil {
		return err
	}
	n, err := strconv.ParseInt(string(p.buf[start:p.pos]), 10, 64)
	if err != nil {
		return serialization("NUMBER_VALUE can not be converted to an Integer")
	}
	*to = api.Int{Value: n, Set: true}
	return nil
}

func (p *parser) strings(to *[]string) error {
	*to = nil
	return p.array(func() error {
		var b []byte
		if err := p.bytes(&b); err != nil {
			return err
		}
		if b != nil {
			*to = append(*to, string(b))
		}
		return nil
	})
}

func (p *parser) stringMap(to *map[string]string) error {
	m := map[string]string{}
	present, err := p.object(func(name []byte) error {
		key := string(name)
		var b []byte
		if err := p.bytes(&b); err != nil {
			return err
		}
		if m[key] = string(b); b == nil {
			delete(m, key)
		}
		return nil
	})
	if *to = m; !present {
		*to = nil
	}
	return err
}

// skip reads and checks a value of any type.
func (p *parser) skip() error {
	p.space()
	if p.pos >= len(p.buf) {
		return p.malformed()
	}
	switch p.buf[p.pos] {
	case '{':
		_, err := p.object(func([]byte) error { return p.skip() })
		return err
	case '[':
		return p.array(p.skip)
	case '"':
		_, err := p.quoted()
		return err
	case 't':
		return p.literal("true")
	case 'f':
		return p.literal("false")
	case 'n':
		return p.literal("null")
	}
	return p.number()
}

func (p *parser) literal(word string) error {
	if len(p.buf)-p.pos < len(word) || string(p.buf[p.pos:p.pos+len(word)]) != word {
		return p.malformed()
	}
	p.pos += len(word)
	return nil
}

func (p *parser) null() bool {
	return p.pos < len(p.buf) && p.buf[p.pos] == 'n' && p.literal("null") == nil
}

func (p *parser) space() {
	for p.pos < len(p.buf) {
		switch p.buf[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) next(c byte) bool {
	if p.pos < len(p.buf) && p.buf[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) digits() bool {
	start := p.pos
	for p.pos < len(p.buf) && p.buf[p.pos] >= '0' && p.buf[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > start
}

func (p *parser) number() error {
	p.next('-')
	if !p.next('0') && !p.digits() {
		return p.malformed()
	}
	if p.next('.') && !p.digits() {
		return p.malformed()
	}
	if p.next('e') || p.next('E') {
		if !p.next('+') {
			p.next('-')
		}
		if !p.digits() {
			return p.malformed()
		}
	}
	return nil
}

// plain returns how many bytes from the front of b are neither a quote, a
// backslash nor a control character, looking at eight at a time.
func plain(b []byte) int {
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		if zeroBytes(w^(ones*'"'))|zeroBytes(w^(ones*'\\'))|((w-ones*0x20)&^w)&highs != 0 {
			break
		}
	}
	for n < len(b) && b[n] >= 0x20 && b[n] != '"' && b[n] != '\\' {
		n++
	}
	return n
}

// quoted reads a string whose quote is next, and unescapes it in place.
func (p *parser) quoted() ([]byte, error) {
	p.pos++
	start := p.pos
	p.pos += plain(p.buf[p.pos:])
	if p.next('"') {
		return p.buf[start : p.pos-1 : p.pos-1], nil
	}
	end := p.pos // of what is decoded
	for {
		if p.pos >= len(p.buf) || p.buf[p.pos] < 0x20 {
			return nil, p.malformed()
		}
		if p.next('"') {
			return p.buf[start:end:end], nil
		}
		if p.buf[p.pos] == '\\' {
			n, err := p.escape(end)
			if err != nil {
				return nil, err
			}
			end += n
			continue
		}
		n := plain(p.buf[p.pos:])
		end += copy(p.buf[end:], p.buf[p.pos:p.pos+n])
		p.pos += n
	}
}

// escape decodes the escape at pos to the place end and returns its length. It
// is never longer than what it replaces.
func (p *parser) escape(end int) (int, error) {
	if p.pos+1 >= len(p.buf) {
		return 0, p.malformed()
	}
	c := p.buf[p.pos+1]
	p.pos += 2
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return p.unicode(end)
	default:
		return 0, p.malformed()
	}
	p.buf[end] = c
	return 1, nil
}

func (p *parser) unicode(end int) (int, error) {
	r, ok := hex4(p.buf[p.pos:])
	if !ok {
		return 0, p.malformed()
	}
	p.pos += 4
	if !utf16.IsSurrogate(r) {
		return utf8.EncodeRune(p.buf[end:p.pos], r), nil
	}
	if rest := p.buf[p.pos:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
		if low, ok := hex4(rest[2:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				p.pos += 6
				return utf8.EncodeRune(p.buf[end:p.pos], pair), nil
			}
		}
	}
	// Half a pair is no character. Its three bytes are not UTF-8, so that the
	// checks of bodies and values refuse it instead of storing a replacement.
	p.buf[end] = 0xe0 | byte(r>>12)
	p.buf[end+1] = 0x80 | byte(r>>6)&0x3f
	p.buf[end+2] = 0x80 | byte(r)&0x3f
	return 3, nil
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func (p *parser) malformed() error {
	return serialization("The request is not valid JSON, at byte %d.", p.pos)
}

// mismatch is the error of a value of another type.
func (p *parser) mismatch(want string) error {
	if p.pos >= len(p.buf) {
		return p.malformed()
	}
	have := ""
	switch c := p.buf[p.pos]; {
	case c == '"':
		have = "STRING_VALUE"
	case c == '{':
		return serialization("Start of structure or map found where not expected.")
	case c == '[':
		return serialization("Start of list found where not expected.")
	case c == '-' || c >= '0' && c <= '9':
		have = "NUMBER_VALUE"
	case c == 't':
		have = "TRUE_VALUE"
	case c == 'f':
		have = "FALSE_VALUE"
	default:
		return p.malformed()
	}
	return serialization("%s can not be converted to %s", have, want)
}
