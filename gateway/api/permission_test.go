package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const queueARN = "arn:aws:sqs:us-east-1:000000000000:q"

func permission(label string, accounts int, actions ...string) *AddPermissionRequest {
	r := &AddPermissionRequest{Label: label, Actions: actions}
	for i := range accounts {
		r.Accounts = append(r.Accounts, fmt.Sprintf("%012d", 111111111111+i))
	}
	return r
}

func TestCheckPermission(t *testing.T) {
	tests := []struct {
		name string
		r    *AddPermissionRequest
		want string // part of the message; "" = fine
	}{
		{"one of each", permission("a-Z_9", 1, "SendMessage"), ""},
		{"everything", permission("l", 1, "*"), ""},
		{"a label of 80", permission(strings.Repeat("x", 80), 1, "SendMessage"), ""},
		{"no label", permission("", 1, "SendMessage"), "must contain the parameter Label."},
		{"no accounts", permission("l", 0, "SendMessage"), "must contain the parameter AWSAccountIds."},
		{"no actions", permission("l", 1), "must contain the parameter Actions."},
		{"a label of 81", permission(strings.Repeat("x", 81), 1, "SendMessage"), "for parameter Label is invalid."},
		{"a label with a space", permission("a b", 1, "SendMessage"), "Value a b for parameter Label is invalid."},
		{"eight actions", permission("l", 1, make([]string, 8)...), "8 Actions were found, maximum allowed is 7."},
		{"an action that cannot be shared", permission("l", 1, "CreateQueue"), "Value SQS:CreateQueue for parameter ActionName is invalid."},
		{"an account that is none", &AddPermissionRequest{Label: "l", Accounts: []string{"0123"}, Actions: []string{"*"}}, "Value [0123] for parameter PrincipalId is invalid."},
		{"51 accounts", permission("l", 51, "*"), "51 Principals were found"},
	}
	for _, tt := range tests {
		err := CheckPermission(tt.r)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestStatements(t *testing.T) {
	policy, err := AddStatement("", queueARN, permission("one", 1, "ReceiveMessage"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Version":"2008-10-17","Id":"` + queueARN + `/SQSDefaultPolicy","Statement":[{"Sid":"one","Effect":"Allow",` +
		`"Principal":{"AWS":"arn:aws:iam::111111111111:root"},"Action":"SQS:ReceiveMessage","Resource":"` + queueARN + `"}]}`
	if policy != want {
		t.Errorf("got  %s\nwant %s", policy, want)
	}
	policy, err = AddStatement(policy, queueARN, permission("two", 2, "SendMessage", "PurgeQueue"))
	if err != nil || checkAccessPolicy(policy) != nil {
		t.Fatalf("%v, and the policy is refused: %v", err, checkAccessPolicy(policy))
	}
	for _, part := range []string{`["arn:aws:iam::111111111111:root","arn:aws:iam::111111111112:root"]`, `["SQS:SendMessage","SQS:PurgeQueue"]`} {
		if !strings.Contains(policy, part) {
			t.Errorf("%s lacks %s", policy, part)
		}
	}
	if _, err := AddStatement(policy, queueARN, permission("two", 1, "*")); err == nil || err.Error() != "Value two for parameter Label is invalid. Reason: Already exists." {
		t.Errorf("a label twice: %v", err)
	}
	if _, err := RemoveStatement(policy, "three"); err == nil || err.Error() != "Value three for parameter Label is invalid. Reason: can't find label on existing policy." {
		t.Errorf("an unknown label: %v", err)
	}
	if policy, err = RemoveStatement(policy, "one"); err != nil || strings.Contains(policy, `"one"`) || !strings.Contains(policy, `"two"`) {
		t.Errorf("%s, %v", policy, err)
	}
	if policy, err = RemoveStatement(policy, "two"); err != nil || policy != "" {
		t.Errorf("the last statement leaves %q, %v", policy, err)
	}
	if _, err := RemoveStatement("", "one"); err == nil || err.Error() != "Value one for parameter Label is invalid. Reason: can't find label." {
		t.Errorf("no policy: %v", err)
	}
}

func TestStatementLimits(t *testing.T) {
	policy := ""
	var err error
	for i := range MaxPolicyStatements {
		if policy, err = AddStatement(policy, queueARN, permission(fmt.Sprint("l", i), 1, "*")); err != nil {
			t.Fatal(err)
		}
	}
	var refused *Error
	if _, err := AddStatement(policy, queueARN, permission("l", 1, "*")); !errors.As(err, &refused) || refused.Kind != OverLimit {
		t.Errorf("statement 21: %v", err)
	}
	policy = ""
	for i := range 5 {
		if policy, err = AddStatement(policy, queueARN, permission(fmt.Sprint("l", i), 50, "*")); err != nil {
			break
		}
	}
	if !errors.As(err, &refused) || refused.Kind != OverLimit || len(policy) > MaxPolicyBytes {
		t.Errorf("%d bytes of policy: %v", len(policy), err)
	}
}

func TestCheckAccessPolicy(t *testing.T) {
	statement := func(more string) string {
		return `{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*"` + more + `}`
	}
	list := func(n int, of string) string { return "[" + strings.TrimSuffix(strings.Repeat(of+",", n), ",") + "]" }
	tests := []struct {
		name, policy string
		ok           bool
	}{
		{"a list", `{"Version":"2012-10-17","Statement":[` + statement("") + `]}`, true},
		{"one statement without a list", `{"Statement":` + statement("") + `}`, true},
		{"services and conditions", `{"Statement":[{"Sid":"a","Effect":"Deny","NotPrincipal":{"Service":["sns.amazonaws.com"]},"NotAction":["SQS:SendMessage"],"Resource":"*","Condition":{"ArnEquals":{"aws:SourceArn":"x"}}}]}`, true},
		{"20 statements", `{"Statement":` + list(20, statement("")) + `}`, true},
		{"21 statements", `{"Statement":` + list(21, statement("")) + `}`, false},
		{"no statement", `{"Statement":[]}`, false},
		{"an empty object", `{}`, false},
		{"no JSON", `{"Statement":`, false},
		{"a list at the top", `[]`, false},
		{"a string", `"x"`, false},
		{"another version", `{"Version":"2020-01-01","Statement":[` + statement("") + `]}`, false},
		{"no effect", `{"Statement":[{"Principal":"*","Action":"sqs:*"}]}`, false},
		{"another effect", `{"Statement":[{"Effect":"Maybe","Principal":"*","Action":"sqs:*"}]}`, false},
		{"no principal", `{"Statement":[{"Effect":"Allow","Action":"sqs:*"}]}`, false},
		{"a principal of no kind", `{"Statement":[{"Effect":"Allow","Principal":"me","Action":"sqs:*"}]}`, false},
		{"no action", `{"Statement":[{"Effect":"Allow","Principal":"*"}]}`, false},
		{"an action of another service", `{"Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject"}]}`, false},
		{"8 actions", `{"Statement":[{"Effect":"Allow","Principal":"*","Action":` + list(8, `"sqs:SendMessage"`) + `}]}`, false},
		{"51 principals", `{"Statement":[{"Effect":"Allow","Principal":{"AWS":` + list(51, `"1"`) + `},"Action":"sqs:*"}]}`, false},
		{"a label twice", `{"Statement":` + list(2, statement(`,"Sid":"a"`)) + `}`, false},
		{"over 8192 bytes", `{"Id":"` + strings.Repeat("x", 8192) + `","Statement":[` + statement("") + `]}`, false},
	}
	for _, tt := range tests {
		if err := checkAccessPolicy(tt.policy); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func FuzzAccessPolicy(f *testing.F) {
	f.Add(`{"Version":"2012-10-17","Id":"x","Statement":[{"Sid":"a","Effect":"Allow","Principal":{"AWS":["1","2"]},"Action":["SQS:SendMessage"],"Resource":"*"}]}`)
	f.Add(`{"Statement":{"Effect":"Deny","NotPrincipal":"*","NotAction":"*"}}`)
	f.Add(`{"Statement":null}`)
	f.Fuzz(func(t *testing.T, policy string) {
		if checkAccessPolicy(policy) != nil {
			return
		}
		// What is accepted can be changed, and stays valid or is over a limit.
		changed, err := AddStatement(policy, queueARN, permission("fuzzed-label", 1, "*"))
		if err != nil {
			var refused *Error
			if !errors.As(err, &refused) {
				t.Fatal(err)
			}
			return
		}
		if _, err := RemoveStatement(changed, "fuzzed-label"); err != nil || !json.Valid([]byte(changed)) {
			t.Fatalf("%s: %v", changed, err)
		}
	})
}
