package api

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The names of queue attributes that rules refer to.
const (
	AttrAll                      = "All"
	AttrVisibilityTimeout        = "VisibilityTimeout"
	AttrDelaySeconds             = "DelaySeconds"
	AttrRetention                = "MessageRetentionPeriod"
	AttrMaximumMessageSize       = "MaximumMessageSize"
	AttrWait                     = "ReceiveMessageWaitTimeSeconds"
	AttrFifoQueue                = "FifoQueue"
	AttrContentBased             = "ContentBasedDeduplication"
	AttrDeduplicationScope       = "DeduplicationScope"
	AttrThroughputLimit          = "FifoThroughputLimit"
	AttrPolicy                   = "Policy"
	AttrRedrivePolicy            = "RedrivePolicy"
	AttrRedriveAllowPolicy       = "RedriveAllowPolicy"
	AttrKmsKey                   = "KmsMasterKeyId"
	AttrKmsReuse                 = "KmsDataKeyReusePeriodSeconds"
	AttrManagedSSE               = "SqsManagedSseEnabled"
	AttrVisible                  = "ApproximateNumberOfMessages"
	AttrNotVisible               = "ApproximateNumberOfMessagesNotVisible"
	AttrDelayed                  = "ApproximateNumberOfMessagesDelayed"
	AttrCreated                  = "CreatedTimestamp"
	AttrModified                 = "LastModifiedTimestamp"
	AttrArn                      = "QueueArn"
	AttrMinActivePartitions      = "YdbMinActivePartitions"
	AttrMaxActivePartitions      = "YdbMaxActivePartitions"
	AttrPartitionWriteSpeedBytes = "YdbPartitionWriteSpeedBytes"
	AttrTopicRetention           = "YdbTopicRetentionSeconds"

	// ScopeMessageGroup is the DeduplicationScope that looks at one group only.
	ScopeMessageGroup  = "messageGroup"
	throughputPerGroup = "perMessageGroupId"
)

// attrKind is how the value of a queue attribute is checked and compared.
type attrKind uint8

const (
	attrComputed attrKind = iota // made by the server: cannot be set
	attrInt
	attrBool
	attrEnum
	attrText
	attrJSON
)

// attrRule is what SQS says of one queue attribute.
type attrRule struct {
	kind     attrKind
	min, max int64    // of attrInt
	enum     []string // of attrEnum
	// value is the default; "" = the attribute is absent until it is set.
	value string
	// fifo: only on FIFO queues.
	fifo bool
	// onRequest: not listed under All.
	onRequest bool
}

// ruleOf is the table of queue attributes.
func ruleOf(name string) (attrRule, bool) {
	switch name {
	case AttrVisibilityTimeout:
		return attrRule{kind: attrInt, max: MaxVisibilitySeconds, value: "30"}, true
	case AttrDelaySeconds:
		return attrRule{kind: attrInt, max: MaxDelaySeconds, value: "0"}, true
	case AttrRetention:
		return attrRule{kind: attrInt, min: MinRetentionSeconds, max: MaxRetentionSeconds, value: "345600"}, true
	case AttrMaximumMessageSize:
		return attrRule{kind: attrInt, min: MinMessageBytes, max: MaxMessageBytes, value: "1048576"}, true
	case AttrWait:
		return attrRule{kind: attrInt, max: MaxWaitSeconds, value: "0"}, true
	case AttrFifoQueue:
		return attrRule{kind: attrBool, fifo: true, value: "true"}, true
	case AttrContentBased:
		return attrRule{kind: attrBool, fifo: true, value: "false"}, true
	case AttrDeduplicationScope:
		return attrRule{kind: attrEnum, enum: []string{"queue", ScopeMessageGroup}, fifo: true, value: "queue"}, true
	case AttrThroughputLimit:
		return attrRule{kind: attrEnum, enum: []string{"perQueue", throughputPerGroup}, fifo: true, value: "perQueue"}, true
	case AttrKmsKey:
		return attrRule{kind: attrText}, true
	case AttrKmsReuse:
		// AWS does not list the default of 300.
		return attrRule{kind: attrInt, min: 60, max: 86400}, true
	case AttrManagedSSE:
		return attrRule{kind: attrBool, value: "true"}, true
	case AttrPolicy, AttrRedrivePolicy, AttrRedriveAllowPolicy:
		return attrRule{kind: attrJSON}, true
	case AttrVisible, AttrNotVisible, AttrDelayed, AttrCreated, AttrModified, AttrArn:
		return attrRule{kind: attrComputed}, true
	case AttrMinActivePartitions, AttrMaxActivePartitions:
		return attrRule{kind: attrInt, min: 1, max: 10000, onRequest: true}, true
	case AttrPartitionWriteSpeedBytes:
		return attrRule{kind: attrInt, min: 1, max: 1 << 40, onRequest: true}, true
	case AttrTopicRetention:
		return attrRule{kind: attrInt, min: 1, max: 365 * 86400, onRequest: true}, true
	}
	return attrRule{}, false
}

