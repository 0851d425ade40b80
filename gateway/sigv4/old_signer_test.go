package sigv4

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go/aws/credentials"
	oldv4 "github.com/aws/aws-sdk-go/aws/signer/v4"
)

// The signer of the last SDK that speaks the Query protocol.
func TestSignedByOldSDK(t *testing.T) {
	v := testVerifier(t)
	signer := oldv4.NewSigner(credentials.NewStaticCredentials(testID, testSecret, "token/+="))
	body := []byte("Action=SendMessage&MessageBody=a+b%2Bc")
	unsigned := func(method, target string, body []byte) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), method, target, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
		return r
	}
	for _, path := range []string{"/", "/000000000000/q.fifo", "/000000000000/dir/q@c", "/000000000000/dir%2Fq%40c", "/v1///5:local"} {
		r := unsigned(http.MethodPost, "http://sqs.example.com"+path, body)
		if _, err := signer.Sign(r, bytes.NewReader(body), "sqs", "us-east-1", testTime); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Verify(arrived(t, r), body, testTime); err != nil {
			t.Errorf("%s: %v%s", path, err, detail(err))
		}
		r = unsigned(http.MethodGet, "http://sqs.example.com"+path+"?Action=SendMessage&MessageBody=a+b%2Bc&MessageAttribute.1.Name=n", nil)
		if _, err := signer.Presign(r, nil, "sqs", "us-east-1", time.Hour, testTime); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(r.URL.RawQuery, "X-Amz-Security-Token") {
			t.Fatal("the token is not in the link")
		}
		if _, err := v.Verify(arrived(t, r), nil, testTime.Add(time.Hour)); err != nil {
			t.Errorf("%s, presigned: %v%s", path, err, detail(err))
		}
	}
}
