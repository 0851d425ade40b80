package sigv4

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsv4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"pgregory.net/rapid"
)

const (
	testID     = "AKIAIOSFODNN7EXAMPLE"
	testSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)

var testTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func testVerifier(t testing.TB) *Verifier {
	t.Helper()
	v, err := New(Options{Keys: []Key{
		{AccessKeyID: testID, Secret: testSecret, Principal: "alice"},
		{AccessKeyID: "AKIAOTHER", Secret: "other", Principal: "bob"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func sdkCredentials(token string) aws.Credentials {
	return aws.Credentials{AccessKeyID: testID, SecretAccessKey: testSecret, SessionToken: token}
}

// arrived is the request as the server's end of a connection sees it.
func arrived(t interface{ Fatal(args ...any) }, r *http.Request) *http.Request {
	var wire bytes.Buffer
	if err := r.Write(&wire); err != nil {
		t.Fatal(err)
	}
	got, err := http.ReadRequest(bufio.NewReader(&wire))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// signed makes a request and signs it in the header.
func signed(t interface{ Fatal(args ...any) }, method, target string, h http.Header, body []byte, at time.Time) *http.Request {
	r := httptest.NewRequest(method, target, bytes.NewReader(body))
	maps.Copy(r.Header, h)
	sum := sha256.Sum256(body)
	err := awsv4.NewSigner().SignHTTP(r.Context(), sdkCredentials(h.Get("X-Amz-Security-Token")), r, hex.EncodeToString(sum[:]), "sqs", "eu-north-1", at)
	if err != nil {
		t.Fatal(err)
	}
	return arrived(t, r)
}

// presigned makes a request and signs it in the query string.
func presigned(t interface{ Fatal(args ...any) }, method, target string, h http.Header, body []byte, at time.Time) *http.Request {
	r := httptest.NewRequest(method, target, bytes.NewReader(body))
	maps.Copy(r.Header, h)
	sum := sha256.Sum256(body)
	signedURL, signedHeaders, err := awsv4.NewSigner().PresignHTTP(r.Context(), sdkCredentials(""), r, hex.EncodeToString(sum[:]), "sqs", "eu-north-1", at)
	if err != nil {
		t.Fatal(err)
	}
	r = httptest.NewRequest(method, signedURL, bytes.NewReader(body))
	maps.Copy(r.Header, h)
	for name, values := range signedHeaders {
		if name != "Host" && name != "Content-Length" {
			r.Header[name] = values
		}
	}
	return arrived(t, r)
}

// drawn is a random request.
type drawn struct {
	method, target string
	header         http.Header
	body           []byte
	at             time.Time
}

func draw(t *rapid.T) drawn {
	d := drawn{
		method: rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "method"),
		header: http.Header{},
		at:     testTime.Add(time.Duration(rapid.IntRange(-899, 899).Draw(t, "skew")) * time.Second),
	}
	if d.method == "POST" {
		d.body = rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "body")
	}
	// Segments that stay as they are, and one that needs its encoding.
	segment := rapid.StringMatching(`[a-zA-Z0-9@:_~!$-]{1,12}(%2F|%20|%C3%A9)?`)
	d.target = "http://sqs.example.com:9324/" + strings.Join(rapid.SliceOfN(segment, 0, 3).Draw(t, "path"), "/")
	// The signer sorts by what is not encoded: names are of characters that keep.
	query := rapid.MapOfN(rapid.StringMatching(`[A-Za-z0-9._-]{1,10}`), rapid.String(), 0, 5).Draw(t, "query")
	values := url.Values{}
	for name, value := range query {
		values.Set(name, value)
	}
	if len(values) > 0 {
		d.target += "?" + values.Encode()
	}
	text := rapid.StringMatching(`[!-~]( {0,3}[!-~]){0,20}`)
	for range rapid.IntRange(0, 5).Draw(t, "headers") {
		d.header.Add("X-Custom-"+rapid.StringMatching(`[A-Z][a-z]{0,5}`).Draw(t, "name"), text.Draw(t, "value"))
	}
	if rapid.Bool().Draw(t, "json") {
		d.header.Set("Content-Type", "application/x-amz-json-1.0")
		d.header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
		d.header.Set("X-Amzn-Query-Mode", "true")
	}
	return d
}

// Whatever the SDK's signer signs is accepted, and nothing that differs in any
// signed part.
func TestSignedBySDK(t *testing.T) {
	v := testVerifier(t)
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		if rapid.Bool().Draw(t, "digest") {
			sum := sha256.Sum256(d.body)
			d.header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
		}
		if rapid.Bool().Draw(t, "temporary") {
			d.header.Set("X-Amz-Security-Token", "token/of+a=session")
		}
		r := signed(t, d.method, d.target, d.header, d.body, d.at)
		if who, err := v.Verify(r, d.body, testTime); err != nil || who.Principal != "alice" {
			t.Fatalf("%v%s", err, detail(err))
		}
		tamper(t, v, r, d.body)
	})
}

func TestPresignedBySDK(t *testing.T) {
	v := testVerifier(t)
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		separator := "?"
		if strings.Contains(d.target, "?") {
			separator = "&"
		}
		expires := rapid.IntRange(900, maxExpires).Draw(t, "expires")
		d.target += separator + "X-Amz-Expires=" + strconv.Itoa(expires)
		r := presigned(t, d.method, d.target, d.header, d.body, d.at)
		if r.Header.Get("X-Amz-Target") != "" {
			// The signer has moved it to the query string: the header is not signed.
			wantReason(t, v, r, d.body, testTime, Incomplete)
			return
		}
		if who, err := v.Verify(r, d.body, testTime); err != nil || who.Principal != "alice" {
			t.Fatalf("%v%s", err, detail(err))
		}
		tamper(t, v, r, d.body)
		late := d.at.Add(time.Duration(expires)*time.Second + time.Second)
		wantReason(t, v, r, d.body, late, Expired)
		wantReason(t, v, r, d.body, d.at.Add(-15*time.Minute-time.Second), NotYetValid)
	})
}

