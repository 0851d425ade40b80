package sigv4

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	plainTarget = "http://sqs.example.com/?Action=ListQueues"
	longTarget  = "http://sqs.example.com/?Action=ListQueues&X-Amz-Expires=3600"
)

// Each way to be refused, with the text the client sees.
func TestRefusals(t *testing.T) {
	authorization := func(old, with string) func(*http.Request) {
		return func(r *http.Request) {
			text := r.Header.Get("Authorization")
			if !strings.Contains(text, old) {
				panic("nothing to replace in " + text)
			}
			r.Header.Set("Authorization", strings.Replace(text, old, with, 1))
		}
	}
	query := func(old, with string) func(*http.Request) {
		return func(r *http.Request) {
			if !strings.Contains(r.URL.RawQuery, old) {
				panic("nothing to replace in " + r.URL.RawQuery)
			}
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, old, with, 1)
		}
	}
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	without := func(name string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Del(name) }
	}
	nothing := func(*http.Request) {}
	minute := time.Minute
	for name, test := range map[string]struct {
		presigned bool
		change    func(*http.Request)
		later     time.Duration
		want      Reason
		text      string
	}{
		"not signed":          {change: without("Authorization"), want: MissingToken, text: "Request is missing Authentication Token"},
		"two signatures":      {change: header("Authorization", "a", "b"), want: Incomplete, text: "more than one signature"},
		"both forms":          {presigned: true, change: header("Authorization", "a"), want: Incomplete, text: "more than one signature"},
		"Basic":               {change: header("Authorization", "Basic YTpi"), want: Incomplete, text: "Unsupported AWS 'algorithm': 'Basic'"},
		"SigV4A":              {change: authorization("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256"), want: Incomplete, text: "AWS4-ECDSA-P256-SHA256"},
		"algorithm alone":     {change: header("Authorization", algorithm), want: Incomplete},
		"no parameters":       {change: header("Authorization", algorithm+" Credential=a, SignedHeaders=, Signature="), want: Incomplete, text: "Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' parameter."},
		"parameter twice":     {change: authorization("Signature=", "Signature=1, Signature="), want: Incomplete, text: "'Signature' twice"},
		"unknown parameter":   {change: authorization("Signature=", "Colour=1, Signature="), want: Incomplete, text: "Colour"},
		"short signature":     {change: authorization("Signature=", "Signature=0"), want: Incomplete, text: "64"},
		"short credential":    {change: authorization("/sqs/aws4_request", "/sqs"), want: Incomplete, text: "Credential must have exactly 5 slash-delimited elements"},
		"long credential":     {change: authorization("/sqs/aws4_request", "/sqs/aws4_request/x"), want: Incomplete, text: "Credential must have exactly 5 slash-delimited elements"},
		"other terminator":    {change: authorization("aws4_request", "aws5_request"), want: BadScope, text: "valid terminator: 'aws4_request', not 'aws5_request'."},
		"other service":       {change: authorization("/sqs/", "/sns/"), want: BadScope, text: "Credential should be scoped to correct service: 'sqs'."},
		"other day":           {change: authorization("/20260304/", "/20260305/"), want: BadScope, text: "'20260305' != '20260304', from '20260304T050607Z'."},
		"no region":           {change: authorization("/eu-north-1/", "//"), want: BadScope, text: "valid region"},
		"endless region":      {change: authorization("/eu-north-1/", "/"+strings.Repeat("x", 65)+"/"), want: BadScope, text: "valid region"},
		"unknown key":         {change: authorization(testID, "AKIANOBODY"), want: UnknownKey, text: "The security token included in the request is invalid."},
		"host not signed":     {change: authorization("SignedHeaders=host;", "SignedHeaders="), want: Incomplete, text: "'Host' or ':authority' must be a 'SignedHeader'"},
		"date not signed":     {change: authorization(";x-amz-date", ""), want: Incomplete, text: "'X-Amz-Date' must be a 'SignedHeader'"},
		"signed header twice": {change: authorization("host;x-amz-date", "host;host;x-amz-date"), want: Incomplete, text: "twice"},
		"name in capitals":    {change: authorization("host;", "Host;"), want: Incomplete, text: "lower case"},
		"empty name":          {change: authorization("host;", "host;;"), want: Incomplete, text: "SignedHeaders"},
		"too many names":      {change: authorization("host;", "host;"+strings.Repeat("a;", 256)), want: Incomplete, text: "SignedHeaders"},
		"absent header":       {change: authorization("host;", "host;x-absent;"), want: Mismatch, text: "'x-absent' is not in the request"},
		"no date":             {change: without("X-Amz-Date"), want: Incomplete, text: "'X-Amz-Date' or a 'Date' header"},
		"two dates":           {change: header("X-Amz-Date", "20260304T050607Z", "20260304T050607Z"), want: Incomplete, text: "more than one 'X-Amz-Date'"},
		"date in words":       {change: header("X-Amz-Date", "today"), want: Incomplete, text: "Date must be in ISO-8601 'basic format'. Got 'today'."},
		"fractions":           {change: header("X-Amz-Date", "20260304T050607.5Z"), want: Incomplete, text: "ISO-8601"},
		"too old":             {change: nothing, later: 15*minute + time.Second, want: Expired, text: "Signature expired: 20260304T050607Z is now earlier than 20260304T050608Z (20260304T052108Z - 15 min.)"},
		"too early":           {change: nothing, later: -15*minute - time.Second, want: NotYetValid, text: "Signature not yet current: 20260304T050607Z is still later than 20260304T050606Z (20260304T045106Z + 15 min.)"},
		"unsigned payload":    {change: header("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD"), want: BadPayload, text: "x-amz-content-sha256"},
		"other digest":        {change: header("X-Amz-Content-Sha256", emptyDigest, emptyDigest), want: BadPayload},
		"broken query":        {change: query("Action=ListQueues", "Action=%zz"), want: Incomplete, text: "malformed at 'Action=%zz'"},
		"endless query":       {change: query("Action=ListQueues", strings.Repeat("a&", maxPairs+1)), want: Incomplete, text: "4096"},
		"secret of another":   {change: authorization(testID, "AKIAOTHER"), want: Mismatch, text: "The request signature we calculated does not match the signature you provided."},

		"presigned: no expiry":        {presigned: true, change: query("X-Amz-Expires=3600", "X=1"), want: Incomplete, text: "AWS query-string parameters must include 'X-Amz-Expires'."},
		"presigned: a second":         {presigned: true, change: query("X-Amz-Expires=3600", "X-Amz-Expires=0"), want: Incomplete, text: "from 1 to 604800"},
		"presigned: over a week":      {presigned: true, change: query("X-Amz-Expires=3600", "X-Amz-Expires=604801"), want: Incomplete, text: "from 1 to 604800"},
		"presigned: negative":         {presigned: true, change: query("X-Amz-Expires=3600", "X-Amz-Expires=-5"), want: Incomplete, text: "from 1 to 604800"},
		"presigned: expiry twice":     {presigned: true, change: query("X-Amz-Expires=3600", "X-Amz-Expires=3600&X%2DAmz-Expires=7200"), want: Incomplete, text: "more than once"},
		"presigned: other algorithm":  {presigned: true, change: query("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1"), want: Incomplete, text: "AWS4-HMAC-SHA1"},
		"presigned: host not signed":  {presigned: true, change: query("X-Amz-SignedHeaders=host", "X-Amz-SignedHeaders=date"), want: Incomplete, text: "'Host'"},
		"presigned: longer life":      {presigned: true, change: query("X-Amz-Expires=3600", "X-Amz-Expires=7200"), want: Mismatch},
		"presigned: expired":          {presigned: true, change: nothing, later: time.Hour + time.Second, want: Expired, text: "Signature expired: 20260304T050607Z is now earlier than 20260304T050608Z (20260304T060608Z - 60 min.)"},
		"presigned: not yet":          {presigned: true, change: nothing, later: -16 * minute, want: NotYetValid, text: "Signature not yet current"},
		"presigned: unsigned payload": {presigned: true, change: header("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD"), want: BadPayload},
	} {
		t.Run(name, func(t *testing.T) {
			var r *http.Request
			if test.presigned {
				r = presigned(t, "GET", longTarget, nil, nil, testTime)
			} else {
				r = signed(t, "GET", plainTarget, nil, nil, testTime)
			}
			test.change(r)
			who, err := testVerifier(t).Verify(r, nil, testTime.Add(test.later))
			var bad *Error
			if !errors.As(err, &bad) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if bad.Reason != test.want || !strings.Contains(bad.Message, test.text) {
				t.Errorf("reason %d, %q; want reason %d, %q", bad.Reason, bad.Message, test.want, test.text)
			}
			if who.Allows("SendMessage", "q") {
				t.Error("the refused request has an identity")
			}
			if strings.Contains(bad.Message+bad.CanonicalRequest+bad.StringToSign, testSecret) {
				t.Error("the secret shows")
			}
		})
	}
}

