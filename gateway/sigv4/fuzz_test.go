package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

func sha(s string) digest { return sha256.Sum256([]byte(s)) }

func hexOf(b []byte) string { return hex.EncodeToString(b) }

func newRequest(t *testing.T, method, target string) *http.Request {
	t.Helper()
	return httptest.NewRequest(method, target, http.NoBody)
}

// No header or query string makes Verify panic, or accept what was not signed.
func FuzzVerify(f *testing.F) {
	r := signed(f, "POST", plainTarget, nil, []byte("body"), testTime)
	f.Add(r.Header.Get("Authorization"), r.Header.Get("X-Amz-Date"), r.URL.RawQuery, "/")
	r = presigned(f, "GET", longTarget, nil, nil, testTime)
	f.Add("", "", r.URL.RawQuery, "/a/../b//")
	f.Add("AWS4-HMAC-SHA256 Credential=a/b/c/sqs/aws4_request,SignedHeaders=host;x-amz-date,Signature=", "20260304T050607Z", "a=%41&&=&b", "//./..")
	v := testVerifier(f)
	f.Fuzz(func(t *testing.T, authorization, date, query, path string) {
		r := newRequest(t, "POST", "http://not.signed.example.com/")
		r.RequestURI = path
		r.URL.RawQuery = query
		if authorization != "" {
			r.Header["Authorization"] = []string{authorization}
		}
		if date != "" {
			r.Header["X-Amz-Date"] = []string{date}
		}
		_, err := v.Verify(r, []byte("other body"), testTime)
		var bad *Error
		if !errors.As(err, &bad) || bad.Reason == 0 || bad.Message == "" {
			t.Fatalf("got %v, want an *Error", err)
		}
		if len(bad.Message) > 2048 || len(bad.CanonicalRequest) > maxCanonical+3 {
			t.Errorf("the error repeats %d and %d bytes", len(bad.Message), len(bad.CanonicalRequest))
		}
	})
}
