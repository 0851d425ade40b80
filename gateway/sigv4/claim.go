package sigv4

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	algorithm  = "AWS4-HMAC-SHA256"
	terminator = "aws4_request"

	// timeFormat is the basic form of ISO 8601.
	timeFormat = "20060102T150405Z"
	dateFormat = "20060102"

	headerDate    = "X-Amz-Date"
	headerDigest  = "X-Amz-Content-Sha256"
	headerTarget  = "X-Amz-Target"
	maxEcho       = 256 // bytes of a refused value that an error repeats
	maxSigned     = 256 // signed headers
	maxRegion     = 64  // bytes
	signatureSize = 64  // hex digits
)

// claim is what a request says of its signature. Nothing of it is proved.
type claim struct {
	accessKeyID string
	date        string // yyyymmdd, of the scope
	region      string
	service     string
	scope       string // date/region/service/aws4_request
	signed      string // names of the signed headers: sorted, semicolons between
	signature   string // 64 characters
	timestamp   string // in timeFormat
	time        time.Time
	presigned   bool
	expires     time.Duration // presigned only
	query       []pair        // its order is of no meaning
}

// readClaim reads the signature of a request, wherever it is.
func readClaim(r *http.Request) (*claim, error) {
	query, err := splitQuery(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	c := &claim{query: query}
	c.presigned = slices.ContainsFunc(query, func(p pair) bool {
		return p.name == paramAlgorithm || p.name == paramSignature || p.name == paramCredential
	})
	authorization := r.Header["Authorization"]
	switch {
	case len(authorization) > 1, len(authorization) == 1 && c.presigned:
		return nil, refuse(Incomplete, "The request carries more than one signature.")
	case len(authorization) == 1:
		err = c.readHeader(authorization[0], r.Header)
	case c.presigned:
		err = c.readQuery()
	default:
		return nil, refuse(MissingToken, "Request is missing Authentication Token")
	}
	if err != nil {
		return nil, err
	}
	if len(r.Header[headerTarget]) > 0 && !c.signs("x-amz-target") {
		return nil, refuse(Incomplete, "'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.")
	}
	return c, nil
}

// setCredential reads <access key id>/<date>/<region>/<service>/aws4_request.
func (c *claim) setCredential(credential string) error {
	id, scope, _ := strings.Cut(credential, "/")
	date, rest, _ := strings.Cut(scope, "/")
	region, rest, _ := strings.Cut(rest, "/")
	service, end, complete := strings.Cut(rest, "/")
	if !complete || strings.Contains(end, "/") {
		return refuse(Incomplete, "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '%s'", clip(credential, maxEcho))
	}
	if end != terminator {
		return refuse(BadScope, "Credential should be scoped with a valid terminator: '%s', not '%s'.", terminator, clip(end, maxEcho))
	}
	c.accessKeyID, c.scope, c.date, c.region, c.service = id, scope, date, region, service
	return nil
}

// setSigned reads the names of the signed headers. The order is made the
// canonical one; a client that sorts elsewhere signs the same.
func (c *claim) setSigned(list string) error {
	last, sorted, count, host := "", true, 0, false
	for name := range strings.SplitSeq(list, ";") {
		if !headerName(name) || count == maxSigned {
			return refuse(Incomplete, "SignedHeaders must be names of headers in lower case with semicolons between, got '%s'", clip(list, maxEcho))
		}
		sorted = sorted && name > last
		host = host || name == "host"
		last = name
		count++
	}
	if !host {
		return refuse(Incomplete, "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")
	}
	if !sorted {
		names := strings.Split(list, ";")
		slices.Sort(names)
		if len(slices.Compact(names)) != count {
			return refuse(Incomplete, "SignedHeaders names a header twice: '%s'", clip(list, maxEcho))
		}
		list = strings.Join(names, ";")
	}
	c.signed = list
	return nil
}

// headerName tells whether s is the name of a header in lower case.
func headerName(s string) bool {
	for i := range len(s) {
		b := s[i]
		if !unreserved(b) && strings.IndexByte("!#$%&'*+^`|", b) < 0 || b >= 'A' && b <= 'Z' {
			return false
		}
	}
	return s != ""
}

func (c *claim) signs(name string) bool {
	for signed := range strings.SplitSeq(c.signed, ";") {
		if signed == name {
			return true
		}
	}
	return false
}

func (c *claim) setSignature(signature string) error {
	if len(signature) != signatureSize {
		return refuse(Incomplete, "Signature must be %d hexadecimal digits.", signatureSize)
	}
	c.signature = signature
	return nil
}

// setTime reads a time in the basic form of ISO 8601.
func (c *claim) setTime(text string) (err error) {
	// Parse would take fractions of a second too.
	if c.time, err = time.Parse(timeFormat, text); err != nil || len(text) != len(timeFormat) {
		return refuse(Incomplete, "Date must be in ISO-8601 'basic format'. Got '%s'. See http://en.wikipedia.org/wiki/ISO_8601", clip(text, maxEcho))
	}
	c.timestamp = text
	return nil
}
