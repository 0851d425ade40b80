package sigv4

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The keys and the time of the test suite that AWS has published for Signature
// Version 4.
const (
	suiteID     = "AKIDEXAMPLE"
	suiteSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	suiteScope  = "20150830/us-east-1/service/aws4_request"
	emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

var suiteTime = time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)

// vector is one case of the suite. Its Host and X-Amz-Date are those of all.
type vector struct {
	name      string
	line      string // method and target
	headers   string // beside Host and X-Amz-Date, each with its line end
	body      string
	signed    string
	canonical string // between the method and the payload's digest; "" = not compared
	signature string
}

const (
	suiteHeaders = "host:example.amazonaws.com\nx-amz-date:20150830T123600Z\n"
	vanilla      = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
	vanillaPost  = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
)

var vectors = []vector{
	{"get-vanilla", "GET /", "", "", "host;x-amz-date", "/\n\n" + suiteHeaders + "\nhost;x-amz-date", vanilla},
	{"get-vanilla-query", "GET /", "", "", "host;x-amz-date", "", vanilla},
	{
		"get-vanilla-empty-query-key", "GET /?Param1=value1", "", "", "host;x-amz-date",
		"/\nParam1=value1\n" + suiteHeaders + "\nhost;x-amz-date", "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
	},
	{
		"get-vanilla-query-order-key-case", "GET /?Param2=value2&Param1=value1", "", "", "host;x-amz-date",
		"/\nParam1=value1&Param2=value2\n" + suiteHeaders + "\nhost;x-amz-date", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
	},
	{
		"get-vanilla-query-order-value", "GET /?Param1=value2&Param1=value1", "", "", "host;x-amz-date",
		"/\nParam1=value1&Param1=value2\n" + suiteHeaders + "\nhost;x-amz-date", "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694",
	},
	{
		"get-vanilla-query-unreserved", "GET /?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
		"", "", "host;x-amz-date", "", "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
	},
	{
		"get-vanilla-utf8-query", "GET /?ሴ=bar", "", "", "host;x-amz-date",
		"/\n%E1%88%B4=bar\n" + suiteHeaders + "\nhost;x-amz-date", "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
	},
	{
		"get-header-key-duplicate", "GET /", "My-Header1:value2\nMy-Header1:value2\nMy-Header1:value1\n", "", "host;my-header1;x-amz-date",
		"/\n\nhost:example.amazonaws.com\nmy-header1:value2,value2,value1\nx-amz-date:20150830T123600Z\n\nhost;my-header1;x-amz-date",
		"c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
	},
	{
		"get-header-value-multiline", "GET /", "My-Header1:value1\n  value2\n     value3\n", "", "host;my-header1;x-amz-date",
		"", "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd",
	},
	{
		"get-header-value-order", "GET /", "My-Header1:value4\nMy-Header1:value1\nMy-Header1:value3\nMy-Header1:value2\n", "", "host;my-header1;x-amz-date",
		"", "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01",
	},
	{
		"get-header-value-trim", "GET /", "My-Header1: value1\nMy-Header2: \"a   b   c\"\n", "", "host;my-header1;my-header2;x-amz-date",
		"/\n\nhost:example.amazonaws.com\nmy-header1:value1\nmy-header2:\"a b c\"\nx-amz-date:20150830T123600Z\n\nhost;my-header1;my-header2;x-amz-date",
		"acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
	},
	{
		"get-unreserved", "GET /-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "", "", "host;x-amz-date",
		"", "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
	},
	{
		"get-utf8", "GET /ሴ", "", "", "host;x-amz-date",
		"/%E1%88%B4\n\n" + suiteHeaders + "\nhost;x-amz-date", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
	},
	{"get-relative", "GET /example/..", "", "", "host;x-amz-date", "", vanilla},
	{"get-relative-relative", "GET /example1/example2/../..", "", "", "host;x-amz-date", "", vanilla},
	{"get-slash", "GET //", "", "", "host;x-amz-date", "", vanilla},
	{"get-slash-dot-slash", "GET /./", "", "", "host;x-amz-date", "", vanilla},
	{
		"get-slash-pointless-dot", "GET /./example", "", "", "host;x-amz-date",
		"", "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5",
	},
	{
		"get-slashes", "GET //example//", "", "", "host;x-amz-date",
		"/example/\n\n" + suiteHeaders + "\nhost;x-amz-date", "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84",
	},
	{"post-vanilla", "POST /", "", "", "host;x-amz-date", "", vanillaPost},
	{
		"post-vanilla-query", "POST /?Param1=value1", "", "", "host;x-amz-date",
		"", "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
	},
	{
		"post-header-key-sort", "POST /", "My-Header1:value1\n", "", "host;my-header1;x-amz-date",
		"", "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
	},
	{
		"post-header-value-case", "POST /", "My-Header1:VALUE1\n", "", "host;my-header1;x-amz-date",
		"", "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
	},
	{
		"post-x-www-form-urlencoded", "POST /", "Content-Type:application/x-www-form-urlencoded\n", "Param1=value1", "content-type;host;x-amz-date",
		"", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
	},
	{
		"post-x-www-form-urlencoded-parameters", "POST /", "Content-Type:application/x-www-form-urlencoded; charset=utf8\n", "Param1=value1", "content-type;host;x-amz-date",
		"", "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe",
	},
}