func wantReason(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, v *Verifier, r *http.Request, body []byte, now time.Time, want Reason,
) {
	t.Helper()
	_, err := v.Verify(r, body, now)
	var bad *Error
	if !errors.As(err, &bad) || bad.Reason != want {
		t.Fatalf("got %v, want reason %d", err, want)
	}
}

// tamper changes one part of the request at a time.
func tamper(t *rapid.T, v *Verifier, r *http.Request, body []byte) {
	refused := func(what string, r *http.Request, body []byte) {
		if _, err := v.Verify(r, body, testTime); err == nil {
			t.Fatalf("accepted with another %s", what)
		}
	}
	change := func(what string, do func(*http.Request)) {
		other := r.Clone(r.Context())
		do(other)
		refused(what, other, body)
	}
	change("method", func(r *http.Request) { r.Method = "PUT" })
	change("host", func(r *http.Request) { r.Host = "other.example.com:9324" })
	change("path", func(r *http.Request) { r.RequestURI = "/other" + r.RequestURI })
	change("query", func(r *http.Request) { r.URL.RawQuery += "&more" })
	change("query", func(r *http.Request) { r.URL.RawQuery += "&Action=PurgeQueue" })
	refused("body", r, append(bytes.Clone(body), 'x'))
	c, err := readClaim(r)
	if err != nil {
		t.Fatal(err)
	}
	if c.signs("content-length") {
		change("length", func(r *http.Request) { r.ContentLength++ })
	}
	if !c.signs("x-amz-target") {
		change("action", func(r *http.Request) { r.Header.Set("X-Amz-Target", "AmazonSQS.PurgeQueue") })
	}
	if rapid.Bool().Draw(t, "each header") {
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			if name == "User-Agent" || name == "Content-Length" || name == "Authorization" || !c.signs(strings.ToLower(name)) {
				continue
			}
			change("header "+name, func(r *http.Request) { r.Header[name] = []string{r.Header.Get(name) + "0"} })
			change("header less "+name, func(r *http.Request) { delete(r.Header, name) })
			change("value of "+name, func(r *http.Request) { r.Header[name] = append(slices.Clone(r.Header[name]), "0") })
		}
	}
	signatureAt := func(s string) int { return strings.Index(s, "Signature=") + len("Signature=") }
	flip := func(s string) string {
		i := signatureAt(s) + rapid.IntRange(0, signatureSize-1).Draw(t, "digit")
		b := []byte(s)
		b[i] = "0123456789abcdef0"[strings.IndexByte("0123456789abcdef", b[i])+1]
		return string(b)
	}
	change("signature", func(r *http.Request) {
		if c.presigned {
			r.URL.RawQuery = flip(r.URL.RawQuery)
		} else {
			r.Header.Set("Authorization", flip(r.Header.Get("Authorization")))
		}
	})
	replace := func(what, old, with string) {
		change(what, func(r *http.Request) {
			r.URL.RawQuery = strings.Replace(r.URL.RawQuery, url.QueryEscape(old), url.QueryEscape(with), 1)
			if text := r.Header.Get("Authorization"); text != "" {
				r.Header.Set("Authorization", strings.Replace(text, old, with, 1))
			}
		})
	}
	replace("key", testID, "AKIAOTHER")
	replace("region", "/eu-north-1/", "/eu-north-2/")
}