// storedNames are the attributes with a stored value or a default.
func storedNames() []string {
	return []string{
		AttrVisibilityTimeout, AttrDelaySeconds, AttrRetention, AttrMaximumMessageSize, AttrWait,
		AttrFifoQueue, AttrContentBased, AttrDeduplicationScope, AttrThroughputLimit,
		AttrPolicy, AttrRedrivePolicy, AttrRedriveAllowPolicy, AttrKmsKey, AttrKmsReuse, AttrManagedSSE,
		AttrMinActivePartitions, AttrMaxActivePartitions, AttrPartitionWriteSpeedBytes, AttrTopicRetention,
	}
}

// FIFOAsked reads FifoQueue from the attributes of a CreateQueue.
func FIFOAsked(attributes map[string]string) bool {
	return strings.EqualFold(attributes[AttrFifoQueue], "true")
}

// CheckQueueAttributes checks attributes to set and returns what to store:
// canonical text, "" for what is to be removed. current is what is stored of an
// existing queue, nil for a new one. Whether the target of a RedrivePolicy
// exists is for the caller to find out.
func CheckQueueAttributes(set, current map[string]string, fifo bool) (map[string]string, error) {
	stored := make(map[string]string, len(set)+1)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		value := set[name]
		rule, known := ruleOf(name)
		if !known || rule.kind == attrComputed {
			return nil, unknownAttribute(name)
		}
		if rule.fifo && !fifo {
			if name == AttrDeduplicationScope || name == AttrThroughputLimit {
				return nil, Errorf(InvalidAttributeName, "You can specify the %s only when FifoQueue is set to true.", name)
			}
			return nil, unknownAttribute(name)
		}
		text, err := canonical(name, value, rule)
		if err != nil {
			return nil, err
		}
		if name == AttrFifoQueue && text != "true" {
			return nil, Errorf(InvalidAttributeValue, "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.")
		}
		stored[name] = text
	}
	if err := joinEncryption(stored); err != nil {
		return nil, err
	}
	return stored, checkThroughput(stored, current)
}

// joinEncryption keeps KMS and SQS-managed encryption apart.
func joinEncryption(stored map[string]string) error {
	key, keySet := stored[AttrKmsKey]
	managed := stored[AttrManagedSSE] == "true"
	switch {
	case managed && key != "":
		return Errorf(InvalidAttributeName, "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.")
	case managed:
		stored[AttrKmsKey] = ""
	case keySet && key != "":
		// Removing the key later leaves this at false.
		stored[AttrManagedSSE] = "false"
	}
	return nil
}

func checkThroughput(stored, current map[string]string) error {
	after := func(name string) string {
		if v, ok := stored[name]; ok {
			return v
		}
		return current[name]
	}
	if after(AttrThroughputLimit) == throughputPerGroup && after(AttrDeduplicationScope) != ScopeMessageGroup {
		return Errorf(InvalidAttributeValue, "Invalid value for the parameter FifoThroughputLimit. Reason: perMessageGroupId needs the DeduplicationScope messageGroup.")
	}
	return nil
}

