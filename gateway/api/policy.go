package api

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Redrive is a RedrivePolicy.
type Redrive struct {
	TargetARN  string
	MaxReceive int
}

func policyError(name, value, reason string) error {
	return InvalidValue(name, value, reason)
}

// ParseRedrive reads a RedrivePolicy; maxReceiveCount may be a number or its
// text. "" is the zero Redrive.
func ParseRedrive(value string) (Redrive, error) {
	if value == "" {
		return Redrive{}, nil
	}
	var doc struct {
		Target *string         `json:"deadLetterTargetArn"`
		Max    json.RawMessage `json:"maxReceiveCount"`
	}
	if err := json.Unmarshal([]byte(value), &doc); err != nil {
		return Redrive{}, policyError(AttrRedrivePolicy, value, "Redrive policy is not a valid JSON map.")
	}
	if doc.Target == nil || *doc.Target == "" {
		return Redrive{}, policyError(AttrRedrivePolicy, value, "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
	}
	if len(doc.Max) == 0 || string(doc.Max) == "null" {
		return Redrive{}, policyError(AttrRedrivePolicy, value, "Redrive policy does not contain mandatory attribute: maxReceiveCount.")
	}
	text := strings.Trim(string(doc.Max), `"`)
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxReceiveCount {
		return Redrive{}, policyError(AttrRedrivePolicy, value, "Invalid value for maxReceiveCount: "+text+", valid values are from 1 to 1000 both inclusive.")
	}
	return Redrive{TargetARN: *doc.Target, MaxReceive: n}, nil
}

// RedriveTargetMissing is the error of a RedrivePolicy whose target is no queue.
func RedriveTargetMissing(value string) error {
	return policyError(AttrRedrivePolicy, value, "Dead letter target does not exist.")
}

// RedriveTargetType is the error of a target of the other type.
func RedriveTargetType(value string, fifo bool) error {
	if fifo {
		return policyError(AttrRedrivePolicy, value, "Dead-letter queue of a FIFO queue must be a FIFO queue.")
	}
	return policyError(AttrRedrivePolicy, value, "Dead-letter queue of a standard queue must be a standard queue.")
}

// RedriveRefused is the error of a target that admits no such source.
func RedriveRefused(value string) error {
	return policyError(AttrRedrivePolicy, value, "The dead-letter queue's RedriveAllowPolicy does not admit this source queue.")
}

// RedriveToItself is the error of a queue that is its own target.
func RedriveToItself(value string) error {
	return policyError(AttrRedrivePolicy, value, "A queue cannot be its own dead-letter queue.")
}

type redriveAllow struct {
	Permission string   `json:"redrivePermission"`
	Sources    []string `json:"sourceQueueArns"`
}

// RedriveAdmits tells whether a dead-letter queue with this RedriveAllowPolicy
// admits the source.
func RedriveAdmits(policy, sourceARN string) bool {
	if policy == "" {
		return true
	}
	var p redriveAllow
	if json.Unmarshal([]byte(policy), &p) != nil {
		return true // was refused when it was set
	}
	switch p.Permission {
	case "denyAll":
		return false
	case "byQueue":
		return slices.Contains(p.Sources, sourceARN)
	}
	return true
}

// checkPolicy checks one of the attributes that hold JSON. "" removes any.
func checkPolicy(name, value string) error {
	if value == "" {
		return nil
	}
	switch name {
	case AttrRedrivePolicy:
		_, err := ParseRedrive(value)
		return err
	case AttrRedriveAllowPolicy:
		return checkRedriveAllow(value)
	}
	return checkAccessPolicy(value)
}

func checkRedriveAllow(value string) error {
	var p redriveAllow
	if err := json.Unmarshal([]byte(value), &p); err != nil {
		return policyError(AttrRedriveAllowPolicy, value, "Redrive allow policy is not a valid JSON map.")
	}
	switch p.Permission {
	case "allowAll", "denyAll":
		if len(p.Sources) > 0 {
			return policyError(AttrRedriveAllowPolicy, value, "sourceQueueArns is allowed only with the redrivePermission byQueue.")
		}
	case "byQueue":
		if n := len(p.Sources); n == 0 || n > MaxRedriveSources {
			return policyError(AttrRedriveAllowPolicy, value, "byQueue needs 1 to 10 sourceQueueArns.")
		}
	default:
		return policyError(AttrRedriveAllowPolicy, value, "redrivePermission must be allowAll, denyAll or byQueue.")
	}
	return nil
}

// samePolicy compares by meaning: spacing, order of members and 100 against
// "100" make no difference.
func samePolicy(name, a, b string) bool {
	if name == AttrRedrivePolicy {
		x, errX := ParseRedrive(a)
		y, errY := ParseRedrive(b)
		return errX == nil && errY == nil && x == y
	}
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}
