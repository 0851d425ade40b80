package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckNewName(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		fifo bool
		ok   bool
	}{
		{"orders", false, true},
		{"A-b_9", false, true},
		{strings.Repeat("n", 80), false, true},
		{strings.Repeat("n", 81), false, false},
		{"", false, false},
		{"with space", false, false},
		{"with.dot", false, false},
		{"q.fifo", false, false},
		{"q.fifo", true, true},
		{"q", true, false},
		{".fifo", true, false},
		{strings.Repeat("n", 75) + ".fifo", true, true},
		{strings.Repeat("n", 76) + ".fifo", true, false},
		{"dir/q", false, true},
		{"dir/q@c", false, true},
		{"dir/q.fifo@c", true, true},
		{"dir/q.fifo@c", false, false},
		{"dir/q@c", true, false},
		{"p/q/", false, false},
		{"/q", false, false},
		{"a//b", false, false},
		{"../b", false, false},
		{"a/./b", false, false},
		{"q@", false, false},
		{"@c", false, false},
		{"dir/ü", false, false},
	}
	for _, tt := range tests {
		if err := CheckNewName(tt.name, tt.fifo); (err == nil) != tt.ok {
			t.Errorf("CheckNewName(%q, %t) = %v", tt.name, tt.fifo, err)
		}
	}
}