func TestTargetHasToBeSigned(t *testing.T) {
	h := http.Header{"Content-Type": {"application/x-amz-json-1.0"}}
	r := signed(t, "POST", "http://sqs.example.com/", h, []byte("{}"), testTime)
	r.Header.Set("X-Amz-Target", "AmazonSQS.PurgeQueue")
	wantReason(t, testVerifier(t), r, []byte("{}"), testTime, Incomplete)
}

// A verifier of one region refuses the others, for which any is good by default.
func TestRegion(t *testing.T) {
	r := signed(t, "GET", "http://sqs.example.com/", nil, nil, testTime)
	v := testVerifier(t)
	v.opts.Region = "eu-north-1"
	if _, err := v.Verify(r, nil, testTime); err != nil {
		t.Error(err)
	}
	v.opts.Region = "us-east-1"
	wantReason(t, v, r, nil, testTime, BadScope)
}

// The cache gives the right key after eviction, and holds no more than its bound.
func TestDerivedKeysAreBounded(t *testing.T) {
	v, err := New(Options{Keys: []Key{{AccessKeyID: testID, Secret: testSecret}}, CachedKeys: 2})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for day := range 5 {
			at := testTime.AddDate(0, 0, day)
			if _, err := v.Verify(signed(t, "GET", "http://sqs.example.com/", nil, nil, at), nil, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(v.derived.keys); n != 2 {
		t.Errorf("%d keys are cached, want 2", n)
	}
	wrong := signed(t, "GET", "http://sqs.example.com/", nil, nil, testTime)
	wrong.Host = "elsewhere"
	clear(v.derived.keys)
	wantReason(t, v, wrong, nil, testTime, Mismatch)
	if len(v.derived.keys) != 0 {
		t.Error("a wrong signature fills the cache")
	}
}

func BenchmarkVerify(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 1024)
	h := http.Header{
		"Content-Type":      {"application/x-amz-json-1.0"},
		"X-Amz-Target":      {"AmazonSQS.SendMessage"},
		"X-Amzn-Query-Mode": {"true"},
		"User-Agent":        {"aws-sdk-go-v2/1.48.0"},
		"Amz-Sdk-Request":   {"attempt=1; max=3"},
	}
	v := testVerifier(b)
	run := func(r *http.Request, body []byte) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Verify(r, body, testTime); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("header", run(signed(b, "POST", "http://127.0.0.1:9324/", h, body, testTime), body))
	b.Run("header without body", run(signed(b, "POST", "http://127.0.0.1:9324/", h, nil, testTime), nil))
	b.Run("presigned", run(presigned(b, "GET", "http://127.0.0.1:9324/?Action=ReceiveMessage&X-Amz-Expires=900", nil, nil, testTime), nil))
	b.Run("digest alone", func(b *testing.B) {
		for b.Loop() {
			_ = sha256.Sum256(body)
		}
	})
}
