//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// statement is one of a queue's policy. What AWS writes as a text or as a list
// is compared as it is printed.
type statement struct {
	Sid, Effect, Resource string
	Principal             struct{ AWS any }
	Action                any
}

func (s statement) String() string {
	return fmt.Sprint(s.Sid, " ", s.Effect, " ", s.Principal.AWS, " ", s.Action, " ", s.Resource)
}

// TestPermissions adds statements to a queue's policy and takes them away again;
// the last one takes the policy with it.
func TestPermissions(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		eachProtocol(t, d, func(t *testing.T, a *Actions) {
			q := fresh(t, a, "")
			arn := q.Attributes()["QueueArn"]
			add := func(label string, accounts, actions []string) error {
				_, err := a.AddPermission(t.Context(), &sqs.AddPermissionInput{
					QueueUrl: q.URL, Label: &label, AWSAccountIds: accounts, Actions: actions,
				})
				return err
			}
			remove := func(label string) error {
				_, err := a.RemovePermission(t.Context(), &sqs.RemovePermissionInput{QueueUrl: q.URL, Label: &label})
				return err
			}
			wantPolicy(t, q)
			if err := add("one", []string{"111111111111"}, []string{"ReceiveMessage"}); err != nil {
				t.Fatal(err)
			}
			one := "one Allow arn:aws:iam::111111111111:root SQS:ReceiveMessage " + arn
			wantPolicy(t, q, one)
			if err := add("two", []string{"111111111111", "222222222222"}, []string{"SendMessage", "DeleteMessage"}); err != nil {
				t.Fatal(err)
			}
			two := "two Allow [arn:aws:iam::111111111111:root arn:aws:iam::222222222222:root] [SQS:SendMessage SQS:DeleteMessage] " + arn
			wantPolicy(t, q, one, two)

			wantCode(t, "a label that is there", add("one", []string{"111111111111"}, []string{"SendMessage"}), "InvalidParameterValue")
			wantCode(t, "a label with a blank", add("a b", []string{"111111111111"}, []string{"SendMessage"}), "InvalidParameterValue")
			wantCode(t, "an action that is none", add("three", []string{"111111111111"}, []string{"LaunchRocket"}), "InvalidParameterValue")
			wantCode(t, "eight actions", add("three", []string{"111111111111"}, []string{
				"SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes", "GetQueueUrl", "PurgeQueue", "ListDeadLetterSourceQueues",
			}), "OverLimit")
			wantCode(t, "a label that is not there", remove("three"), "InvalidParameterValue")
			wantPolicy(t, q, one, two)

			for i, label := range []string{"one", "two"} {
				if err := remove(label); err != nil {
					t.Fatal(err)
				}
				wantPolicy(t, q, []string{one, two}[i+1:]...)
			}
			_, err := a.RemovePermission(t.Context(), &sqs.RemovePermissionInput{QueueUrl: aws.String(*q.URL + "x"), Label: aws.String("one")})
			wantCode(t, "no queue", err, noQueue)
		})
	})
}

func wantPolicy(t *testing.T, q *Queue, want ...string) {
	t.Helper()
	text, there := q.Attributes()["Policy"]
	if there != (len(want) > 0) {
		t.Fatalf("policy %q, want %q", text, want)
	}
	if !there {
		return
	}
	var policy struct {
		Version, ID string //nolint:tagliatelle // the names of AWS
		Statement   []statement
	}
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		t.Fatalf("policy %s: %v", text, err)
	}
	got := make([]string, len(policy.Statement))
	for i, s := range policy.Statement {
		got[i] = s.String()
	}
	if !slices.Equal(got, want) || policy.Version != "2008-10-17" || policy.ID != q.Attributes()["QueueArn"]+"/SQSDefaultPolicy" {
		t.Errorf("policy %s, want the statements %q", text, want)
	}
}