// suiteVerifier is one for the suite's service, "service".
func suiteVerifier(t testing.TB, service string) *Verifier {
	t.Helper()
	v, err := New(Options{Keys: []Key{{AccessKeyID: suiteID, Secret: suiteSecret}}})
	if err != nil {
		t.Fatal(err)
	}
	v.service = service
	return v
}

func (c *vector) request(t *testing.T) *http.Request {
	t.Helper()
	text := c.line + " HTTP/1.1\nHost:example.amazonaws.com\n" + c.headers + "X-Amz-Date:20150830T123600Z\n\n"
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s", suiteID, suiteScope, c.signed, c.signature))
	return r
}

func TestVectors(t *testing.T) {
	for _, c := range vectors {
		t.Run(c.name, func(t *testing.T) {
			v := suiteVerifier(t, "service")
			who, err := v.Verify(c.request(t), []byte(c.body), suiteTime)
			if err != nil || who.Principal != suiteID {
				t.Errorf("signed by %q: %v%s", who.Principal, err, detail(err))
			}
			if c.canonical == "" {
				return
			}
			r := c.request(t)
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "Signature="+c.signature, "Signature="+strings.Repeat("0", 64), 1))
			_, err = v.Verify(r, []byte(c.body), suiteTime)
			var bad *Error
			if !errors.As(err, &bad) || bad.Reason != Mismatch {
				t.Fatalf("with a wrong signature: %v", err)
			}
			// The digest is that of the empty body: every vector with a canonical
			// request here has none.
			method, _, _ := strings.Cut(c.line, " ")
			if want := method + "\n" + c.canonical + "\n" + emptyDigest; !c.twoForms() && bad.CanonicalRequest != want {
				t.Errorf("canonical request\n%s\nwant\n%s", bad.CanonicalRequest, want)
			}
		})
	}
}

// twoForms tells whether the path has two canonical forms: then the error shows
// the one of the path as it was sent.
func (c *vector) twoForms() bool {
	_, path, _ := strings.Cut(c.line, " ")
	return normalPath(path) != path
}

func detail(err error) string {
	var bad *Error
	if errors.As(err, &bad) {
		return "\n" + bad.CanonicalRequest + "\n\n" + bad.StringToSign
	}
	return ""
}

// A presigned request of the AWS documentation, of the service iam.
func TestPresignedVector(t *testing.T) {
	const target = "/?Action=ListUsers&Version=2010-05-08&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20150830%2Fus-east-1%2Fiam%2Faws4_request" +
		"&X-Amz-Date=20150830T123600Z&X-Amz-Expires=60&X-Amz-SignedHeaders=content-type%3Bhost&X-Amz-Signature=37ac2f4fde00b0ac9bd9eadeb459b1bbee224158d66e7ae5fcadb70b2d181d02"
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET " + target +
		" HTTP/1.1\nHost: iam.amazonaws.com\nContent-Type: application/x-www-form-urlencoded; charset=utf-8\n\n")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := suiteVerifier(t, "iam").Verify(r, nil, suiteTime); err != nil {
		t.Errorf("%v%s", err, detail(err))
	}
}

// The derivation example of the AWS documentation.
func TestDerive(t *testing.T) {
	got := derive(suiteSecret, "20150830", "us-east-1", "iam")
	if want := "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"; fmt.Sprintf("%x", got) != want {
		t.Errorf("signing key %x, want %s", got, want)
	}
}