func unknownAttribute(name string) error {
	return Errorf(InvalidAttributeName, "Unknown Attribute %s.", clip(name))
}

func canonical(name, value string, rule attrRule) (string, error) {
	invalid := Errorf(InvalidAttributeValue, "Invalid value for the parameter %s.", name)
	switch rule.kind {
	case attrInt:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < rule.min || n > rule.max {
			return "", invalid
		}
		return strconv.FormatInt(n, 10), nil
	case attrBool:
		lower := strings.ToLower(value)
		if lower != "true" && lower != "false" {
			return "", invalid
		}
		return lower, nil
	case attrEnum:
		if !slices.Contains(rule.enum, value) {
			return "", invalid
		}
		return value, nil
	case attrText:
		if len(value) > 2048 || !showable(value) {
			return "", invalid
		}
		return value, nil
	case attrJSON:
		if !showable(value) {
			return "", invalid
		}
		return value, checkPolicy(name, value)
	case attrComputed:
	}
	return "", unknownAttribute(name)
}

// showable tells whether both protocols can give a text back as it came. A form
// can hold any bytes.
func showable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff
	})
}

// QueueValue is a stored attribute of a queue, or its default, or "".
func QueueValue(stored map[string]string, name string) string {
	if v := stored[name]; v != "" {
		return v
	}
	rule, _ := ruleOf(name)
	return rule.value
}

// QueueInt is QueueValue of an integer attribute. A stored value that is out of
// range, which only another version could have written, counts as the default.
func QueueInt(stored map[string]string, name string) int64 {
	rule, _ := ruleOf(name)
	if n, err := strconv.ParseInt(stored[name], 10, 64); err == nil && n >= rule.min && n <= rule.max {
		return n
	}
	n, _ := strconv.ParseInt(rule.value, 10, 64) // no default = 0
	return n
}

// Selection is which attributes a GetQueueAttributes asks for.
type Selection struct {
	all   bool
	names map[string]struct{}
}

// SelectQueueAttributes reads the names of a GetQueueAttributes.
func SelectQueueAttributes(names []string) (Selection, error) {
	s := Selection{names: make(map[string]struct{}, len(names))}
	for _, name := range names {
		if name == AttrAll {
			s.all = true
			continue
		}
		if _, known := ruleOf(name); !known {
			return Selection{}, unknownAttribute(name)
		}
		s.names[name] = struct{}{}
	}
	return s, nil
}

// Has tells whether the attribute is asked for.
func (s Selection) Has(name string) bool {
	if _, ok := s.names[name]; ok {
		return true
	}
	rule, _ := ruleOf(name)
	return s.all && !rule.onRequest
}

// Stored returns the selected attributes that have a value. The computed ones
// are the caller's.
func (s Selection) Stored(stored map[string]string, fifo bool) []Pair {
	var pairs []Pair
	for _, name := range storedNames() {
		rule, _ := ruleOf(name)
		if rule.fifo && !fifo || !s.Has(name) {
			continue
		}
		if v := QueueValue(stored, name); v != "" {
			pairs = append(pairs, Pair{name, v})
		}
	}
	return pairs
}

// Differs compares the attributes named in a CreateQueue with those of the
// queue that exists, as canonical text or by the meaning of JSON, and returns
// the first name that differs, or "".
func Differs(asked, stored map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		want, have := asked[name], QueueValue(stored, name)
		rule, _ := ruleOf(name)
		if name == AttrKmsReuse && have == "" {
			have = "300"
		}
		if rule.kind == attrJSON && want != "" && have != "" {
			if !samePolicy(name, want, have) {
				return name
			}
			continue
		}
		if want != have {
			return name
		}
	}
	return ""
}