func TestCheckQueueAttributes(t *testing.T) {
	t.Parallel()
	const redrive = `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dlq","maxReceiveCount":%}`
	policy := func(count string) string { return strings.Replace(redrive, "%", count, 1) }
	tests := []struct {
		name    string
		set     map[string]string
		current map[string]string
		fifo    bool
		stored  map[string]string
		kind    Kind
		text    string
	}{
		{name: "canonical numbers", set: map[string]string{"VisibilityTimeout": "0043"}, stored: map[string]string{"VisibilityTimeout": "43"}},
		{name: "lowest", set: map[string]string{"MaximumMessageSize": "1024", "MessageRetentionPeriod": "60"}, stored: map[string]string{"MaximumMessageSize": "1024", "MessageRetentionPeriod": "60"}},
		{name: "unknown", set: map[string]string{"Foobar": "1"}, kind: InvalidAttributeName, text: "Unknown Attribute Foobar."},
		{name: "computed", set: map[string]string{"QueueArn": "1"}, kind: InvalidAttributeName, text: "Unknown Attribute QueueArn."},
		{name: "All", set: map[string]string{"All": "1"}, kind: InvalidAttributeName, text: "Unknown Attribute All."},
		{name: "not a number", set: map[string]string{"VisibilityTimeout": "abc"}, kind: InvalidAttributeValue, text: "Invalid value for the parameter VisibilityTimeout."},
		{name: "too high", set: map[string]string{"VisibilityTimeout": "43201"}, kind: InvalidAttributeValue, text: "Invalid value for the parameter VisibilityTimeout."},
		{name: "beyond int64", set: map[string]string{"DelaySeconds": "9000000000000000000000"}, kind: InvalidAttributeValue, text: "Invalid value for the parameter DelaySeconds."},
		{name: "below", set: map[string]string{"MessageRetentionPeriod": "59"}, kind: InvalidAttributeValue, text: "Invalid value for the parameter MessageRetentionPeriod."},
		{name: "empty number", set: map[string]string{"DelaySeconds": ""}, kind: InvalidAttributeValue, text: "Invalid value for the parameter DelaySeconds."},
		{name: "FifoQueue on standard", set: map[string]string{"FifoQueue": "false"}, kind: InvalidAttributeName, text: "Unknown Attribute FifoQueue."},
		{name: "content based on standard", set: map[string]string{"ContentBasedDeduplication": "false"}, kind: InvalidAttributeName, text: "Unknown Attribute ContentBasedDeduplication."},
		{name: "scope on standard", set: map[string]string{"DeduplicationScope": "queue"}, kind: InvalidAttributeName, text: "You can specify the DeduplicationScope only when FifoQueue is set to true."},
		{name: "FifoQueue again", set: map[string]string{"FifoQueue": "True"}, fifo: true, stored: map[string]string{"FifoQueue": "true"}},
		{name: "FifoQueue changed", set: map[string]string{"FifoQueue": "false"}, fifo: true, kind: InvalidAttributeValue, text: "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported."},
		{name: "bogus scope", set: map[string]string{"DeduplicationScope": "bogus"}, fifo: true, kind: InvalidAttributeValue, text: "Invalid value for the parameter DeduplicationScope."},
		{name: "limit needs scope", set: map[string]string{"FifoThroughputLimit": "perMessageGroupId"}, fifo: true, kind: InvalidAttributeValue, text: "Invalid value for the parameter FifoThroughputLimit. Reason: perMessageGroupId needs the DeduplicationScope messageGroup."},
		{name: "limit with scope there", set: map[string]string{"FifoThroughputLimit": "perMessageGroupId"}, current: map[string]string{"DeduplicationScope": "messageGroup"}, fifo: true, stored: map[string]string{"FifoThroughputLimit": "perMessageGroupId"}},
		{name: "KMS turns SSE off", set: map[string]string{"KmsMasterKeyId": "k"}, stored: map[string]string{"KmsMasterKeyId": "k", "SqsManagedSseEnabled": "false"}},
		{name: "KMS removed leaves SSE", set: map[string]string{"KmsMasterKeyId": ""}, stored: map[string]string{"KmsMasterKeyId": ""}},
		{name: "both encryptions", set: map[string]string{"KmsMasterKeyId": "k", "SqsManagedSseEnabled": "true"}, kind: InvalidAttributeName, text: "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE."},
		{name: "Policy", set: map[string]string{"Policy": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"*"}]}`}, stored: map[string]string{"Policy": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"*"}]}`}},
		{name: "Policy without statements", set: map[string]string{"Policy": `{"Version":"2012-10-17"}`}, kind: InvalidAttributeValue, text: "Invalid value for the parameter Policy."},
		{name: "Policy removed", set: map[string]string{"Policy": ""}, stored: map[string]string{"Policy": ""}},
		{name: "Policy no JSON", set: map[string]string{"Policy": "x"}, kind: InvalidAttributeValue, text: "Invalid value for the parameter Policy."},
		{name: "Policy no text", set: map[string]string{"Policy": "{\"Version\":\"\xff\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":\"*\",\"Action\":\"sqs:*\"}]}"}, kind: InvalidAttributeValue, text: "Invalid value for the parameter Policy."},
		{name: "KMS key no text", set: map[string]string{"KmsMasterKeyId": "a\x00"}, kind: InvalidAttributeValue, text: "Invalid value for the parameter KmsMasterKeyId."},
		{name: "redrive as text", set: map[string]string{"RedrivePolicy": policy(`"42"`)}, stored: map[string]string{"RedrivePolicy": policy(`"42"`)}},
		{name: "redrive 0", set: map[string]string{"RedrivePolicy": policy("0")}, kind: InvalidParameterValue, text: "Value " + policy("0") + " for parameter RedrivePolicy is invalid. Reason: Invalid value for maxReceiveCount: 0, valid values are from 1 to 1000 both inclusive."},
		{name: "redrive word", set: map[string]string{"RedrivePolicy": policy(`"invalid"`)}, kind: InvalidParameterValue, text: "Value " + policy(`"invalid"`) + " for parameter RedrivePolicy is invalid. Reason: Invalid value for maxReceiveCount: invalid, valid values are from 1 to 1000 both inclusive."},
		{name: "redrive fraction", set: map[string]string{"RedrivePolicy": policy("1.5")}, kind: InvalidParameterValue, text: "Value " + policy("1.5") + " for parameter RedrivePolicy is invalid. Reason: Invalid value for maxReceiveCount: 1.5, valid values are from 1 to 1000 both inclusive."},
		{name: "redrive without target", set: map[string]string{"RedrivePolicy": `{"maxReceiveCount":1}`}, kind: InvalidParameterValue, text: `Value {"maxReceiveCount":1} for parameter RedrivePolicy is invalid. Reason: Redrive policy does not contain mandatory attribute: deadLetterTargetArn.`},
		{name: "allow byQueue", set: map[string]string{"RedriveAllowPolicy": `{"redrivePermission":"byQueue","sourceQueueArns":["a"]}`}, stored: map[string]string{"RedriveAllowPolicy": `{"redrivePermission":"byQueue","sourceQueueArns":["a"]}`}},
		{name: "allow with sources", set: map[string]string{"RedriveAllowPolicy": `{"redrivePermission":"denyAll","sourceQueueArns":["a"]}`}, kind: InvalidParameterValue, text: `Value {"redrivePermission":"denyAll","sourceQueueArns":["a"]} for parameter RedriveAllowPolicy is invalid. Reason: sourceQueueArns is allowed only with the redrivePermission byQueue.`},
		{name: "extension", set: map[string]string{"YdbMaxActivePartitions": "3"}, stored: map[string]string{"YdbMaxActivePartitions": "3"}},
		{name: "extension 0", set: map[string]string{"YdbMaxActivePartitions": "0"}, kind: InvalidAttributeValue, text: "Invalid value for the parameter YdbMaxActivePartitions."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stored, err := CheckQueueAttributes(tt.set, tt.current, tt.fifo)
			kind, text := kindOf(t, err)
			if kind != tt.kind || text != tt.text {
				t.Fatalf("got %d %q, want %d %q", kind, text, tt.kind, tt.text)
			}
			if err == nil {
				if diff := cmp.Diff(tt.stored, stored); diff != "" {
					t.Errorf("stored (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestStoredAttributesOfFreshQueues(t *testing.T) {
	t.Parallel()
	all, err := SelectQueueAttributes([]string{"All"})
	if err != nil {
		t.Fatal(err)
	}
	standard := []Pair{
		{"VisibilityTimeout", "30"},
		{"DelaySeconds", "0"},
		{"MessageRetentionPeriod", "345600"},
		{"MaximumMessageSize", "1048576"},
		{"ReceiveMessageWaitTimeSeconds", "0"},
		{"SqsManagedSseEnabled", "true"},
	}
	if diff := cmp.Diff(standard, all.Stored(nil, false)); diff != "" {
		t.Errorf("standard (-want +got):\n%s", diff)
	}
	if got := len(all.Stored(nil, true)); got != len(standard)+4 {
		t.Errorf("a FIFO queue shows %d stored attributes", got)
	}
	ydb := map[string]string{"YdbMaxActivePartitions": "3"}
	if got := all.Stored(ydb, false); len(got) != len(standard) {
		t.Errorf("All shows an extension attribute: %v", got)
	}
	named, err := SelectQueueAttributes([]string{"YdbMaxActivePartitions", "Policy"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Pair{{"YdbMaxActivePartitions", "3"}}, named.Stored(ydb, false)); diff != "" {
		t.Errorf("by name (-want +got):\n%s", diff)
	}
	if kind, text := kindOf(t, func() error { _, err := SelectQueueAttributes([]string{"All", "Foo"}); return err }()); kind != InvalidAttributeName || text != "Unknown Attribute Foo." {
		t.Errorf("unknown name: %d %q", kind, text)
	}
}

func TestDiffers(t *testing.T) {
	t.Parallel()
	stored := map[string]string{
		"DelaySeconds":  "2",
		"RedrivePolicy": `{"deadLetterTargetArn":"a","maxReceiveCount":100}`,
		"Policy":        `{"a": [1, 2], "b": {}}`,
	}
	tests := []struct {
		asked map[string]string
		want  string
	}{
		{nil, ""},
		{map[string]string{"DelaySeconds": "2", "VisibilityTimeout": "30"}, ""},
		{map[string]string{"DelaySeconds": "1"}, "DelaySeconds"},
		{map[string]string{"VisibilityTimeout": "31"}, "VisibilityTimeout"},
		{map[string]string{"RedrivePolicy": `{ "maxReceiveCount": "100", "deadLetterTargetArn": "a" }`}, ""},
		{map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"a","maxReceiveCount":99}`}, "RedrivePolicy"},
		{map[string]string{"RedrivePolicy": ""}, "RedrivePolicy"},
		{map[string]string{"Policy": `{"b":{},"a":[1,2]}`}, ""},
		{map[string]string{"Policy": `{"b":{},"a":[2,1]}`}, "Policy"},
		{map[string]string{"KmsDataKeyReusePeriodSeconds": "300"}, ""},
		{map[string]string{"RedriveAllowPolicy": `{"redrivePermission":"denyAll"}`}, "RedriveAllowPolicy"},
	}
	for _, tt := range tests {
		if got := Differs(tt.asked, stored); got != tt.want {
			t.Errorf("Differs(%v) = %q, want %q", tt.asked, got, tt.want)
		}
	}
}

func TestRedriveAdmits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		policy string
		want   bool
	}{
		{"", true},
		{`{"redrivePermission":"allowAll"}`, true},
		{`{"redrivePermission":"denyAll"}`, false},
		{`{"redrivePermission":"byQueue","sourceQueueArns":["other","arn"]}`, true},
		{`{"redrivePermission":"byQueue","sourceQueueArns":["other"]}`, false},
	}
	for _, tt := range tests {
		if got := RedriveAdmits(tt.policy, "arn"); got != tt.want {
			t.Errorf("RedriveAdmits(%s) = %t", tt.policy, got)
		}
	}
}

func TestCheckTags(t *testing.T) {
	t.Parallel()
	current := map[string]string{}
	for i := range 50 {
		current["k"+string(rune('A'+i))] = ""
	}
	tests := []struct {
		name    string
		set     map[string]string
		current map[string]string
		ok      bool
	}{
		{"longest", map[string]string{strings.Repeat("k", 128): strings.Repeat("ü", 256)}, nil, true},
		{"empty value", map[string]string{"k": ""}, nil, true},
		{"key too long", map[string]string{strings.Repeat("k", 129): ""}, nil, false},
		{"value too long", map[string]string{"k": strings.Repeat("v", 257)}, nil, false},
		{"no key", map[string]string{"": "v"}, nil, false},
		{"reserved", map[string]string{"Aws:x": "v"}, nil, false},
		{"character", map[string]string{"k!": "v"}, nil, false},
		{"51st", map[string]string{"new": "v"}, current, false},
		{"one of fifty changed", map[string]string{"kA": "v"}, current, true},
	}
	for _, tt := range tests {
		if err := CheckTags(tt.set, tt.current); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestCheckReceive(t *testing.T) {
	t.Parallel()
	n := func(v int64) Int { return Int{v, true} }
	tests := []struct {
		request ReceiveMessageRequest
		fifo    bool
		text    string
	}{
		{ReceiveMessageRequest{Max: n(10), Wait: n(20), Visibility: n(43200)}, false, ""},
		{ReceiveMessageRequest{Max: n(11)}, false, "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided."},
		{ReceiveMessageRequest{Max: n(0)}, false, "Value 0 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided."},
		{ReceiveMessageRequest{Wait: n(-1)}, false, "Value -1 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided."},
		{ReceiveMessageRequest{Visibility: n(43201)}, false, "Value 43201 for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and 43200, if provided."},
		{ReceiveMessageRequest{AttemptID: Text{"a b", true}}, false, ""},
		{ReceiveMessageRequest{AttemptID: Text{"a b", true}}, true, "Value a b for parameter ReceiveRequestAttemptId is invalid. Reason: ReceiveRequestAttemptId can only include alphanumeric and punctuation characters. 1 to 128 in length."},
	}
	for _, tt := range tests {
		if _, text := kindOf(t, CheckReceive(&tt.request, tt.fifo)); text != tt.text {
			t.Errorf("%+v: %q, want %q", tt.request, text, tt.text)
		}
	}
}

func TestSelections(t *testing.T) {
	t.Parallel()
	if got := SelectSystem([]string{"SenderId"}, []string{"All"}); got != allSystem {
		t.Errorf("a union with All is %b", got)
	}
	if got := SelectSystem([]string{"SenderId", "Nonsense"}, []string{"SentTimestamp"}); got != SenderID|SentTimestamp {
		t.Errorf("union is %b", got)
	}
	tests := []struct {
		names []string
		name  string
		want  bool
	}{
		{nil, "Hello", false},
		{[]string{"All"}, "Hello", true},
		{[]string{"*"}, "Hello", true},
		{[]string{".*"}, "Hello", true},
		{[]string{"Hel.*"}, "Help.Me", true},
		{[]string{"Hel.*"}, "Hey", false},
		{[]string{"Hel"}, "Hello", false},
		{[]string{"hello"}, "Hello", false},
		{[]string{"..foo", "Hello"}, "Hello", true},
		{[]string{""}, "Hello", false},
	}
	for _, tt := range tests {
		if got := SelectsAttribute(tt.names, tt.name); got != tt.want {
			t.Errorf("%v selects %s: %t", tt.names, tt.name, got)
		}
	}
}