// What is at the edge of being refused, and what other clients than the SDKs do.
func TestAccepted(t *testing.T) {
	v := testVerifier(t)
	accept := func(t *testing.T, r *http.Request, body string, later time.Duration) {
		t.Helper()
		if _, err := v.Verify(r, []byte(body), testTime.Add(later)); err != nil {
			t.Errorf("%v%s", err, detail(err))
		}
	}
	// own signs as this package verifies, for what the SDK's signer cannot make.
	own := func(t *testing.T, r *http.Request, names, timestamp, path, body string) {
		t.Helper()
		c := &claim{signed: names, timestamp: timestamp, date: "20260304", region: "eu-north-1", service: "sqs", scope: "20260304/eu-north-1/sqs/aws4_request"}
		sum := sha(body)
		s := new(scratch)
		if err := s.build(r, c, path, &sum); err != nil {
			t.Fatal(err)
		}
		key := derive(testSecret, c.date, c.region, c.service)
		r.Header.Set("Authorization", algorithm+" Signature="+hexOf(mac(key[:], string(s.text)))+",SignedHeaders="+names+",Credential="+testID+"/"+c.scope)
	}
	t.Run("15 minutes either way", func(t *testing.T) {
		accept(t, signed(t, "GET", plainTarget, nil, nil, testTime), "", 15*time.Minute)
		accept(t, signed(t, "GET", plainTarget, nil, nil, testTime), "", -15*time.Minute)
	})
	t.Run("presigned to the last second", func(t *testing.T) {
		accept(t, presigned(t, "GET", longTarget, nil, nil, testTime), "", time.Hour)
	})
	t.Run("presigned of a body", func(t *testing.T) {
		accept(t, presigned(t, "POST", longTarget, nil, []byte("Action=ListQueues"), testTime), "Action=ListQueues", time.Hour)
	})
	t.Run("the Date header, any order of parameters", func(t *testing.T) {
		r := newRequest(t, "POST", "http://sqs.example.com/")
		r.Header.Set("Date", "Wed, 04 Mar 2026 05:06:07 GMT")
		own(t, r, "date;host", "20260304T050607Z", "/", "x")
		accept(t, r, "x", 0)
	})
	t.Run("the Date header in the basic form", func(t *testing.T) {
		r := newRequest(t, "POST", "http://sqs.example.com/")
		r.Header.Set("Date", "20260304T050607Z")
		own(t, r, "date;host", "20260304T050607Z", "/", "")
		accept(t, r, "", 0)
	})
	t.Run("empty path segments, removed by the signer or not", func(t *testing.T) {
		for _, path := range []string{"/v1///q", "/v1/q"} {
			r := newRequest(t, "POST", "http://sqs.example.com/v1///q")
			r.Header.Set("X-Amz-Date", "20260304T050607Z")
			own(t, r, "host;x-amz-date", "20260304T050607Z", path, "")
			accept(t, r, "", 0)
		}
	})
	t.Run("names not sorted", func(t *testing.T) {
		r := signed(t, "GET", plainTarget, nil, nil, testTime)
		text := r.Header.Get("Authorization")
		r.Header.Set("Authorization", strings.Replace(text, "host;x-amz-date", "x-amz-date;host", 1))
		accept(t, r, "", 0)
	})
	t.Run("names that cannot be read from the map", func(t *testing.T) {
		r := newRequest(t, "POST", "http://sqs.example.com/")
		r.ContentLength = 3
		r.Header.Set("X-Amz-Date", "20260304T050607Z")
		own(t, r, "content-length;host;x-amz-date", "20260304T050607Z", "/", "abc")
		accept(t, r, "abc", 0)
		r.ContentLength = -1
		wantReason(t, v, r, []byte("abc"), testTime, Mismatch)
	})
	t.Run("an absolute request target", func(t *testing.T) {
		r := signed(t, "GET", plainTarget, nil, nil, testTime)
		r.RequestURI = plainTarget
		accept(t, r, "", 0)
	})
}
