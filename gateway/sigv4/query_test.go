package sigv4

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// The pairs of a query string are what decoding each part and encoding it anew
// makes of it, also where they are taken over as they stand.
func FuzzSplitQuery(f *testing.F) {
	for _, raw := range []string{
		"", "a=b&c", "a=%2F&b=%2f", "X%2DAmz-Date=1", "a+b=%20", "%zz", "%4", "%", "é=%C3%A9", "a=b=c&&=", "%7E~=%7e", "a=%00%FF",
	} {
		f.Add(raw)
	}
	encode := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	f.Fuzz(func(t *testing.T, raw string) {
		var want []pair
		bad := false
		for _, part := range strings.FieldsFunc(raw, func(r rune) bool { return r == '&' }) {
			name, value, _ := strings.Cut(part, "=")
			n, err := url.QueryUnescape(name)
			v, err2 := url.QueryUnescape(value)
			bad = bad || err != nil || err2 != nil
			want = append(want, pair{encode(n), encode(v)})
		}
		got, err := splitQuery(raw)
		if bad = bad || len(want) > maxPairs; bad != (err != nil) {
			t.Fatalf("%q: %v", raw, err)
		}
		if !bad && !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
		for _, p := range got {
			if encode(decoded(p.value)) != p.value {
				t.Errorf("%q: the value %q is decoded as %q", raw, p.value, decoded(p.value))
			}
		}
	})
}

// A verifier's memory goes from request to request, also between keys.
func TestKeysTakeTurns(t *testing.T) {
	v, err := New(Options{Keys: []Key{{AccessKeyID: testID, Secret: testSecret}}})
	if err != nil {
		t.Fatal(err)
	}
	today := testTime
	tomorrow := today.AddDate(0, 0, 1)
	for _, day := range []time.Time{today, today, tomorrow, tomorrow, today, tomorrow} {
		r := signed(t, "GET", "http://sqs.example.com/", nil, nil, day)
		if _, err := v.Verify(r, nil, day); err != nil {
			t.Fatal(err)
		}
		r.Host = "elsewhere"
		wantReason(t, v, r, nil, day, Mismatch)
	}
}
