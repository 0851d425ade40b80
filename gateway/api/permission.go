package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of a queue's Policy.
const (
	MaxPolicyStatements = 20
	MaxPolicyPrincipals = 50
	MaxPolicyConditions = 10
	MaxPolicyActions    = 7 // of one statement
	MaxLabelLength      = 80

	policyVersion = "2008-10-17"
)

// document is an access policy. What its rules do not look at is kept as it is.
type document struct {
	Version    string            `json:"Version,omitempty"`
	ID         string            `json:"Id,omitempty"`
	Statements []json.RawMessage `json:"Statement"`
}

// statement is what the rules look at of a statement.
type statement struct {
	Sid          string                                `json:"Sid"`
	Effect       string                                `json:"Effect"`
	Principal    json.RawMessage                       `json:"Principal"`
	NotPrincipal json.RawMessage                       `json:"NotPrincipal"`
	Action       oneOrMany                             `json:"Action"`
	NotAction    oneOrMany                             `json:"NotAction"`
	Resource     oneOrMany                             `json:"Resource"`
	Condition    map[string]map[string]json.RawMessage `json:"Condition"`
}

// oneOrMany is a string or a list of strings.
type oneOrMany []string

// UnmarshalJSON takes both forms.
func (l *oneOrMany) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = oneOrMany{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// MarshalJSON writes a list of one as the string.
func (l oneOrMany) MarshalJSON() ([]byte, error) {
	if len(l) == 1 {
		return json.Marshal(l[0])
	}
	return json.Marshal([]string(l))
}

func parseDocument(text string) (document, error) {
	var raw struct {
		document
		Statements json.RawMessage `json:"Statement"`
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return document{}, err
	}
	d := raw.document
	if bytes.HasPrefix(raw.Statements, []byte{'{'}) {
		d.Statements = []json.RawMessage{raw.Statements}
		return d, nil
	}
	return d, json.Unmarshal(raw.Statements, &d.Statements)
}

// checkAccessPolicy checks the form of a Policy and its limits. Whom it admits
// is not looked at.
func checkAccessPolicy(text string) error {
	invalid := Errorf(InvalidAttributeValue, "Invalid value for the parameter %s.", AttrPolicy)
	if len(text) > MaxPolicyBytes {
		return invalid
	}
	d, err := parseDocument(text)
	if err != nil || len(d.Statements) == 0 || len(d.Statements) > MaxPolicyStatements {
		return invalid
	}
	if d.Version != "" && d.Version != policyVersion && d.Version != "2012-10-17" {
		return invalid
	}
	principals, conditions := 0, 0
	var sids []string
	for _, raw := range d.Statements {
		var s statement
		if err := json.Unmarshal(raw, &s); err != nil || !s.valid() || s.Sid != "" && slices.Contains(sids, s.Sid) {
			return invalid
		}
		sids = append(sids, s.Sid)
		principals += countPrincipals(s.Principal) + countPrincipals(s.NotPrincipal)
		for _, keys := range s.Condition {
			conditions += len(keys)
		}
	}
	if principals > MaxPolicyPrincipals || conditions > MaxPolicyConditions {
		return invalid
	}
	return nil
}

func (s *statement) valid() bool {
	switch {
	case s.Effect != "Allow" && s.Effect != "Deny":
		return false
	case (s.Principal == nil) == (s.NotPrincipal == nil):
		return false
	case (s.Action == nil) == (s.NotAction == nil):
		return false
	case countPrincipals(s.Principal)+countPrincipals(s.NotPrincipal) == 0:
		return false
	}
	actions := slices.Concat(s.Action, s.NotAction)
	return len(actions) <= MaxPolicyActions && !slices.ContainsFunc(actions, func(a string) bool {
		return a != "*" && !strings.HasPrefix(strings.ToLower(a), "sqs:")
	})
}

// countPrincipals counts those of "*", {"AWS": "..."} or {"Service": [...]}; 0 =
// it is none of these.
func countPrincipals(raw json.RawMessage) int {
	var all string
	if json.Unmarshal(raw, &all) == nil {
		if all == "*" {
			return 1
		}
		return 0
	}
	var kinds map[string]oneOrMany
	if json.Unmarshal(raw, &kinds) != nil {
		return 0
	}
	n := 0
	for _, of := range kinds {
		n += len(of)
	}
	return n
}

// CheckPermission checks the parameters of an AddPermission.
func CheckPermission(r *AddPermissionRequest) error {
	switch {
	case r.Label == "":
		return Missing("Label")
	case len(r.Accounts) == 0:
		return Missing("AWSAccountIds")
	case len(r.Actions) == 0:
		return Missing("Actions")
	case len(r.Label) > MaxLabelLength || !simple(r.Label):
		return InvalidValue("Label", r.Label, "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.")
	case len(r.Actions) > MaxPolicyActions:
		return Errorf(OverLimit, "%d Actions were found, maximum allowed is %d.", len(r.Actions), MaxPolicyActions)
	case len(r.Accounts) > MaxPolicyPrincipals:
		return Errorf(OverLimit, "%d Principals were found, maximum allowed is %d.", len(r.Accounts), MaxPolicyPrincipals)
	}
	for _, action := range r.Actions {
		if action != "*" && !slices.Contains(permitted(), action) {
			return Errorf(InvalidParameterValue, "Value SQS:%s for parameter ActionName is invalid. Reason: Please refer to the appropriate WSDL for a list of valid actions.", clip(action))
		}
	}
	for _, account := range r.Accounts {
		if _, err := strconv.ParseUint(account, 10, 64); err != nil || len(account) != 12 {
			return Errorf(InvalidParameterValue, "Value [%s] for parameter PrincipalId is invalid. Reason: Unable to verify.", clip(account))
		}
	}
	return nil
}

// permitted are the actions that can be shared by AddPermission.
func permitted() []string {
	return []string{
		"ChangeMessageVisibility", "DeleteMessage", "GetQueueAttributes", "GetQueueUrl",
		"ListDeadLetterSourceQueues", "PurgeQueue", "ReceiveMessage", "SendMessage",
	}
}

// AddStatement returns the policy of the queue with one more statement. "" is
// no policy.
func AddStatement(policy, queueARN string, r *AddPermissionRequest) (string, error) {
	d := document{Version: policyVersion, ID: queueARN + "/SQSDefaultPolicy"}
	if policy != "" {
		var err error
		if d, err = parseDocument(policy); err != nil {
			return "", fmt.Errorf("reading the stored policy: %w", err)
		}
	}
	if d.find(r.Label) >= 0 {
		return "", InvalidValue("Label", r.Label, "Already exists.")
	}
	if n := len(d.Statements) + 1; n > MaxPolicyStatements {
		return "", Errorf(OverLimit, "%d Statements were found, maximum allowed is %d.", n, MaxPolicyStatements)
	}
	principals, actions := make(oneOrMany, len(r.Accounts)), make(oneOrMany, len(r.Actions))
	for i, account := range r.Accounts {
		principals[i] = "arn:aws:iam::" + account + ":root"
	}
	for i, action := range r.Actions {
		actions[i] = "SQS:" + action
	}
	raw, err := json.Marshal(struct {
		Sid       string
		Effect    string
		Principal map[string]oneOrMany
		Action    oneOrMany
		Resource  string
	}{r.Label, "Allow", map[string]oneOrMany{"AWS": principals}, actions, queueARN})
	if err != nil {
		return "", fmt.Errorf("writing a statement: %w", err)
	}
	d.Statements = append(d.Statements, raw)
	return d.text()
}

// RemoveStatement returns the policy without the statement of this label; "" if
// it was the last one.
func RemoveStatement(policy, label string) (string, error) {
	if policy == "" {
		return "", InvalidValue("Label", label, "can't find label.")
	}
	d, err := parseDocument(policy)
	if err != nil {
		return "", fmt.Errorf("reading the stored policy: %w", err)
	}
	at := d.find(label)
	if at < 0 {
		return "", InvalidValue("Label", label, "can't find label on existing policy.")
	}
	if d.Statements = slices.Delete(d.Statements, at, at+1); len(d.Statements) == 0 {
		return "", nil
	}
	return d.text()
}

func (d *document) find(label string) int {
	return slices.IndexFunc(d.Statements, func(raw json.RawMessage) bool {
		var s statement
		return json.Unmarshal(raw, &s) == nil && s.Sid == label
	})
}

func (d *document) text() (string, error) {
	b, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("writing the policy: %w", err)
	}
	if len(b) > MaxPolicyBytes {
		return "", Errorf(OverLimit, "The policy would have %d bytes, maximum allowed is %d.", len(b), MaxPolicyBytes)
	}
	return string(b), nil
}
