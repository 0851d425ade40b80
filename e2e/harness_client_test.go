//go:build e2e

package e2e

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
)

// SQS returns an AWS client, with the SDK's own retries unless options change
// them. It follows the gateway over restarts.
func (d *Deployment) SQS(t testing.TB, options ...func(*sqs.Options)) *sqs.Client {
	t.Helper()
	return sqs.New(sqs.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(d.Endpoint()),
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient:   d.HTTPClient(t),
	}, options...)
}

// NoRetries is an option for SQS: every answer reaches the test.
func NoRetries(o *sqs.Options) { o.Retryer = aws.NopRetryer{} }

// HTTPClient connects to the gateway wherever it listens now, whatever host a
// request names.
func (d *Deployment) HTTPClient(t testing.TB) *http.Client {
	t.Helper()
	var dialer net.Dialer
	transport := &http.Transport{
		MaxIdleConnsPerHost: 128,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, d.addresses().SQS)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// YDB returns the driver of the YDB SDK, connected to the Topic API.
func (d *Deployment) YDB(t testing.TB) *ydb.Driver {
	t.Helper()
	driver, err := ydb.Open(t.Context(), d.TopicDSN())
	if err != nil {
		t.Fatalf("connecting to %s: %v", d.TopicDSN(), err)
	}
	t.Cleanup(func() {
		if err := driver.Close(context.Background()); err != nil {
			t.Errorf("closing the driver: %v", err)
		}
	})
	return driver
}
