package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQueues(t *testing.T) {
	c, _, err := parse(t, []string{"--config={file}"}, nil, `
queues:
  - name: orders
    attributes:
      VisibilityTimeout: 60
      MaximumMessageSize: 0x400
      RedrivePolicy: {deadLetterTargetArn: "arn:aws:sqs:us-east-1:000000000000:dead", maxReceiveCount: 3}
    tags: {team: a, cost: 010}
  - name: plain
`)
	if err != nil {
		t.Fatal(err)
	}
	want := Queues{
		{
			Name: "orders",
			Attributes: map[string]string{
				"VisibilityTimeout": "60", "MaximumMessageSize": "0x400", // which is for SQS to refuse
				"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":3}`,
			},
			Tags: map[string]string{"team": "a", "cost": "010"},
		},
		{Name: "plain"},
	}
	if diff := cmp.Diff(want, c.Queues); diff != "" {
		t.Error(diff)
	}
	// What check prints is a file that means the same.
	var printed strings.Builder
	if err := c.WriteYAML(&printed); err != nil {
		t.Fatal(err)
	}
	again, _, err := parse(t, []string{"--config={file}"}, nil, printed.String())
	if err != nil {
		t.Fatalf("%v in\n%s", err, printed.String())
	}
	if diff := cmp.Diff(want, again.Queues); diff != "" {
		t.Error(diff)
	}
}

func TestQueuesRefused(t *testing.T) {
	for _, tt := range []struct{ file, says string }{
		{"queues: orders", "want a list of queues"},
		{"queues: [orders]", "want name, attributes and tags"},
		{"queues: [{attributes: {DelaySeconds: 1}}]", "has no name"},
		{"queues: [{name: q, policies: {}}]", `unknown key "policies"`},
		{"queues: [{name: q, name: r}]", "given twice"},
		{"queues: [{name: q, attributes: [DelaySeconds]}]", "want a mapping"},
		{"queues: [{name: q, tags: {a: [1]}}]", `"a": want a single value`},
		{"queues: [{name: q, attributes: {DelaySeconds: 1, DelaySeconds: 2}}]", "given twice"},
	} {
		if _, _, err := parse(t, []string{"--config={file}"}, nil, tt.file); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.file, err, tt.says)
		}
	}
	if _, _, err := parse(t, []string{"--queues=x"}, nil, ""); err == nil {
		t.Error("a flag is taken")
	}
}
