package sigv4

import (
	"strings"
	"testing"
	"time"
)

func identity(t *testing.T, k Key) Identity {
	t.Helper()
	k.AccessKeyID, k.Secret = testID, testSecret
	v, err := New(Options{Keys: []Key{k}})
	if err != nil {
		t.Fatal(err)
	}
	who, err := v.Verify(signed(t, "GET", "http://sqs.example.com/", nil, nil, testTime), nil, testTime)
	if err != nil {
		t.Fatal(err)
	}
	return who
}

func TestAllows(t *testing.T) {
	everything := identity(t, Key{})
	sender := identity(t, Key{Actions: []string{"SendMessage", "GetQueueUrl"}})
	orders := identity(t, Key{Queues: []string{"orders-", "eu/orders"}})
	both := identity(t, Key{Queues: []string{"orders-"}, Actions: []string{"DeleteMessageBatch"}})
	for _, test := range []struct {
		who           Identity
		action, queue string
		want          bool
	}{
		{Identity{}, "SendMessage", "orders-1", false},
		{everything, "DeleteQueue", "any", true},
		{everything, "ListQueues", "", true},
		{sender, "SendMessage", "any", true},
		{sender, "SendMessageBatch", "any", true},
		{sender, "ReceiveMessage", "any", false},
		{sender, "SendMessag", "any", false},
		{sender, "", "any", false},
		{orders, "SendMessage", "orders-1", true},
		{orders, "SendMessage", "orders-", true},
		{orders, "SendMessage", "eu/orders.fifo", true},
		{orders, "SendMessage", "orders", false},
		{orders, "SendMessage", "my-orders-1", false},
		{orders, "SendMessage", "Orders-1", false},
		{orders, "DeleteQueue", "ord", false},
		{orders, "DeleteQueue", "", false},
		{both, "DeleteMessage", "orders-1", true},
		{both, "DeleteMessage", "bills-1", false},
		{both, "DeleteQueue", "orders-1", false},
	} {
		if got := test.who.Allows(test.action, test.queue); got != test.want {
			t.Errorf("%s on %q: %v, want %v", test.action, test.queue, got, test.want)
		}
	}
}

func TestPrincipal(t *testing.T) {
	if who := identity(t, Key{}); who.Principal != testID || who.AccessKeyID != testID {
		t.Errorf("principal %q of key %q, want the key's id", who.Principal, who.AccessKeyID)
	}
	if who := identity(t, Key{Principal: "billing"}); who.Principal != "billing" {
		t.Errorf("principal %q", who.Principal)
	}
}

// What the caller does with its slices later does not change what a key may do.
func TestKeysAreCopied(t *testing.T) {
	queues := []string{"orders-"}
	who := identity(t, Key{Queues: queues})
	queues[0] = "b"
	if who.Allows("SendMessage", "bills") {
		t.Error("the ring shares the slice of its options")
	}
}

func TestNewRefuses(t *testing.T) {
	good := Key{AccessKeyID: "AKIA1", Secret: "hush"}
	for name, test := range map[string]struct {
		opts Options
		want string
	}{
		"no keys":        {Options{}, "no keys"},
		"no id":          {Options{Keys: []Key{{Secret: "hush"}}}, "access key id"},
		"slash in id":    {Options{Keys: []Key{{AccessKeyID: "a/b", Secret: "hush"}}}, `"a/b"`},
		"long id":        {Options{Keys: []Key{{AccessKeyID: strings.Repeat("a", 129), Secret: "hush"}}}, "128"},
		"no secret":      {Options{Keys: []Key{{AccessKeyID: "AKIA1"}}}, "no secret"},
		"bad principal":  {Options{Keys: []Key{{AccessKeyID: "AKIA1", Secret: "hush", Principal: "a b"}}}, `"a b"`},
		"empty prefix":   {Options{Keys: []Key{{AccessKeyID: "AKIA1", Secret: "hush", Queues: []string{""}}}}, "prefix"},
		"empty action":   {Options{Keys: []Key{{AccessKeyID: "AKIA1", Secret: "hush", Actions: []string{""}}}}, "action"},
		"same key twice": {Options{Keys: []Key{good, good}}, "AKIA1 is there twice"},
		"negative skew":  {Options{Keys: []Key{good}, MaxSkew: -time.Second}, "skew"},
	} {
		_, err := New(test.opts)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: a secret shows: %v", name, err)
		}
	}
}
