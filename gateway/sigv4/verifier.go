package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Options of a Verifier. Keys are required.
type Options struct {
	Keys []Key
	// Region that requests have to be signed for. Default any: clients of a server
	// of one's own sign for whatever region they are set to.
	Region string
	// MaxSkew is how far the clock of a caller may be off either way, and so for
	// how long a request can be repeated by who has seen it; default 15 min.
	MaxSkew time.Duration
	// CachedKeys bounds the derived keys that are kept, one for each access key,
	// day and region in use; default 4096.
	CachedKeys int
}

func (o Options) withDefaults() Options {
	if o.MaxSkew == 0 {
		o.MaxSkew = 15 * time.Minute
	}
	if o.CachedKeys == 0 {
		o.CachedKeys = 4096
	}
	return o
}

func (o Options) validate() error {
	if len(o.Keys) == 0 {
		return errors.New("sigv4: there are no keys")
	}
	if o.MaxSkew < 0 || o.CachedKeys < 0 {
		return fmt.Errorf("sigv4: skew %s or cache of %d keys is out of range", o.MaxSkew, o.CachedKeys)
	}
	return nil
}

// Verifier verifies signatures. It is safe for concurrent use.
type Verifier struct {
	opts    Options
	service string
	keys    keyring
	derived *derived
	memory  sync.Pool // of *scratch
}

// New makes a Verifier for the service sqs.
func New(opts Options) (*Verifier, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	keys, err := newKeyring(opts.Keys)
	if err != nil {
		return nil, err
	}
	opts.Keys = nil // the ring has them
	v := &Verifier{opts: opts, service: "sqs", keys: keys, derived: newDerived(opts.CachedKeys)}
	v.memory.New = func() any { return new(scratch) }
	return v, nil
}

// Verify tells who signed a request. body is all of r's body, which is not read.
// r must be as the server got it: method, RequestURI, URL, Host, headers and
// ContentLength are what was signed. The error is always an *Error.
func (v *Verifier) Verify(r *http.Request, body []byte, now time.Time) (Identity, error) {
	c, err := readClaim(r)
	if err != nil {
		return Identity{}, err
	}
	if err := v.checkScope(c); err != nil {
		return Identity{}, err
	}
	key := v.keys[c.accessKeyID]
	if key == nil {
		return Identity{}, refuse(UnknownKey, "The security token included in the request is invalid.")
	}
	if err := c.checkTime(now.UTC(), v.opts.MaxSkew); err != nil {
		return Identity{}, err
	}
	sum := sha256.Sum256(body)
	if err := checkDigest(r.Header[headerDigest], &sum); err != nil {
		return Identity{}, err
	}
	if err := v.checkSignature(r, c, key, &sum); err != nil {
		return Identity{}, err
	}
	return Identity{AccessKeyID: key.AccessKeyID, Principal: key.Principal, key: key}, nil
}

func (v *Verifier) checkScope(c *claim) error {
	switch {
	case c.service != v.service:
		return refuse(BadScope, "Credential should be scoped to correct service: '%s'.", v.service)
	case v.opts.Region != "" && c.region != v.opts.Region:
		return refuse(BadScope, "Credential should be scoped to a valid region, not '%s'.", clip(c.region, maxEcho))
	case c.region == "" || len(c.region) > maxRegion:
		return refuse(BadScope, "Credential should be scoped to a valid region.")
	case c.date != c.timestamp[:len(dateFormat)]:
		return refuse(BadScope, "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '%s' != '%s', from '%s'.",
			clip(c.date, maxEcho), c.timestamp[:len(dateFormat)], c.timestamp)
	}
	return nil
}

// checkTime holds a request to the skew, a presigned one to its own life. A
// presigned request may come early by the skew, but never late.
func (c *claim) checkTime(now time.Time, skew time.Duration) error {
	life := skew
	if c.presigned {
		life = c.expires
	}
	switch age := now.Sub(c.time); {
	case age > life:
		return refuse(Expired, "Signature expired: %s is now earlier than %s (%s - %s.)",
			c.timestamp, now.Add(-life).Format(timeFormat), now.Format(timeFormat), span(life))
	case age < -skew:
		return refuse(NotYetValid, "Signature not yet current: %s is still later than %s (%s + %s.)",
			c.timestamp, now.Add(skew).Format(timeFormat), now.Format(timeFormat), span(skew))
	}
	return nil
}

func span(d time.Duration) string {
	if d%time.Minute == 0 {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// checkDigest compares the digest that the client says its body has. It need not
// say one. What is no digest stands for a payload that is not signed.
func checkDigest(said []string, sum *digest) error {
	if len(said) == 0 {
		return nil
	}
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	if len(said) > 1 || said[0] != string(text[:]) {
		return refuse(BadPayload, "The provided 'x-amz-content-sha256' header does not match what was computed. Payloads that are unsigned or signed in parts are not supported.")
	}
	return nil
}

// checkSignature compares the signature. Clients disagree on whether empty and dot
// segments of a path are removed before it is signed; either way stands for the
// path that was sent.
func (v *Verifier) checkSignature(r *http.Request, c *claim, key *Key, sum *digest) error {
	id := derivedID{c.accessKeyID, c.date, c.region}
	secret, cached := v.derived.get(id)
	if !cached {
		secret = derive(key.Secret, c.date, c.region, c.service)
	}
	s := v.borrow()
	defer v.release(s)
	path := rawPath(r)
	normal := normalPath(path)
	s.use(id, &secret)
	right, err := s.proves(r, c, normal, sum)
	if err == nil && !right && path != normal {
		right, err = s.proves(r, c, path, sum)
	}
	if err != nil {
		return err
	}
	if !right {
		return &Error{
			Reason: Mismatch,
			Message: "The request signature we calculated does not match the signature you provided. " +
				"Check your AWS Secret Access Key and signing method. Consult the service documentation for details.",
			CanonicalRequest: clip(string(s.request), maxCanonical),
			StringToSign:     clip(string(s.text), maxCanonical),
		}
	}
	if !cached {
		v.derived.put(id, secret)
	}
	return nil
}

// maxCanonical bounds each of the strings of a Mismatch, in bytes.
const maxCanonical = 16 << 10

// proves makes the canonical strings for a path and compares the signature in
// constant time.
func (s *scratch) proves(r *http.Request, c *claim, path string, sum *digest) (bool, error) {
	if err := s.build(r, c, path, sum); err != nil {
		return false, err
	}
	s.mac.Reset()
	s.mac.Write(s.text)
	s.want = s.mac.Sum(s.want[:0])
	s.text = hex.AppendEncode(s.text, s.want)
	text := s.text[len(s.text)-signatureSize:]
	s.text = s.text[:len(s.text)-signatureSize]
	return hmac.Equal(text, []byte(c.signature)), nil
}

func (v *Verifier) borrow() *scratch {
	s, ok := v.memory.Get().(*scratch)
	if !ok {
		s = new(scratch)
	}
	return s
}

func (v *Verifier) release(s *scratch) {
	if cap(s.request) <= 64<<10 { // a presigned batch is rare and large
		v.memory.Put(s)
	}
}
