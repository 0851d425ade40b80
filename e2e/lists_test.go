//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	v1aws "github.com/aws/aws-sdk-go/aws"
	v1sqs "github.com/aws/aws-sdk-go/service/sqs"
)

// TestListQueues lists by prefix and in pages; both SDKs' own paginators come to
// the same.
func TestListQueues(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		eachProtocol(t, d, func(t *testing.T, a *Actions) {
			prefix := queueName(fresh(t, a, "")) + "-page-"
			var want []string
			for i := range 25 {
				want = append(want, *a.Create(t, fmt.Sprintf("%s%02d", prefix, i)).URL)
			}
			var sizes []int
			var got []string
			ask := &sqs.ListQueuesInput{QueueNamePrefix: &prefix, MaxResults: aws.Int32(10)}
			for {
				page, err := a.ListQueues(t.Context(), ask)
				if err != nil {
					t.Fatal(err)
				}
				sizes, got = append(sizes, len(page.QueueUrls)), append(got, page.QueueUrls...)
				if ask.NextToken = page.NextToken; page.NextToken == nil {
					break
				}
			}
			if !slices.Equal(got, want) || !slices.Equal(sizes, []int{10, 10, 5}) {
				t.Errorf("pages of %v: %v, want %v", sizes, got, want)
			}
			if got := paginated(t, a, prefix); !slices.Equal(got, want) {
				t.Errorf("the SDK's pages have %v, want %v", got, want)
			}

			all, err := a.ListQueues(t.Context(), &sqs.ListQueuesInput{QueueNamePrefix: &prefix})
			if err != nil || !slices.Equal(all.QueueUrls, want) || all.NextToken != nil {
				t.Errorf("without MaxResults: %+v, %v", all, err)
			}
			none, err := a.ListQueues(t.Context(), &sqs.ListQueuesInput{QueueNamePrefix: aws.String(prefix + "none")})
			if err != nil || len(none.QueueUrls) > 0 || none.NextToken != nil {
				t.Errorf("a prefix of no queue: %+v, %v", none, err)
			}
			_, err = a.ListQueues(t.Context(), &sqs.ListQueuesInput{MaxResults: aws.Int32(1001)})
			wantCode(t, "1001 queues", err, "InvalidParameterValue")
			_, err = a.ListQueues(t.Context(), &sqs.ListQueuesInput{MaxResults: aws.Int32(10), NextToken: aws.String("no token of ours")})
			wantCode(t, "a token of somebody else", err, "InvalidParameterValue")
		})
	})
}

// paginated lists with the paginator of the SDK, seven at a time.
func paginated(t *testing.T, a *Actions, prefix string) (urls []string) {
	t.Helper()
	if a.query != nil {
		in := &v1sqs.ListQueuesInput{QueueNamePrefix: &prefix, MaxResults: v1aws.Int64(7)}
		err := a.query.ListQueuesPagesWithContext(t.Context(), in, func(page *v1sqs.ListQueuesOutput, _ bool) bool {
			urls = append(urls, v1aws.StringValueSlice(page.QueueUrls)...)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		return urls
	}
	pages := sqs.NewListQueuesPaginator(a.json, &sqs.ListQueuesInput{QueueNamePrefix: &prefix, MaxResults: aws.Int32(7)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, page.QueueUrls...)
	}
	return urls
}
